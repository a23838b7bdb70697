import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from sshfacts.errors import UsageError
from sshfacts.storage.engine import open_for_reading, open_for_writing, prepare, transaction
from sshfacts.storage.unavailable import RecordUnavailable
from tests.support.records import url_of


@pytest.fixture
def prepared(database: Path) -> sa.Engine:
    engine = open_for_writing(url_of(database))
    prepare(engine)
    return engine


@pytest.mark.parametrize(
    ("pragma", "value"),
    [
        ("journal_mode", "wal"),
        ("synchronous", 2),
        ("foreign_keys", 1),
        ("recursive_triggers", 1),
        ("trusted_schema", 0),
        ("busy_timeout", 1_000),
    ],
)
def test_a_writing_connection_has_the_settings_of_a_record(prepared: sa.Engine, pragma: str, value: str | int):
    with transaction(prepared) as connection:
        assert connection.exec_driver_sql(f"PRAGMA {pragma}").scalar() == value


def test_a_writing_transaction_takes_the_lock_at_its_begin(prepared: sa.Engine, database: Path):
    locked = pytest.raises(sqlite3.OperationalError, match="locked")
    with transaction(prepared), closing(sqlite3.connect(database, timeout=0)) as other, locked:
        other.execute("BEGIN IMMEDIATE")


def test_a_reading_transaction_waits_for_nobody(prepared: sa.Engine, database: Path):
    with transaction(prepared), transaction(open_for_reading(url_of(database))) as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM audit_entry").scalar() == 0


def test_a_reading_connection_cannot_write(prepared: sa.Engine, database: Path):
    assert prepared.url.database == str(database)
    with (
        pytest.raises(RecordUnavailable, match="SQLITE_READONLY"),
        transaction(open_for_reading(url_of(database))) as connection,
    ):
        connection.exec_driver_sql("CREATE TABLE other (id INTEGER)")


def test_reading_makes_no_file(database: Path):
    with pytest.raises(RecordUnavailable, match="SQLITE_CANTOPEN"), transaction(open_for_reading(url_of(database))):
        pass
    assert not database.exists()


def test_a_new_file_is_closed_to_others(database: Path):
    before = os.umask(0o022)
    try:
        prepare(open_for_writing(url_of(database)))
    finally:
        os.umask(before)
    assert stat.S_IMODE(database.stat().st_mode) == 0o640


def test_preparing_twice_changes_nothing(prepared: sa.Engine):
    prepare(prepared)


def test_a_failed_transaction_leaves_nothing(prepared: sa.Engine):
    def fail_halfway() -> None:
        with transaction(prepared) as connection:
            connection.exec_driver_sql("CREATE TABLE half (id INTEGER)")
            connection.exec_driver_sql("SELECT no_such_column FROM token")

    with pytest.raises(RecordUnavailable):
        fail_halfway()
    with transaction(prepared) as connection:
        assert "half" not in sa.inspect(connection).get_table_names()


def test_an_error_holds_neither_sql_nor_parameters(prepared: sa.Engine):
    with pytest.raises(RecordUnavailable) as caught, transaction(prepared) as connection:
        connection.execute(sa.text("INSERT INTO token (id) VALUES (:secret)"), {"secret": "hunter2"})
    assert str(caught.value) == "the record is unavailable: SQLITE_CONSTRAINT_NOTNULL"
    assert caught.value.__suppress_context__


def test_a_file_that_was_replaced_is_not_written(prepared: sa.Engine, database: Path):
    with prepared.connect() as connection:
        database.rename(database.with_name("rotated.db"))
        prepare(open_for_writing(url_of(database)))
        with pytest.raises(sqlite3.OperationalError, match="replaced"):
            connection.begin()


@pytest.mark.parametrize(
    "url",
    [
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite:///audit.db?mode=ro",
        "sqlite:///file:audit.db?mode=rwc&uri=true",
        "sqlite+aiosqlite:///audit.db",
        "audit.db",
        "",
    ],
)
def test_a_url_that_cannot_hold_a_record_is_refused(url: str):
    with pytest.raises(UsageError):
        open_for_writing(url)


@pytest.mark.parametrize("name", ["with space.db", "percent%41.db", "hash#.db", "größe.db"])
def test_any_file_name_is_taken_as_it_is(tmp_path: Path, name: str):
    prepare(open_for_writing(url_of(tmp_path / name)))
    assert (tmp_path / name).stat().st_size > 0


def test_a_relative_path_is_the_one_at_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    engine = open_for_writing("sqlite:///audit.db")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    prepare(engine)
    assert (tmp_path / "audit.db").is_file()
