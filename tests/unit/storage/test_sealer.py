import asyncio
import logging
from pathlib import Path

import pytest
import sqlalchemy as sa

from sshfacts.storage import integration
from sshfacts.storage.checkpoint import Checkpoint, open_checkpoint
from sshfacts.storage.engine import open_for_reading, open_for_writing, transaction
from sshfacts.storage.integration import integrate
from sshfacts.storage.note import NoteError, SigningKey
from sshfacts.storage.publication import Published
from sshfacts.storage.recorder import open_recorder
from sshfacts.storage.sealer import Log, RolledBack, Sealer, sealing
from sshfacts.storage.sealer_state import SealerState, StateError
from sshfacts.storage.signing_keys import KeyFile, KeyFileError
from sshfacts.storage.stored_tree import StoredTree, newest_note, tree_size
from sshfacts.storage.tables import CHECKPOINT, ENTRY, TILE
from sshfacts.storage.unavailable import RecordAltered, RecordUnavailable
from tests.support.records import intent
from tests.support.sealed import KEY, NOW, ORIGIN, SealedRecord, new_sqlite, rows_of_calls


@pytest.fixture
def record(tmp_path: Path) -> SealedRecord:
    return new_sqlite(tmp_path / "log")


def stored_notes(record: SealedRecord) -> list[str]:
    with transaction(open_for_reading(record.url)) as connection:
        return list(connection.scalars(sa.select(CHECKPOINT.c.note).order_by(CHECKPOINT.c.tree_size)))


def test_nothing_is_signed_over_nothing(record: SealedRecord):
    assert record.sealer().seal() is None
    assert stored_notes(record) == []
    assert not record.log.state_file.exists()


@pytest.mark.parametrize("sizes", [range(1, 7), (255, 256, 257), (511, 513)])
def test_each_checkpoint_extends_every_one_before(record: SealedRecord, sizes):
    rows = rows_of_calls(400)
    done = 0
    checkpoints = []
    for size in sizes:
        record.append(rows[done:size])
        sealed = record.seal()
        assert (sealed.checkpoint.size, sealed.added, sealed.gaps) == (size, size - done, ())
        checkpoints.append(sealed.checkpoint)
        done = size
    for checkpoint in checkpoints:
        assert record.verify(checkpoint).ok
    assert [open_checkpoint(note, [KEY.public]) for note in stored_notes(record)] == checkpoints


def test_a_second_pass_without_news_does_nothing(record: SealedRecord):
    record.append(rows_of_calls(3))
    published: list[Published] = []
    sealer = Sealer(record.log, [published.append], now=lambda: NOW)
    sealer.seal()
    assert sealer.seal() is None
    assert len(published) == len(stored_notes(record)) == 1


def test_a_sealer_begins_by_publishing_what_it_signed_last(record: SealedRecord):
    """The sealer before it may have been cut off between signing and publishing."""
    record.append(rows_of_calls(3))
    first = record.seal()
    published: list[Published] = []
    again = Sealer(record.log, [published.append]).seal()
    assert again is not None
    assert (again.checkpoint, again.added) == (first.checkpoint, 0)
    assert [one.note for one in published] == [first.note]
    assert len(stored_notes(record)) == 1


def test_what_is_published_is_what_is_remembered_and_stored(record: SealedRecord):
    record.append(rows_of_calls(3))
    published: list[Published] = []
    sealed = Sealer(record.log, [published.append], now=lambda: NOW).seal()
    assert sealed is not None
    assert published == [Published(sealed.checkpoint, sealed.note, NOW)]
    assert record.log.state_file.read_text() == sealed.note == stored_notes(record)[0]


def test_a_place_that_takes_no_checkpoint_does_not_stop_the_others(record: SealedRecord, caplog):
    def full(_: Published) -> None:
        raise OSError(28, "secret path")

    record.append(rows_of_calls(3))
    published: list[Published] = []
    assert Sealer(record.log, [full, published.append]).seal() is not None
    assert len(published) == 1
    assert "could not be published" in caplog.text
    assert "secret path" not in caplog.text


class CutOff(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("where", ["_extending", "_store", "_announce"])
def test_a_pass_that_is_cut_off_is_taken_up(record: SealedRecord, monkeypatch, where: str):
    def cut_off(*_: object) -> None:
        raise CutOff

    before, then, after = rows_of_calls(50), rows_of_calls(20, first=50), rows_of_calls(5, first=70)
    record.append(before)
    first = record.seal()
    record.append(then)
    with monkeypatch.context() as patched:
        patched.setattr(Sealer, where, cut_off)
        with pytest.raises(CutOff):
            record.seal()
    assert record.verify(first.checkpoint).ok
    record.append(after)
    assert record.seal().checkpoint.size == len(before) + len(then) + len(after)
    assert record.verify(first.checkpoint).ok


def test_a_checkpoint_that_was_signed_and_not_stored_is_stored_later(record: SealedRecord, monkeypatch):
    record.append(rows_of_calls(3))
    with monkeypatch.context() as patched:
        patched.setattr(Sealer, "_store", lambda *_: None)
        signed = record.seal()
    assert stored_notes(record) == []
    assert record.seal().note == signed.note
    assert stored_notes(record) == [signed.note]


def test_many_records_are_sealed_in_one_pass(record: SealedRecord, monkeypatch):
    monkeypatch.setattr(integration, "BATCH", 40)
    record.append(rows_of_calls(150))
    sealed = record.seal()
    assert sealed.added == sealed.checkpoint.size > 300
    assert record.verify().ok
    with transaction(open_for_reading(record.url)) as connection:
        assert connection.scalar(sa.select(sa.func.count()).select_from(TILE)) == 1


def test_two_sealers_at_once_seal_each_record_once(record: SealedRecord, monkeypatch):
    record.append(rows_of_calls(60))
    reader, writer = open_for_reading(record.url), open_for_writing(record.url)
    insert = integration._insert

    def after_another(*arguments: object) -> None:
        monkeypatch.setattr(integration, "_insert", insert)
        assert integrate(reader, writer, thorough=True).added > 100
        insert(*arguments)

    monkeypatch.setattr(integration, "_insert", after_another)
    lost = integrate(reader, writer, thorough=True)
    assert lost.added == 0
    assert lost.size == record.seal().checkpoint.size
    assert record.verify().ok


def test_a_database_that_takes_no_leaf_is_no_lost_race(record: SealedRecord):
    record.append(rows_of_calls(3))
    with record.unguarded() as connection:
        connection.exec_driver_sql(
            "CREATE TRIGGER full BEFORE INSERT ON audit_leaf BEGIN SELECT RAISE(ABORT, 'disk full'); END"
        )
    with pytest.raises(RecordUnavailable):
        record.seal()


def test_two_sealers_with_a_state_of_their_own_agree(record: SealedRecord, tmp_path: Path):
    log = record.log
    other = Log(log.database_url, log.origin, log.key_file, tmp_path / "other state")
    record.append(rows_of_calls(5))
    first = record.seal()
    Sealer(other).adopt(first.note)
    record.append(rows_of_calls(5, first=5))
    second = Sealer(other).seal()
    third = record.seal()
    assert second is not None
    assert (second.note, third.added) == (third.note, 0)
    assert len(stored_notes(record)) == 2


def test_a_sealer_waits_for_another_one_and_not_for_ever(record: SealedRecord, monkeypatch):
    monkeypatch.setattr("sshfacts.storage.sealer_state.LOCK_SECONDS", 0.1)
    record.append(rows_of_calls(3))
    with SealerState(record.log.state_file).locked(), pytest.raises(StateError, match="another sealer is at work"):
        record.seal()
    record.seal()


def test_records_are_ordered_chain_by_chain_if_their_ids_are_not(record: SealedRecord):
    rows = rows_of_calls(10, writers=2)
    record.append(list(reversed(rows)))
    assert record.seal().gaps == ()
    assert record.verify().ok


@pytest.mark.parametrize("thorough", [True, False])
def test_a_record_that_became_visible_late_is_found_by_a_thorough_look(record: SealedRecord, monkeypatch, thorough):
    monkeypatch.setattr(integration, "LOOK_BACK", 10)
    rows = rows_of_calls(60, writers=1)
    record.append(rows)
    reader, writer = open_for_reading(record.url), open_for_writing(record.url)
    with record.unguarded() as connection:
        connection.execute(sa.update(ENTRY).values(id=ENTRY.c.id + 1_000))
    integrate(reader, writer, thorough=True)
    record.append(rows_of_calls(1, writers=1, first=60))
    with record.unguarded() as connection:
        connection.execute(sa.update(ENTRY).where(ENTRY.c.id > 1_000 + len(rows)).values(id=ENTRY.c.id - 1_000 - 123))
    assert integrate(reader, writer, thorough=thorough).added == (3 if thorough else 0)


def test_a_gap_in_a_chain_is_told_and_the_rest_is_sealed(record: SealedRecord, caplog):
    rows = rows_of_calls(10, writers=1)
    record.append([*rows[:5], *rows[6:]])
    sealed = record.seal()
    writer = rows[0]["writer_id"]
    assert sealed.gaps == (f"what comes before record 6 of writer {writer} is missing",)
    assert sealed.checkpoint.size == len(rows) - 1
    assert "the record has a gap" in caplog.text
    record.append(rows_of_calls(3, first=100))
    assert record.seal().gaps == ()


def test_a_chain_goes_on_over_checkpoints(record: SealedRecord):
    rows = rows_of_calls(10, writers=1)
    for begin in range(0, len(rows), 3):
        record.append(rows[begin : begin + 3])
        assert record.seal().gaps == ()


def test_without_its_state_a_sealer_signs_nothing_more(record: SealedRecord):
    record.append(rows_of_calls(3))
    kept = record.seal().note
    record.log.state_file.unlink()
    record.append(rows_of_calls(3, first=3))
    with pytest.raises(RolledBack, match="--trusted FILE"):
        record.seal()
    record.sealer().adopt(kept)
    assert record.seal().checkpoint.size > open_checkpoint(kept, [KEY.public]).size


def test_a_state_is_adopted_only_where_there_is_none_and_from_this_log(record: SealedRecord):
    record.append(rows_of_calls(3))
    sealed = record.seal()
    with pytest.raises(StateError, match="has a state already"):
        record.sealer().adopt(sealed.note)
    record.log.state_file.unlink()
    with pytest.raises(NoteError):
        record.sealer().adopt(sealed.checkpoint.sign([SigningKey.generate(ORIGIN)]))
    assert not record.log.state_file.exists()


@pytest.mark.parametrize(
    "text", ["", "no note", Checkpoint(ORIGIN, 3, bytes(32)).sign([SigningKey(ORIGIN, bytes(32))])]
)
def test_a_state_that_was_not_signed_here_stops_the_sealer(record: SealedRecord, text: str):
    record.append(rows_of_calls(3))
    record.seal()
    record.log.state_file.write_text(text)
    with pytest.raises(NoteError):
        record.seal()


def test_a_state_that_cannot_be_written_is_not_published(record: SealedRecord, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    record.append(rows_of_calls(3))
    monkeypatch.setattr("sshfacts.storage.sealer_state.write_durably", full)
    published: list[Published] = []
    with pytest.raises(StateError, match="ENOSPC"):
        Sealer(record.log, [published.append]).seal()
    assert published == []
    assert stored_notes(record) == []


def test_the_keys_belong_to_the_log(record: SealedRecord):
    record.append(rows_of_calls(3))
    KeyFile(record.log.key_file).write([KEY, SigningKey.generate("another.example/log")])
    with pytest.raises(KeyFileError, match=ORIGIN):
        record.seal()


def test_the_problem_of_the_last_pass_is_kept_for_readiness(record: SealedRecord):
    record.append(rows_of_calls(3))
    sealer = record.sealer()
    record.log.key_file.rename(record.folder / "elsewhere")
    with pytest.raises(KeyFileError):
        sealer.seal()
    assert sealer.problem is not None
    assert "no signing key" in sealer.problem
    (record.folder / "elsewhere").rename(record.log.key_file)
    sealer.seal()
    assert sealer.problem is None


def test_a_missing_tile_or_leaf_is_not_signed_over(record: SealedRecord):
    record.append(rows_of_calls(140))
    record.seal()
    record.append(rows_of_calls(3, first=140))
    with record.unguarded() as connection:
        connection.execute(sa.delete(TILE))
    with pytest.raises(RecordAltered, match="tile 0/0 of the log has 0 of 256 hashes"):
        record.seal()


async def test_a_service_seals_while_it_runs_and_once_more_at_its_end(record: SealedRecord):
    sealer = record.sealer()
    async with sealing(sealer, 0.02), open_recorder(record.url) as recorder:
        await recorder.append(intent())
        for _ in range(200):
            if stored_notes(record):
                break
            await asyncio.sleep(0.02)
        assert stored_notes(record)
    with transaction(open_for_reading(record.url)) as connection:
        assert tree_size(connection) == 3  # the last record of the chain, too
        assert open_checkpoint(str(newest_note(connection)), [KEY.public]).size == 3


async def test_a_sealer_in_trouble_is_told_once_and_recovers(record: SealedRecord, caplog):
    caplog.set_level(logging.WARNING)
    record.append(rows_of_calls(3))
    record.log.key_file.rename(record.folder / "elsewhere")
    sealer = record.sealer()
    async with sealing(sealer, 0.01):
        await asyncio.sleep(0.2)
        assert caplog.text.count("sealing fails") == 1
        (record.folder / "elsewhere").rename(record.log.key_file)
        for _ in range(200):
            if "sealing works again" in caplog.text:
                break
            await asyncio.sleep(0.01)
    assert caplog.text.count("sealing works again") == 1
    assert stored_notes(record)


async def test_what_cannot_be_sealed_at_the_end_is_told(record: SealedRecord, caplog):
    record.log.key_file.unlink()
    async with sealing(record.sealer(), 60):
        pass
    assert "the last records were not sealed" in caplog.text


def test_a_tree_is_read_from_tiles_and_leaves_alike(record: SealedRecord):
    record.append(rows_of_calls(300))
    checkpoint = record.seal().checkpoint
    with transaction(open_for_reading(record.url)) as connection:
        assert StoredTree(connection, checkpoint.size).root() == checkpoint.root
        small = StoredTree(connection, 200).root()
    assert small != checkpoint.root
