import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from sshfacts.storage.doctor import Effect, defects_of
from sshfacts.storage.engine import open_for_reading, open_for_writing, prepare, transaction
from sshfacts.storage.examination import examine
from sshfacts.storage.unavailable import RecordUnavailable
from tests.support.records import url_of


@pytest.fixture
def engine(database: Path) -> sa.Engine:
    """A reading engine on a database that is as it must be."""
    prepare(open_for_writing(url_of(database)))
    return open_for_reading(url_of(database))


def spoil(database: Path, *statements: str) -> None:
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def test_a_database_as_it_must_be_has_no_defects(engine: sa.Engine):
    assert examine(engine, keep_free=1) == []


@pytest.mark.parametrize(
    ("statement", "name", "what"),
    [
        ("DROP TRIGGER audit_tile_no_update", "guards", "audit_tile_no_update"),
        (
            "CREATE TRIGGER swallow BEFORE INSERT ON audit_entry BEGIN SELECT RAISE(IGNORE); END",
            "foreign_triggers",
            "swallow",
        ),
        ("UPDATE alembic_version SET version_num = '0000'", "revision", "has revision 0000"),
        ("DELETE FROM alembic_version", "revision", "has no tables of sshfacts"),
    ],
)
def test_each_defect_is_named(engine: sa.Engine, database: Path, statement: str, name: str, what: str):
    spoil(database, statement)
    [defect] = examine(engine, keep_free=1)
    assert (defect.name, defect.effect) == (name, Effect.STOPS)
    assert what in defect.what
    assert defect.fix


@pytest.mark.parametrize(
    ("pragma", "value"), [("journal_mode", "DELETE"), ("synchronous", "NORMAL"), ("synchronous", "OFF")]
)
def test_settings_that_give_up_durability(database: Path, engine: sa.Engine, pragma: str, value: str):
    assert engine.url.database == str(database)
    with closing(sqlite3.connect(database)) as raw:
        raw.execute(f"PRAGMA {pragma} = {value}")
        careless = sa.create_engine("sqlite://", creator=lambda: raw, poolclass=sa.pool.StaticPool)
        with careless.connect() as connection:
            names = {defect.name for defect in defects_of(connection)}
        # A plain connection of SQLite is durable by default, and only what was set is a defect.
        assert names == {pragma}
        careless.dispose()


def test_a_database_of_another_encoding(database: Path):
    spoil(database, "PRAGMA encoding = 'UTF-16'", "CREATE TABLE alembic_version (version_num TEXT)")
    with transaction(open_for_writing(url_of(database))) as connection:
        assert "encoding" in {defect.name for defect in defects_of(connection)}


def test_a_disk_that_is_nearly_full_pauses_the_service_and_does_not_stop_it(engine: sa.Engine):
    [defect] = examine(engine, keep_free=2**62)
    assert (defect.name, defect.effect) == ("disk", Effect.PAUSES)
    prepare(open_for_writing(str(engine.url)))


@pytest.mark.parametrize(
    ("mode", "defects"), [(0o600, []), (0o640, []), (0o644, ["file_mode"]), (0o660, ["file_mode"])]
)
def test_a_file_that_others_may_open(engine: sa.Engine, database: Path, mode: int, defects: list[str]):
    database.chmod(mode)
    assert [defect.name for defect in examine(engine, keep_free=1)] == defects


def test_the_worst_stands_first(engine: sa.Engine, database: Path):
    spoil(database, "DROP TRIGGER audit_tile_no_update")
    assert [defect.effect for defect in examine(engine, keep_free=2**62)] == [Effect.STOPS, Effect.PAUSES]


def test_a_database_that_is_not_there_cannot_be_examined(database: Path):
    with pytest.raises(RecordUnavailable):
        examine(open_for_reading(url_of(database)))
