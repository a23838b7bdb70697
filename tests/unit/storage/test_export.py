import io
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from sshfacts.storage import export
from sshfacts.storage.checkpoint import Checkpoint
from sshfacts.storage.engine import open_for_reading
from sshfacts.storage.export import Export
from sshfacts.storage.export_format import Period
from sshfacts.storage.tables import CHECKPOINT, ENTRY, LEAF, TILE
from sshfacts.storage.unavailable import RecordAltered
from tests.support.exports import call_time, exported, verified
from tests.support.sealed import SealedRecord, copy_sqlite, new_sqlite, rows_of_calls

CALLS = 150


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> tuple[SealedRecord, list[Checkpoint]]:
    record = new_sqlite(tmp_path_factory.mktemp("exported"))
    checkpoints = []
    for first in (0, CALLS, 2 * CALLS):
        record.append(rows_of_calls(CALLS, first=first))
        checkpoints.append(record.seal().checkpoint)
    return record, checkpoints


@pytest.fixture(scope="module")
def record(sealed: tuple[SealedRecord, list[Checkpoint]]) -> SealedRecord:
    return sealed[0]


@pytest.fixture(scope="module")
def checkpoints(sealed: tuple[SealedRecord, list[Checkpoint]]) -> list[Checkpoint]:
    return sealed[1]


@pytest.fixture
def copy(record: SealedRecord, tmp_path: Path) -> SealedRecord:
    return copy_sqlite(record, tmp_path / "copy")


def bodies(lines: Sequence[bytes]) -> list[dict[str, object]]:
    return [json.loads(line)["body"] for line in lines[1:-1]]


def times(lines: Sequence[bytes]) -> list[str]:
    return [str(body["at"]) for body in bodies(lines)]


def test_the_whole_log(record: SealedRecord, checkpoints: list[Checkpoint]):
    lines = exported(record)
    head = json.loads(lines[0])
    assert (head["begin"], head["end"]) == (0, checkpoints[-1].size) == (0, len(lines) - 2)
    assert (head["prefix"], head["suffix"], head["since"], head["until"]) == ([], [], None, None)
    report = verified(lines)
    assert report.ok
    assert report.warnings.shown == [
        "no trusted checkpoint was given: that the whole log was rolled back or replaced cannot be told"
    ]
    assert (report.begin, report.end, report.tree_size) == (0, checkpoints[-1].size, checkpoints[-1].size)


def test_a_record_stands_there_as_it_was_hashed(record: SealedRecord):
    with sa.create_engine(record.url).connect() as connection:
        stored = connection.scalars(
            sa.select(ENTRY.c.body).join(LEAF, LEAF.c.entry_id == ENTRY.c.id).order_by(LEAF.c.leaf_index)
        ).all()
    lines = exported(record)
    assert lines[1:-1] == [b'{"body":%b,"leaf":%d}\n' % (body.encode(), leaf) for leaf, body in enumerate(stored)]
    assert lines[-1] == b'{"records":%d}\n' % len(stored)


@pytest.fixture(scope="module")
def all_times(record: SealedRecord) -> list[str]:
    return times(exported(record))


@given(first=st.integers(-5, 3 * CALLS + 5), length=st.integers(0, 60))
def test_a_period_is_complete_and_shows_both_of_its_ends(
    record: SealedRecord, checkpoints: list[Checkpoint], all_times: list[str], first: int, length: int
):
    period = Period(call_time(first), call_time(first + length))
    lines = exported(record, period)
    report = verified(lines)
    assert report.ok, report.violations.shown
    since, until = f"{period.since:%Y-%m-%dT%H:%M:%S.%fZ}", f"{period.until:%Y-%m-%dT%H:%M:%S.%fZ}"
    inside = [at for at in all_times if since <= at < until]
    assert [at for at in times(lines) if since <= at < until] == inside
    assert len(lines) - 2 <= len(inside) + 2
    assert report.begin == 0 or times(lines)[0] < since
    assert report.end == checkpoints[-1].size or times(lines)[-1] >= until


@pytest.mark.parametrize(
    ("period", "begin", "end"),
    [
        (Period(since=call_time(10)), None, "size"),
        (Period(until=call_time(10)), 0, None),
        (Period(since=call_time(9_999)), "last", "size"),
        (Period(until=call_time(-9_999)), 0, 1),
    ],
)
def test_a_period_may_be_open(record: SealedRecord, checkpoints: list[Checkpoint], period: Period, begin, end):
    report = verified(exported(record, period))
    size = checkpoints[-1].size
    assert report.ok
    assert begin is None or report.begin == (size - 1 if begin == "last" else begin)
    assert end is None or report.end == (size if end == "size" else end)


def test_an_export_extends_what_its_reader_trusts(record: SealedRecord, checkpoints: list[Checkpoint]):
    period = Period(call_time(250), call_time(260))
    for trusted in checkpoints:
        report = verified(exported(record, period, trusted), trusted)
        assert report.ok
        assert report.warnings.count == 0
    without = exported(record, period)
    assert verified(without, checkpoints[-1]).ok
    assert verified(without, checkpoints[0]).violations.shown == [
        "head: the file has no proof from the trusted checkpoint; export it with that checkpoint"
    ]


def test_a_trusted_checkpoint_among_the_records_needs_no_proof(record: SealedRecord, checkpoints: list[Checkpoint]):
    lines = exported(record)
    for trusted in checkpoints:
        assert verified(lines, trusted).ok
        forked = Checkpoint(trusted.origin, trusted.size, bytes(32))
        assert (
            verified(lines, forked).violations.shown[0].endswith("the log was rewritten since the trusted checkpoint")
        )


def test_a_rollback_shows_in_the_head(record: SealedRecord, checkpoints: list[Checkpoint]):
    newest = checkpoints[-1]
    later = Checkpoint(newest.origin, newest.size + 1, newest.root)
    [found] = verified(exported(record), later).violations.shown
    assert found == f"head: rollback: the trusted checkpoint has {later.size} records, and the log {newest.size}"
    with pytest.raises(RecordAltered):
        exported(record, trusted=later)
    other = Checkpoint("another.example/log", 1, newest.root)
    assert verified(exported(record), other).violations.shown == ["head: the trusted checkpoint is one of another log"]


def test_what_is_not_sealed_is_not_in_the_file(copy: SealedRecord):
    copy.append(rows_of_calls(5, first=100_000))
    engine = open_for_reading(copy.url)
    assert Export(engine).unsealed == 0  # the end of the log is what was sealed
    assert Export(engine, Period(until=call_time(100_003))).unsealed == 3 + 3 * 2
    assert Export(engine, Period(until=call_time(500))).unsealed == 0
    assert verified(exported(copy)).ok


def test_leaves_over_the_newest_checkpoint_are_not_sealed(copy: SealedRecord, checkpoints: list[Checkpoint]):
    with copy.unguarded() as connection:
        connection.execute(sa.delete(CHECKPOINT).where(CHECKPOINT.c.tree_size == checkpoints[-1].size))
    whole = Export(open_for_reading(copy.url), Period(until=call_time(10_000)))
    assert (whole.records, whole.unsealed) == (checkpoints[1].size, checkpoints[2].size - checkpoints[1].size)
    assert verified(exported(copy)).ok


def test_a_log_that_was_never_sealed_proves_nothing(tmp_path: Path):
    record = new_sqlite(tmp_path)
    record.append(rows_of_calls(3))
    with pytest.raises(RecordAltered, match="sshfacts audit seal"):
        exported(record)


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        (
            sa.update(ENTRY).where(ENTRY.c.id == 50).values(body=sa.func.replace(ENTRY.c.body, "helper", "x")),
            "not those",
        ),
        (sa.delete(LEAF).where(LEAF.c.leaf_index == 50), "some are missing"),
        (sa.update(TILE).values(hashes=bytes(8192)), "not those"),
        (sa.delete(TILE), "tile 0/0"),
        (sa.update(CHECKPOINT).values(note="none"), "malformed"),
        (sa.delete(CHECKPOINT), "nothing was sealed"),
    ],
)
def test_a_file_that_would_not_verify_is_not_handed_out(copy: SealedRecord, statement, found: str):
    with copy.unguarded() as connection:
        connection.execute(statement)
    with pytest.raises(RecordAltered, match=found):
        exported(copy, Period(since=call_time(0.1)))


def test_progress_is_told(record: SealedRecord, monkeypatch):
    monkeypatch.setattr(export, "BATCH", 100)
    told: list[tuple[int, int]] = []
    whole = Export(open_for_reading(record.url))
    whole.write(io.BytesIO(), lambda done, total: told.append((done, total)))
    assert told[-1] == (whole.records, whole.records)
    assert told[:2] == [(100, whole.records), (200, whole.records)]
