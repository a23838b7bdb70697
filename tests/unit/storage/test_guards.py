import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from sshfacts.storage import tokens
from sshfacts.storage.engine import open_for_writing, prepare, transaction
from sshfacts.storage.guards import SQLITE_GUARDS, missing_guards
from sshfacts.storage.recorder import open_recorder
from sshfacts.storage.unavailable import RecordUnavailable
from tests.support.records import intent, stored, url_of

COPY = "INTO audit_entry SELECT * FROM audit_entry WHERE seq = 1"

COPY_WITHOUT_ID = (
    "INTO audit_entry (writer_id, seq, leaf_hash, body, kind, at)"
    " SELECT writer_id, seq, leaf_hash, body, kind, at FROM audit_entry WHERE seq = 1"
)


@pytest.fixture
async def written(database: Path) -> Path:
    async with open_recorder(url_of(database)) as recorder:
        await recorder.append(intent())
    return database


@pytest.fixture
def careless(written: Path) -> Iterator[sqlite3.Connection]:
    """A connection without any of the settings that the engine makes."""
    with closing(sqlite3.connect(written, isolation_level=None)) as connection:
        yield connection


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit_entry SET host = 'other'",
        "UPDATE audit_entry SET body = '{}', leaf_hash = x'00'",
        "UPDATE OR REPLACE audit_entry SET seq = 0 WHERE seq = 1",
        "DELETE FROM audit_entry",
        "DELETE FROM audit_entry WHERE seq = 1",
        f"INSERT {COPY}",
        f"REPLACE {COPY}",
        f"INSERT OR REPLACE {COPY}",
        f"INSERT OR IGNORE {COPY}",
        f"INSERT {COPY} ON CONFLICT (id) DO UPDATE SET host = 'other'",
        f"INSERT {COPY} ON CONFLICT (writer_id, seq) DO UPDATE SET host = 'other'",
        f"REPLACE {COPY_WITHOUT_ID}",
    ],
)
def test_the_record_is_append_only(careless: sqlite3.Connection, written: Path, statement: str):
    before = stored(written)
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        careless.execute(statement)
    assert stored(written) == before


def test_a_new_row_is_no_conflict(careless: sqlite3.Connection):
    careless.execute(f"INSERT OR REPLACE {COPY_WITHOUT_ID}".replace("SELECT writer_id, seq", "SELECT writer_id, 99"))
    assert careless.execute("SELECT count(*) FROM audit_entry WHERE seq = 99").fetchone() == (1,)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE token SET revoked_at = NULL",
        "UPDATE token SET revoked_at = '2030-01-01 00:00:00.000000'",
        "UPDATE token SET caller = 'root'",
        "UPDATE token SET secret_sha256 = x'00'",
        "DELETE FROM token",
        "REPLACE INTO token SELECT id, 'root', secret_sha256, created_at, NULL FROM token",
    ],
)
def test_a_revoked_token_cannot_come_back(careless: sqlite3.Connection, written: Path, statement: str):
    engine = open_for_writing(url_of(written))
    text = tokens.add(engine, "helper")
    assert tokens.revoke(engine, text.split("_")[1])
    with pytest.raises(sqlite3.IntegrityError, match="token"):
        careless.execute(statement)
    assert tokens.find(engine, text) is None


@pytest.mark.parametrize("guard", [text.split()[2] for text in SQLITE_GUARDS])
async def test_a_database_without_a_guard_is_not_used(careless: sqlite3.Connection, written: Path, guard: str):
    careless.execute(f"DROP TRIGGER {guard}")
    with pytest.raises(RecordUnavailable, match=guard):
        prepare(open_for_writing(url_of(written)))


async def test_a_weakened_guard_is_noticed(careless: sqlite3.Connection, written: Path):
    careless.execute("DROP TRIGGER audit_entry_no_delete")
    careless.execute("CREATE TRIGGER audit_entry_no_delete BEFORE DELETE ON audit_entry BEGIN SELECT 1; END")
    with transaction(open_for_writing(url_of(written))) as connection:
        assert missing_guards(connection) == ["audit_entry_no_delete"]
