"""The database goes away while the service runs, and comes back."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from time import monotonic

import pytest

from sshfacts.storage import sqlite
from sshfacts.storage.chain import Entry
from sshfacts.storage.recorder import Recorder, RecordUnavailable, open_recorder
from sshfacts.storage.writer import Writer
from tests.support.records import intent, kinds, outcome, stored, url_of

PATIENCE = 0.2


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", 0.05)
    monkeypatch.setattr("sshfacts.storage.recorder.REOPEN_SECONDS", 0.05)


@pytest.fixture
async def recorder(database: Path) -> AsyncIterator[Recorder]:
    async with open_recorder(url_of(database), patience=PATIENCE) as opened:
        yield opened


@pytest.fixture
def lock(database: Path, recorder: Recorder) -> Iterator[sqlite3.Connection]:
    """Another process that holds the database's write lock and does not let go."""
    assert recorder.available
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield connection


async def until_available(recorder: Recorder) -> None:
    async with asyncio.timeout(5):
        while not recorder.available:  # noqa: ASYNC110 - the service asks in the same way
            await asyncio.sleep(0.01)


async def test_a_database_that_is_locked_is_answered_for(recorder: Recorder, lock: sqlite3.Connection):
    assert lock.in_transaction
    begin = monotonic()
    with pytest.raises(RecordUnavailable, match="SQLITE_BUSY"):
        await recorder.append(intent())
    assert PATIENCE / 2 < monotonic() - begin < PATIENCE + 1


async def test_while_it_is_away_callers_are_refused_at_once(recorder: Recorder, lock: sqlite3.Connection):
    assert lock.in_transaction
    with pytest.raises(RecordUnavailable):
        await recorder.append(intent())
    assert not recorder.available
    begin = monotonic()
    with pytest.raises(RecordUnavailable, match="SQLITE_BUSY"):
        await recorder.append(intent())
    assert monotonic() - begin < PATIENCE / 2


async def test_it_goes_on_with_a_new_chain(recorder: Recorder, lock: sqlite3.Connection, database: Path):
    with pytest.raises(RecordUnavailable):
        await recorder.append(intent())
    lock.execute("ROLLBACK")
    await until_available(recorder)
    await recorder.append(intent("req.afterwards"))
    bodies = stored(database)
    assert [body["kind"] for body in bodies] == ["writer_start", "writer_start", "intent"]
    assert bodies[1]["after"] == bodies[0]["writer"] != bodies[1]["writer"]


async def test_outcomes_of_calls_that_ran_are_recorded_late(
    recorder: Recorder, lock: sqlite3.Connection, database: Path
):
    lock.execute("ROLLBACK")
    leaves = [await recorder.append(intent(f"req.{number:08}")) for number in range(3)]
    lock.execute("BEGIN IMMEDIATE")
    calls = (recorder.append(outcome(leaf, f"req.{number:08}")) for number, leaf in enumerate(leaves[:2]))
    results = await asyncio.gather(*calls, recorder.append(intent("req.not_run")), return_exceptions=True)
    assert [type(result) for result in results] == [RecordUnavailable] * 3
    with pytest.raises(RecordUnavailable):  # this one ends while no writer is open at all
        await recorder.append(outcome(leaves[2], "req.00000002"))
    lock.execute("ROLLBACK")
    await until_available(recorder)
    await recorder.close()
    late = [body for body in stored(database) if body["kind"] == "outcome"]
    assert [(body["request_id"], body["late"]) for body in late] == [(f"req.{number:08}", True) for number in range(3)]
    assert "req.not_run" not in {body.get("request_id") for body in stored(database)}


async def test_an_outcome_that_landed_unnoticed_is_not_recorded_again(
    recorder: Recorder, database: Path, monkeypatch: pytest.MonkeyPatch
):
    leaf = await recorder.append(intent())
    commit = Writer._commit

    def losing(self: Writer, entries: Sequence[Entry], *, doubtful: bool) -> None:
        if not doubtful:
            commit(self, entries, doubtful=doubtful)
        raise sqlite3.OperationalError("the answer was lost, and the database is gone")

    with monkeypatch.context() as patch:
        patch.setattr(Writer, "_commit", losing)
        with pytest.raises(RecordUnavailable):
            await recorder.append(outcome(leaf))
    await until_available(recorder)
    await recorder.close()
    assert kinds(database) == ["writer_start", "intent", "outcome", "writer_start", "writer_stop"]


async def test_late_outcomes_are_bounded(recorder: Recorder, lock: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch):
    assert lock.in_transaction
    monkeypatch.setattr("sshfacts.storage.late.LATE_OUTCOMES", 2)
    for number in range(4):
        with pytest.raises(RecordUnavailable):
            await recorder.append(outcome(bytes(32), f"req.{number:08}"))
    assert len(recorder._late) == 2


async def test_closing_while_it_is_away_says_what_is_lost(
    recorder: Recorder, lock: sqlite3.Connection, caplog: pytest.LogCaptureFixture
):
    assert lock.in_transaction
    with pytest.raises(RecordUnavailable):
        await recorder.append(outcome(bytes(32)))
    await recorder.close()
    assert "1 outcomes were not recorded" in caplog.text
    assert "insert" not in caplog.text.lower()


async def test_a_database_that_drops_rows_in_silence_is_not_believed(recorder: Recorder, database: Path):
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute("CREATE TRIGGER swallow BEFORE INSERT ON audit_entry BEGIN SELECT RAISE(IGNORE); END")
        with pytest.raises(RecordUnavailable, match="drops rows"):
            await recorder.append(intent())
        connection.execute("DROP TRIGGER swallow")
    await until_available(recorder)


@pytest.fixture
def moved(database: Path, recorder: Recorder) -> Path:
    """The database under another name, as after somebody's mistake."""
    assert recorder.available
    return database.rename(database.with_name("moved.db"))


async def test_a_file_that_was_moved_away_is_not_written_any_more(recorder: Recorder, moved: Path, database: Path):
    with pytest.raises(RecordUnavailable, match=r"ENOENT|SQLITE_CANTOPEN"):
        await recorder.append(intent())
    assert not recorder.available
    await asyncio.to_thread(moved.rename, database)
    await until_available(recorder)
    await recorder.append(intent())
    assert kinds(database) == ["writer_start", "writer_start", "intent"]
