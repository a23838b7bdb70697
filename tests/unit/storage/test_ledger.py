from pathlib import Path

import pytest
import sqlalchemy as sa

from sshfacts.storage import tokens
from sshfacts.storage.engine import open_for_reading, open_for_writing, prepare
from sshfacts.storage.insertion import Insertion
from sshfacts.storage.ledger import Change, Ledger, change_once
from sshfacts.storage.tables import TOKEN
from sshfacts.storage.unavailable import RecordUnavailable
from tests.support.records import kinds, stored, url_of


@pytest.fixture
def writing(database: Path) -> sa.Engine:
    engine = open_for_writing(url_of(database))
    prepare(engine)
    return engine


def note(connection: sa.Connection, name: str) -> Change[str]:
    """A change: one row of state, and its record."""
    row = {"id": name, "caller": name, "secret_sha256": bytes(32), "created_at": sa.func.now()}
    connection.execute(sa.insert(TOKEN).values(row))
    return Change(name, [{"kind": "token", "reason": "added", "token": name}])


def state(database: Path) -> list[str]:
    return [token.id for token in tokens.all_tokens(open_for_reading(url_of(database)))]


def test_changes_of_one_ledger_are_one_chain(writing: sa.Engine, database: Path):
    ledger = Ledger(writing, {"service_version": "1"})
    assert ledger.change(lambda connection: note(connection, "a")) == "a"
    assert ledger.change(lambda connection: note(connection, "b")) == "b"
    ledger.close()
    assert kinds(database) == ["writer_start", "token", "token", "writer_stop"]
    start = stored(database)[0]
    assert start["service_version"] == "1"
    assert isinstance(start["pid"], int)
    assert state(database) == ["a", "b"]


def test_what_changes_nothing_leaves_no_record(writing: sa.Engine, database: Path):
    ledger = Ledger(writing)
    assert ledger.change(lambda _: Change("seen")) == "seen"
    ledger.close()
    assert kinds(database) == []


def test_a_change_that_fails_is_neither_in_force_nor_on_record(writing: sa.Engine, database: Path):
    def fail(connection: sa.Connection) -> Change[str]:
        note(connection, "b")
        raise LookupError

    ledger = Ledger(writing)
    ledger.change(lambda connection: note(connection, "a"))
    with pytest.raises(LookupError):
        ledger.change(fail)
    ledger.change(lambda connection: note(connection, "c"))
    assert kinds(database) == ["writer_start", "token", "token"]
    assert state(database) == ["a", "c"]


def test_without_its_record_a_change_is_not_in_force(
    writing: sa.Engine, database: Path, monkeypatch: pytest.MonkeyPatch
):
    def unwritable(*_: object) -> None:
        raise OSError(28, "no space")

    ledger = Ledger(writing)
    ledger.change(lambda connection: note(connection, "a"))
    with monkeypatch.context() as broken:
        broken.setattr(Insertion, "execute", unwritable)
        with pytest.raises(RecordUnavailable, match="ENOSPC"):
            ledger.change(lambda connection: note(connection, "b"))
    assert state(database) == ["a"]
    ledger.change(lambda connection: note(connection, "c"))
    # Nobody knew whether the chain had gone on, so the next change began another.
    assert kinds(database) == ["writer_start", "token", "writer_start", "token"]


def test_a_body_that_is_no_record_takes_its_change_back(writing: sa.Engine, database: Path):
    def wrong(connection: sa.Connection) -> Change[str]:
        note(connection, "a")
        return Change("a", [{"kind": "no such kind"}])

    with pytest.raises(ValueError, match="kind"):
        Ledger(writing).change(wrong)
    assert (state(database), kinds(database)) == ([], [])


def test_one_change_by_itself_is_a_whole_chain(writing: sa.Engine, database: Path):
    assert change_once(writing, lambda connection: note(connection, "a")) == "a"
    assert change_once(writing, lambda _: Change("seen")) == "seen"
    assert kinds(database) == ["writer_start", "token", "writer_stop"]
