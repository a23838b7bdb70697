import sqlite3
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from sshfacts.storage.chain import Entry
from sshfacts.storage.engine import open_for_reading, open_for_writing, prepare, transaction
from sshfacts.storage.unavailable import RecordUnavailable
from sshfacts.storage.writer import Writer, last_seq
from tests.support.records import intent, outcome, stored, url_of

Commit = Callable[..., None]


class Settled:
    """Collects what a writer says, batch by batch."""

    def __init__(self) -> None:
        self.batches: list[tuple[list[int], str | None]] = []
        self.first = threading.Event()

    def __call__(self, _writer: Writer, entries: Sequence[Entry], reason: str | None) -> None:
        self.batches.append(([entry.seq for entry in entries], reason))
        self.first.set()


@pytest.fixture
def settled() -> Settled:
    return Settled()


def open_writer(database: Path, settled: Settled, *, patience: float = 0.3, batch: int = 256) -> Writer:
    engine = open_for_writing(url_of(database))
    prepare(engine)
    return Writer(engine, settled, patience=patience, batch=batch)


def test_rows_that_wait_share_a_commit(database: Path, settled: Settled, monkeypatch: pytest.MonkeyPatch):
    release = threading.Event()
    commit = Writer._commit

    def slow(self: Writer, entries: Sequence[Entry], *, doubtful: bool) -> None:
        release.wait(5)
        commit(self, entries, doubtful=doubtful)

    monkeypatch.setattr(Writer, "_commit", slow)
    writer = open_writer(database, settled, batch=4)
    for number in range(6):
        writer.submit(intent(f"req.{number:08}"))
    release.set()
    writer.close()
    assert [seq for batch, _ in settled.batches for seq in batch] == [0, 1, 2, 3, 4, 5]
    assert max(len(batch) for batch, _ in settled.batches) == 4
    assert len(stored(database)) == 6


def test_a_commit_whose_answer_was_lost_is_not_doubled(
    database: Path, settled: Settled, monkeypatch: pytest.MonkeyPatch
):
    lost = []
    commit = Writer._commit

    def losing(self: Writer, entries: Sequence[Entry], *, doubtful: bool) -> None:
        commit(self, entries, doubtful=doubtful)
        if not lost:
            lost.append(True)
            raise sqlite3.OperationalError("the connection broke while the answer was on its way")

    monkeypatch.setattr(Writer, "_commit", losing)
    writer = open_writer(database, settled)
    writer.submit(intent())
    writer.close()
    assert settled.batches == [([0], None)]
    assert len(stored(database)) == 1


def test_a_commit_that_failed_is_tried_again_with_the_same_rows(
    database: Path, settled: Settled, monkeypatch: pytest.MonkeyPatch
):
    tried: list[bytes] = []
    commit = Writer._commit

    def failing(self: Writer, entries: Sequence[Entry], *, doubtful: bool) -> None:
        tried.append(entries[0].leaf_hash)
        if len(tried) < 3:
            raise sqlite3.OperationalError("not now")
        commit(self, entries, doubtful=doubtful)

    monkeypatch.setattr(Writer, "_commit", failing)
    writer = open_writer(database, settled)
    entry = writer.submit(intent())
    writer.close()
    assert tried == [entry.leaf_hash] * 3
    assert settled.batches == [([0], None)]
    assert len(stored(database)) == 1


@pytest.mark.parametrize("fault", [sqlite3.OperationalError("no"), OSError(28, "no"), TypeError("a fault of ours")])
def test_a_writer_that_gave_up_takes_no_more(
    database: Path, settled: Settled, monkeypatch: pytest.MonkeyPatch, fault: Exception
):
    def failing(_self: Writer, _entries: Sequence[Entry], *, doubtful: bool) -> None:
        assert doubtful in (True, False)
        raise fault

    monkeypatch.setattr(Writer, "_commit", failing)
    writer = open_writer(database, settled, batch=1)
    writer.submit(intent())
    writer.submit(intent())
    assert settled.first.wait(5)
    assert [batch for batch, _ in settled.batches] == [[0, 1]]
    assert all(reason for _, reason in settled.batches)
    with pytest.raises(RecordUnavailable):
        writer.submit(outcome(bytes(32)))
    writer.close()
    assert stored(database) == []


def test_a_full_queue_refuses_calls_but_no_outcome(database: Path, settled: Settled, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sshfacts.storage.writer.QUEUE", 3)
    hold, reached = threading.Event(), threading.Event()
    commit = Writer._commit

    def held(self: Writer, entries: Sequence[Entry], *, doubtful: bool) -> None:
        reached.set()
        hold.wait(5)
        commit(self, entries, doubtful=doubtful)

    monkeypatch.setattr(Writer, "_commit", held)
    writer = open_writer(database, settled)
    writer.submit(intent())
    assert reached.wait(5)
    for _ in range(3):
        writer.submit(intent())
    with pytest.raises(RecordUnavailable, match="too many"):
        writer.submit(intent())
    writer.submit(outcome(bytes(32)))
    hold.set()
    writer.close()
    assert len(stored(database)) == 5


def test_closing_makes_durable_what_waits(database: Path, settled: Settled):
    writer = open_writer(database, settled, batch=2)
    for _ in range(9):
        writer.submit(intent())
    writer.close()
    assert len(stored(database)) == 9
    with pytest.raises(RecordUnavailable, match="closed"):
        writer.submit(intent())


def test_how_far_a_chain_reaches(database: Path, settled: Settled):
    writer = open_writer(database, settled)
    writer.submit(intent())
    writer.submit(intent())
    writer.close()
    with transaction(open_for_reading(url_of(database))) as connection:
        assert last_seq(connection, writer.id) == 1
        assert last_seq(connection, "another") == -1
