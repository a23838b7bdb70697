import asyncio
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from sshfacts.storage.engine import open_for_reading, open_for_writing
from sshfacts.storage.ledger import Actor
from sshfacts.storage.raw_copies import NoRawCopy, due, key_uses, open_copy, purge, reference_of, rewrap_all
from sshfacts.storage.raw_keys import RawKey, RawKeyError
from sshfacts.storage.recorder import Recorder, RecordUnavailable, open_recorder
from sshfacts.storage.signing_keys import KeyFile
from sshfacts.storage.vault import RawCopyError, protect
from tests.support.records import intent, outcome, stored, url_of
from tests.support.sealed import KEY as KEY_OF_THE_LOG
from tests.support.sealed import SealedRecord

KEY = RawKey("raw-1", bytes(range(32)))
NEW = RawKey("raw-2", bytes(range(1, 33)))
PLAIN = b"what the host sent\n" * 50
BY = Actor("rita", "test", "someone")
WEEK = timedelta(days=7)


def now() -> datetime:
    return datetime.now(UTC)


async def record_call(recorder: Recorder, request_id: str, until: datetime, plain: bytes = PLAIN) -> None:
    leaf = await recorder.append(intent(request_id))
    kept = protect(plain, request_id, until, KEY)
    await recorder.append(outcome(leaf, request_id, raw=[kept.reference.as_json()]), [kept.row])


@pytest.fixture
def written(database: Path) -> Path:
    """A copy whose time is over, one that is kept, and a call without a copy."""

    async def record() -> None:
        async with open_recorder(url_of(database)) as recorder:
            await record_call(recorder, "req.old", now() - timedelta(minutes=1))
            await record_call(recorder, "req.new", now() + WEEK)
            leaf = await recorder.append(intent("req.none"))
            await recorder.append(outcome(leaf, "req.none", raw=[]))

    asyncio.run(record())
    return database


@pytest.fixture
def engine(written: Path) -> sa.Engine:
    return open_for_writing(url_of(written))


def copies(database: Path) -> list[str]:
    with closing(sqlite3.connect(database)) as connection:
        return [row[0] for row in connection.execute("SELECT request_id FROM audit_raw ORDER BY request_id")]


def of_kind(database: Path, kind: str) -> list[dict[str, object]]:
    return [body for body in stored(database) if body["kind"] == kind]


def test_a_copy_is_read_and_that_is_on_record(engine: sa.Engine, written: Path):
    opened = open_copy(engine, "req.new", {KEY.name: KEY}, BY, "read")
    assert opened.plain == PLAIN
    [reading] = of_kind(written, "raw_read")
    assert (reading["request_id"], reading["reason"], reading["person"]) == ("req.new", "read", "rita")
    assert reading["blob_id"] == opened.reference.blob_id
    assert (reading["operation"], reading["host"]) == ("disk_usage", "web-1")


def test_a_reading_that_cannot_be_recorded_gives_nothing(engine: sa.Engine, monkeypatch: pytest.MonkeyPatch):
    def fail(*_: object) -> None:
        raise RecordUnavailable("SQLITE_FULL")

    monkeypatch.setattr("sshfacts.storage.raw_copies.record", fail)
    monkeypatch.setattr("sshfacts.storage.raw_copies.reveal", lambda *_: pytest.fail("the copy was opened"))
    with pytest.raises(RecordUnavailable):
        open_copy(engine, "req.new", {KEY.name: KEY}, BY, "read")


def test_the_record_comes_before_the_plain_text(engine: sa.Engine, written: Path, monkeypatch: pytest.MonkeyPatch):
    seen = []

    def look(*_: object) -> bytes:
        seen.extend(of_kind(written, "raw_read"))
        return b""

    monkeypatch.setattr("sshfacts.storage.raw_copies.reveal", look)
    open_copy(engine, "req.new", {KEY.name: KEY}, BY, "replay")
    assert [reading["reason"] for reading in seen] == ["replay"]


@pytest.mark.parametrize(
    ("request_id", "why"), [("req.unknown", "no request"), ("req.none", "no copy of this request")]
)
def test_what_was_not_kept_cannot_be_read(engine: sa.Engine, written: Path, request_id: str, why: str):
    with pytest.raises(NoRawCopy, match=why):
        open_copy(engine, request_id, {KEY.name: KEY}, BY, "read")
    assert of_kind(written, "raw_read") == []


def test_a_missing_key_leaves_no_record_of_a_reading(engine: sa.Engine, written: Path):
    with pytest.raises(RawKeyError, match="raw-1"):
        open_copy(engine, "req.new", {NEW.name: NEW}, BY, "read")
    assert of_kind(written, "raw_read") == []


def test_a_copy_that_was_swapped_in_the_database_is_refused(engine: sa.Engine, written: Path):
    with closing(sqlite3.connect(written)) as connection, connection:
        connection.execute("DROP TRIGGER audit_raw_no_change")
        connection.execute(
            "UPDATE audit_raw SET (nonce, ciphertext) = (SELECT nonce, ciphertext FROM audit_raw"
            " WHERE request_id = 'req.old') WHERE request_id = 'req.new'"
        )
    with pytest.raises(RawCopyError, match="not the one that was recorded"):
        open_copy(engine, "req.new", {KEY.name: KEY}, BY, "read")


def test_only_copies_whose_time_is_over_are_due(written: Path):
    reader = open_for_reading(url_of(written))
    assert [copy.request_id for copy in due(reader, now(), 10)] == ["req.old"]
    assert [copy.request_id for copy in due(reader, now() + 2 * WEEK, 10)] == ["req.old", "req.new"]
    assert [copy.request_id for copy in due(reader, now() + 2 * WEEK, 1)] == ["req.old"]


def test_purge_removes_what_is_due_and_records_it_first(engine: sa.Engine, written: Path):
    batches = list(purge(engine, now(), BY))
    assert [[copy.request_id for copy in batch] for batch in batches] == [["req.old"]]
    assert copies(written) == ["req.new"]
    [removal] = of_kind(written, "raw_purged")
    assert (removal["request_id"], removal["person"]) == ("req.old", "rita")
    with pytest.raises(NoRawCopy, match="was removed"):
        open_copy(engine, "req.old", {KEY.name: KEY}, BY, "read")
    assert list(purge(engine, now(), BY)) == []


def test_a_removal_that_cannot_be_recorded_does_not_happen(
    engine: sa.Engine, written: Path, monkeypatch: pytest.MonkeyPatch
):
    def fail(*_: object) -> None:
        raise RecordUnavailable("SQLITE_FULL")

    monkeypatch.setattr("sshfacts.storage.raw_copies.record", fail)
    with pytest.raises(RecordUnavailable):
        list(purge(engine, now(), BY))
    assert copies(written) == ["req.new", "req.old"]


def test_the_guard_keeps_a_copy_whose_time_is_not_over(engine: sa.Engine, written: Path):
    """The clock of the program is not believed: the database has its own."""
    with pytest.raises(RecordUnavailable):
        list(purge(engine, now() + 2 * WEEK, BY))
    assert copies(written) == ["req.new", "req.old"]


def test_a_removed_copy_leaves_no_bytes_in_the_file(engine: sa.Engine, written: Path):
    with closing(sqlite3.connect(written)) as connection:
        [[ciphertext]] = connection.execute("SELECT ciphertext FROM audit_raw WHERE request_id = 'req.old'")
    list(purge(engine, now(), BY))
    with closing(sqlite3.connect(written)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert ciphertext[8:40] not in written.read_bytes()


def test_all_copies_are_wrapped_anew_and_open_with_the_new_key(
    engine: sa.Engine, written: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("sshfacts.storage.raw_copies.BATCH", 1)
    reader = open_for_reading(url_of(written))
    assert [(use.key, use.copies) for use in key_uses(reader)] == [("raw-1", 2)]
    keys = {NEW.name: NEW, KEY.name: KEY}
    assert list(rewrap_all(engine, keys, BY)) == [1, 1]
    assert [(use.key, use.copies) for use in key_uses(reader)] == [("raw-2", 2)]
    assert open_copy(engine, "req.new", {NEW.name: NEW}, BY, "read").plain == PLAIN
    assert [(body["former"], body["key"], body["copies"]) for body in of_kind(written, "raw_rewrapped")] == [
        (["raw-1"], "raw-2", 1)
    ] * 2
    assert list(rewrap_all(engine, keys, BY)) == []


def test_nothing_is_wrapped_anew_while_a_key_is_missing(engine: sa.Engine, written: Path):
    with pytest.raises(RawKeyError, match="raw-1"):
        list(rewrap_all(engine, {NEW.name: NEW}, BY))
    assert of_kind(written, "raw_rewrapped") == []


async def test_a_copy_is_durable_with_its_outcome_or_not_at_all(database: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sshfacts.storage.recorder.REOPEN_SECONDS", 0.01)
    async with open_recorder(url_of(database), patience=0.1) as recorder:
        leaf = await recorder.append(intent("req.a"))
        kept = protect(PLAIN, "req.a", now() + WEEK, KEY)
        await recorder.append(outcome(leaf, "req.a", raw=[kept.reference.as_json()]), [kept.row])
        leaf = await recorder.append(intent("req.b"))
        with pytest.raises(RecordUnavailable):  # the same copy again, which the database refuses
            await recorder.append(outcome(leaf, "req.b", raw=[kept.reference.as_json()]), [kept.row])
        async with asyncio.timeout(5):
            while not recorder.available:  # noqa: ASYNC110 - the service asks in the same way
                await asyncio.sleep(0.01)
    assert copies(database) == ["req.a"]
    [late] = [body for body in of_kind(database, "outcome") if body["request_id"] == "req.b"]
    assert (late["late"], late["raw"], late["raw_left_out"]) == (True, [], "late")


async def test_a_batch_ends_where_its_copies_grow_large(database: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sshfacts.storage.writer.COPIED_BYTES", 1)
    async with open_recorder(url_of(database)) as recorder:
        await asyncio.gather(*(record_call(recorder, f"req.{number}", now() + WEEK) for number in range(20)))
    assert len(copies(database)) == 20


def test_a_request_without_an_outcome_refers_to_no_copy():
    assert reference_of([intent()]) is None
    assert reference_of([]) is None


@pytest.fixture
def sealed(written: Path) -> SealedRecord:
    url = url_of(written)
    record = SealedRecord(written.parent, url, url, url, url)
    KeyFile(record.log.key_file).write([KEY_OF_THE_LOG])
    return record


def found(record: SealedRecord) -> list[str]:
    record.seal()
    return record.verify(now=now()).violations.shown


def test_a_copy_that_was_removed_on_record_is_no_violation(sealed: SealedRecord, engine: sa.Engine):
    assert found(sealed) == []
    assert len(list(purge(engine, now(), BY))) == 1
    assert found(sealed) == []


@pytest.mark.parametrize(
    ("statement", "finding"),
    [
        ("DELETE FROM audit_raw", "is gone, and no record says that it was removed"),
        ("UPDATE audit_raw SET request_id = 'req.none'", "is not as its record says"),
        ("UPDATE audit_raw SET retain_until = '2026-01-01 00:00:00.000000'", "is not as its record says"),
    ],
)
def test_what_the_owner_of_the_database_does_to_copies_is_found(
    sealed: SealedRecord, written: Path, statement: str, finding: str
):
    assert found(sealed) == []
    with closing(sqlite3.connect(written)) as connection, connection:
        connection.execute("DROP TRIGGER audit_raw_no_early_delete")
        connection.execute("DROP TRIGGER audit_raw_no_change")
        connection.execute(statement)
    violations = found(sealed)
    assert len(violations) == 2
    assert all(finding in violation for violation in violations)
