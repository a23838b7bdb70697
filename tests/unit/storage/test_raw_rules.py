from datetime import UTC, datetime

import pytest

from sshfacts.storage.raw_keys import RawKey
from sshfacts.storage.raw_rules import CopyFound, RawRules
from sshfacts.storage.report import Report
from sshfacts.storage.vault import protect
from sshfacts.values import JsonObject
from tests.support.records import outcome

UNTIL = datetime(2026, 12, 7, 10, tzinfo=UTC)
REFERENCE = protect(b"plain", "req.J7q94MkP", UNTIL, RawKey("raw-1", bytes(32))).reference
KEPT = outcome(bytes(32), raw=[REFERENCE.as_json()])
STORED = CopyFound(REFERENCE.blob_id, "req.J7q94MkP", REFERENCE.retain_until)


def purged(at: str = "2026-12-07T10:00:00.000000Z", blob_id: str = REFERENCE.blob_id) -> JsonObject:
    return {"kind": "raw_purged", "at": at, "request_id": "req.J7q94MkP", "blob_id": blob_id}


def judged(*bodies: JsonObject, stored: list[CopyFound] | None = None, is_whole: bool = True) -> Report:
    report = Report()
    rules = RawRules(report, is_whole=is_whole)
    for number, body in enumerate(bodies):
        rules.judge(f"leaf {number}", body)
    if stored is not None:
        rules.compare(stored)
    return report


@pytest.mark.parametrize(
    ("bodies", "stored"),
    [
        ([KEPT], [STORED]),
        ([KEPT, purged()], []),
        ([KEPT, purged()], [STORED]),  # the purge ended between its record and the removal
        ([KEPT, purged(), purged()], []),
        ([outcome(bytes(32))], []),
    ],
)
def test_copies_and_records_that_fit(bodies: list[JsonObject], stored: list[CopyFound]):
    report = judged(*bodies, stored=stored)
    assert (report.violations.shown, report.warnings.shown) == ([], [])


@pytest.mark.parametrize(
    ("bodies", "stored", "finding"),
    [
        ([KEPT], [], "is gone, and no record says that it was removed"),
        ([KEPT, purged("2026-12-07T09:59:59.999999Z")], [], "was removed before its time"),
        ([purged(blob_id="0" * 32)], [], "and no record names it"),
        ([KEPT], [CopyFound(STORED.blob_id, "req.another", STORED.retain_until)], "is not as its record says"),
        ([KEPT], [CopyFound(STORED.blob_id, STORED.request_id, "?")], "is not as its record says"),
        ([outcome(bytes(32), raw=["?"])], [], "in a way that is not known"),
    ],
)
def test_copies_and_records_that_do_not_fit(bodies: list[JsonObject], stored: list[CopyFound], finding: str):
    [violation] = judged(*bodies, stored=stored).violations.shown
    assert finding in violation


def test_a_copy_that_no_record_names_is_a_warning():
    report = judged(stored=[STORED])
    assert report.ok
    assert len(report.warnings.shown) == 1


def test_an_export_has_no_copies_to_compare_and_may_begin_after_the_outcome():
    assert judged(KEPT).ok
    assert judged(purged(), is_whole=False).ok


def test_what_an_altered_record_says_is_not_shown():
    report = judged(purged(blob_id="\x1b[2J"))
    assert "\x1b" not in report.violations.shown[0]
