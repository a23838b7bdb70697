"""What a verifier accepts between records, and what it refuses: chains of writers, and the records of calls."""

from collections.abc import Iterable

import pytest

from sshfacts.storage.canonical import dumps, leaf_hash, loads_strict
from sshfacts.storage.chain import Chain
from sshfacts.storage.record_rules import RecordRules
from sshfacts.storage.report import Report
from sshfacts.values import JsonObject, JsonValue
from tests.support.records import intent, outcome, refused

AT = "2026-11-30T10:00:00.000000Z"
REQUEST = "req.J7q94MkP"


class Written:
    """Records as one writer links them."""

    def __init__(self, start: JsonObject | None = None) -> None:
        self._chain = Chain()
        self.records: list[bytes] = []
        self.writer = self._chain.writer
        self.add({"kind": "writer_start", "at": AT, **(start or {})})

    def add(self, body: JsonObject) -> bytes:
        entry = self._chain.link(body)
        self.records.append(str(entry.row["body"]).encode())
        return entry.leaf_hash


def judged(records: Iterable[bytes], *, is_whole: bool = True) -> Report:
    report = Report()
    rules = RecordRules(report, is_whole=is_whole)
    for number, data in enumerate(records):
        rules.judge(f"leaf {number}", data, leaf_hash(data))
    rules.finish()
    return report


def violations(records: Iterable[bytes], *, is_whole: bool = True) -> list[str]:
    return judged(records, is_whole=is_whole).violations.shown


def started(leaf: bytes, kind: str = "started", **changes: JsonValue) -> JsonObject:
    return {"kind": kind, "at": AT, "request_id": REQUEST, "intent": leaf.hex(), **changes}


def test_calls_as_they_are_recorded():
    written = Written()
    leaf = written.add(intent())
    written.add(outcome(leaf))
    written.add(refused())
    leaf = written.add(intent("req.change00", effect="change"))
    written.add(started(leaf, request_id="req.change00"))
    written.add(outcome(leaf, "req.change00"))
    leaf = written.add(intent("req.orphaned"))
    written.add(started(leaf, "orphan", request_id="req.orphaned"))
    written.add(intent("req.running0"))
    written.add({"kind": "writer_stop", "at": AT})
    report = judged(written.records)
    assert report.ok
    assert (report.open_calls, report.orphaned_calls) == (2, 1)
    assert (report.first_at, report.last_at) == (AT, "2026-11-30T10:00:01.500000Z")
    assert report.kinds == {
        "writer_start": 1, "writer_stop": 1, "intent": 5, "outcome": 2, "started": 1, "orphan": 1
    }  # fmt: skip


@pytest.mark.parametrize(("verdict", "code"), [("deny", "DENIED"), ("ask", "APPROVAL_REQUIRED"), ("allow", "INTERNAL")])
@pytest.mark.parametrize("kind", ["started", "outcome", "orphan"])
def test_a_refused_request_has_no_other_record(verdict: str, code: str, kind: str):
    written = Written()
    leaf = written.add(intent(decision={"decision": verdict}, code=code))
    written.add(outcome(leaf) if kind == "outcome" else started(leaf, kind))
    assert violations(written.records) == [f"leaf 2: request {REQUEST} was refused, and has a record of kind {kind}"]


@pytest.mark.parametrize("kind", ["started", "outcome", "orphan"])
def test_each_record_of_a_call_names_its_intent(kind: str):
    written = Written()
    written.add(intent())
    other = bytes(32)
    written.add(outcome(other) if kind == "outcome" else started(other, kind))
    assert violations(written.records) == [
        f"leaf 2: request {REQUEST} has a record of kind {kind} that names another intent"
    ]


@pytest.mark.parametrize("kind", ["started", "outcome", "orphan"])
def test_no_record_comes_before_its_intent(kind: str):
    written = Written()
    written.add(outcome(bytes(32)) if kind == "outcome" else started(bytes(32), kind))
    assert violations(written.records) == [f"leaf 1: request {REQUEST} has a record of kind {kind} and no intent"]
    assert violations(written.records[1:], is_whole=False) == []


def test_a_request_has_one_intent():
    for first in (intent(), refused(REQUEST)):
        written = Written()
        leaf = written.add(first)
        if first["code"] is None:
            written.add(outcome(leaf))
        written.add(intent())
        assert violations(written.records)[-1].endswith(f"request {REQUEST} has a second intent")


def test_a_change_starts_before_its_outcome():
    written = Written()
    leaf = written.add(intent(effect="change"))
    written.add(outcome(leaf))
    written.add(started(leaf))
    assert violations(written.records) == [
        f"leaf 2: request {REQUEST} changed its host, and no record says that it started",
        f"leaf 3: request {REQUEST} starts after its outcome",
    ]


def test_a_change_that_never_ran_needs_no_start():
    written = Written()
    leaf = written.add(intent(effect="change"))
    written.add(outcome(leaf, code="UPSTREAM_UNAVAILABLE", collected_at=None))
    assert violations(written.records) == []


def test_an_orphan_may_get_its_outcome_after_all():
    written = Written()
    leaf = written.add(intent())
    written.add(started(leaf, "orphan"))
    written.add(started(leaf, "orphan"))  # two replicas at once
    written.add(outcome(leaf, late=True))
    written.add(started(leaf, "orphan"))  # written while the outcome came
    report = judged(written.records)
    assert report.ok
    assert (report.open_calls, report.orphaned_calls) == (0, 0)


@pytest.mark.parametrize("late_first", [True, False])
def test_a_late_outcome_may_stand_beside_one_whose_commit_was_in_doubt(late_first: bool):
    first, second = Written(), Written()
    leaf = first.add(intent())
    in_time, late = outcome(leaf), outcome(leaf, late=True)
    first.add(late if late_first else in_time)
    second.add(in_time if late_first else late)
    assert violations([*first.records, *second.records]) == []


def test_two_outcomes_in_time_are_one_too_many():
    written = Written()
    leaf = written.add(intent())
    written.add(outcome(leaf))
    written.add(outcome(leaf, late=True))
    written.add(outcome(leaf))
    assert violations(written.records) == [f"leaf 4: request {REQUEST} has a second outcome"]


@pytest.mark.parametrize("changes", [{"code": "TIMEOUT"}, {"facts_sha256": None}, {"intent": "00" * 32}])
def test_two_outcomes_say_the_same(changes: JsonObject):
    written = Written()
    leaf = written.add(intent())
    written.add(outcome(leaf))
    written.add({**outcome(leaf), **changes, "late": True})
    assert violations(written.records) == [f"leaf 3: request {REQUEST} has two outcomes that contradict each other"]


def test_a_restarted_service_begins_a_new_chain():
    first = Written()
    second = Written({"after": first.writer})
    assert violations([*first.records, *second.records]) == []
    assert violations(second.records) == [f"writer {first.writer} had a successor, and has no records"]
    assert violations(second.records, is_whole=False) == []


def test_chains_of_several_writers_take_turns():
    one, two = Written(), Written()
    for number in range(3):
        one.add(intent(f"req.one0000{number}"))
        two.add(intent(f"req.two0000{number}"))
    mixed = [record for pair in zip(one.records, two.records, strict=True) for record in pair]
    assert violations(mixed) == []


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda records: [records[0], *records[2:]], "jumps from record 0 to 2"),
        (lambda records: [records[0], records[2], records[1], records[3]], "jumps from record 0 to 2"),
        (lambda records: [records[0], records[1], records[1], *records[2:]], "jumps from record 1 to 1"),
        (lambda records: records[1:], "begins with record 1, and what comes before it is missing"),
    ],
)
def test_a_chain_has_every_number_once(change, found: str):
    written = Written()
    for number in range(3):
        written.add(intent(f"req.n000000{number}"))
    assert any(text.endswith(f"writer {written.writer} {found}") for text in violations(change(written.records)))


def relinked(data: bytes, **changes: JsonValue) -> bytes:
    return dumps({**loads_strict(data), **changes})


def test_each_record_names_the_one_before_it():
    written = Written()
    written.add(intent())
    records = [written.records[0], relinked(written.records[1], prev="11" * 32)]
    assert violations(records) == [f"leaf 1: writer {written.writer} does not name record 0 in the one after it"]
    assert violations([relinked(written.records[0], prev="11" * 32)]) == [
        f"leaf 0: writer {written.writer} names a record before its first"
    ]


def test_a_chain_begins_with_its_start_and_ends_with_its_stop():
    written = Written()
    written.add({"kind": "writer_stop", "at": AT})
    written.add({"kind": "writer_start", "at": AT})
    assert violations(written.records) == [f"leaf 2: writer {written.writer} goes on after its stop"]
    first = relinked(written.records[0], kind="config")
    assert violations([first]) == [f"leaf 0: writer {written.writer} does not begin with its start, or starts twice"]


def test_a_clock_that_goes_back_is_a_warning():
    written = Written({"at": "2026-11-30T10:00:02.000000Z"})
    leaf = written.add(intent(at="2026-11-30T10:00:01.500000Z"))  # less than a second
    written.add(outcome(leaf, at="2026-11-30T09:00:00.000000Z", late=True))  # it waited for the database
    report = judged(written.records)
    assert report.warnings.count == 0
    written.add(intent("req.earlier0", at="2026-11-30T08:00:00.000000Z"))
    report = judged(written.records)
    assert report.ok
    assert report.warnings.shown == [f"leaf 3: the clock of writer {written.writer} went back"]


@pytest.mark.parametrize("changes", [{"v": 2}, {"kind": "later_kind"}, {"kind": ["intent"]}, {"v": None}])
def test_what_a_later_version_wrote_is_not_judged(changes: JsonObject):
    report = judged([relinked(Written().records[0], **changes)])
    assert not report.ok
    assert (report.violations.count, report.unjudged.count) == (0, 1)


@pytest.mark.parametrize(
    "changes",
    [{"writer": None}, {"writer": ["x"]}, {"seq": None}, {"seq": True}, {"seq": "0"}, {"at": None}, {"at": "now"}],
)
def test_a_record_without_a_place_is_a_violation(changes: JsonObject):
    assert violations([relinked(Written().records[0], **changes)])


def test_a_name_that_a_record_would_not_hold_is_not_shown():
    written = Written()
    written.add(outcome(bytes(32), "\x1b[31m evil"))
    assert violations(written.records) == ["leaf 1: request ? has a record of kind outcome and no intent"]
