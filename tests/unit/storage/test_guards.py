import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from sshfacts.storage import tokens
from sshfacts.storage.engine import open_for_writing, prepare, transaction
from sshfacts.storage.guards import SQLITE_GUARDS, foreign_triggers, missing_guards
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
        "UPDATE token SET person = 'root', caller = NULL",
        "UPDATE token SET secret_sha256 = x'00'",
        "DELETE FROM token",
        "REPLACE INTO token SELECT id, 'root', NULL, secret_sha256, created_at, NULL FROM token",
    ],
)
def test_a_revoked_token_cannot_come_back(careless: sqlite3.Connection, written: Path, statement: str):
    engine = open_for_writing(url_of(written))
    text = tokens.add(engine, "helper")
    assert tokens.revoke(engine, text.split("_")[1])
    with pytest.raises(sqlite3.IntegrityError, match="token"):
        careless.execute(statement)
    assert tokens.find(engine, text) is None


APPROVAL = {
    "id": "'apr.first000'",
    "binding": "'0'",
    "state": "'asked'",
    "caller": "'helper'",
    "operation": "'service_restart'",
    "host": "'web-1'",
    "arguments": "'{}'",
    "command": "'true'",
    "effect": "'change'",
    "catalogue_digest": "'0'",
    "operation_digest": "'0'",
    "request_id": "'req.asked000'",
    "asked_at": "'2026-11-30 10:00:00.000000'",
    "expires_at": "'2026-11-30 11:00:00.000000'",
}


def approval_row(verb: str = "INSERT", **changes: str) -> str:
    row = {**APPROVAL, **changes}
    return f"{verb} INTO approval ({', '.join(row)}) VALUES ({', '.join(row.values())})"


@pytest.mark.parametrize(
    "statements",
    [
        ["DELETE FROM approval"],
        [approval_row("REPLACE", state="'asked'", host="'web-2'")],
        [approval_row("REPLACE", id="'apr.second00'")],
        [approval_row(id="'apr.second00'", binding="'1'", state="'granted'")],
        ["UPDATE approval SET state = 'consumed'"],
        ['UPDATE approval SET arguments = \'{"unit":"sshd.service"}\''],
        ["UPDATE approval SET host = 'web-2', state = 'granted'"],
        ["UPDATE approval SET caller = 'other'"],
        ["UPDATE approval SET catalogue_digest = '1'"],
        ["UPDATE approval SET expires_at = '2030-01-01 00:00:00.000000'"],
        ["UPDATE approval SET state = 'refused'", "UPDATE approval SET state = 'granted'"],
        ["UPDATE approval SET state = 'expired'", "UPDATE approval SET state = 'asked'"],
        [
            "UPDATE approval SET state = 'granted'",
            "UPDATE approval SET state = 'consumed'",
            "UPDATE approval SET state = 'granted'",
        ],
    ],
    ids=lambda statements: statements[-1],
)
def test_an_approval_neither_changes_nor_goes_back(careless: sqlite3.Connection, statements: list[str]):
    careless.execute(approval_row())
    for statement in statements[:-1]:
        careless.execute(statement)
    before = careless.execute("SELECT * FROM approval").fetchall()
    with pytest.raises(sqlite3.IntegrityError, match="approval"):
        careless.execute(statements[-1])
    assert careless.execute("SELECT * FROM approval").fetchall() == before


PAUSE = (
    "INTO pause (id, reason, paused_by, paused_at) VALUES ('pau.1', 'incident', 'olga', '2026-11-30 10:00:00.000000')"
)
RESUME = "UPDATE pause SET resumed_by = 'olga', resumed_at = '2026-11-30 11:00:00.000000'"


@pytest.mark.parametrize(
    "statements",
    [
        ["DELETE FROM pause"],
        [f"REPLACE {PAUSE}"],
        ["UPDATE pause SET caller = 'nobody'"],
        [RESUME, "UPDATE pause SET resumed_at = NULL"],
        [RESUME, RESUME],
    ],
    ids=lambda statements: statements[-1],
)
def test_a_pause_is_ended_once_and_never_changed(careless: sqlite3.Connection, statements: list[str]):
    careless.execute(f"INSERT {PAUSE}")
    for statement in statements[:-1]:
        careless.execute(statement)
    with pytest.raises(sqlite3.IntegrityError, match="pause"):
        careless.execute(statements[-1])


TREE = (
    "INSERT INTO audit_leaf SELECT 0, id, leaf_hash FROM audit_entry WHERE kind = 'intent'",
    "INSERT INTO audit_tile VALUES (0, 0, x'00')",
    "INSERT INTO audit_checkpoint VALUES (1, x'00', 'note', '2026-11-30 10:00:00.000000')",
    "INSERT INTO audit_raw VALUES ('old', 'r', 'stdout', '2026-11-30 10:00:00.000000', 'key', x'00', x'00', x'00')",
    "INSERT INTO audit_raw VALUES ('new', 'r', 'stdout', '9999-11-30 10:00:00.000000', 'key', x'00', x'00', x'00')",
)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit_leaf SET leaf_hash = x'01'",
        "DELETE FROM audit_leaf",
        "REPLACE INTO audit_leaf SELECT 0, id, x'01' FROM audit_entry WHERE kind = 'writer_start'",
        "REPLACE INTO audit_leaf SELECT 1, entry_id, x'01' FROM audit_leaf",
        "UPDATE audit_tile SET hashes = x'01'",
        "DELETE FROM audit_tile",
        "REPLACE INTO audit_tile VALUES (0, 0, x'01')",
        "UPDATE audit_checkpoint SET note = 'other'",
        "DELETE FROM audit_checkpoint",
        "REPLACE INTO audit_checkpoint SELECT tree_size, root_hash, 'other', at FROM audit_checkpoint",
        "DELETE FROM audit_raw WHERE blob_id = 'new'",
        "DELETE FROM audit_raw",
        "UPDATE audit_raw SET retain_until = '2026-11-30 10:00:00.000000'",
        "UPDATE audit_raw SET ciphertext = x'01', kek_id = 'other'",
        "REPLACE INTO audit_raw SELECT blob_id, 'other', stream, retain_until, kek_id, x'', x'', x'' FROM audit_raw",
    ],
)
def test_the_tree_only_grows_and_raw_copies_stay_for_their_time(careless: sqlite3.Connection, statement: str):
    for row in TREE:
        careless.execute(row)
    tables = ("audit_leaf", "audit_tile", "audit_checkpoint", "audit_raw")
    before = [careless.execute(f"SELECT * FROM {table}").fetchall() for table in tables]  # noqa: S608 - names of ours
    with pytest.raises(sqlite3.IntegrityError):
        careless.execute(statement)
    assert [careless.execute(f"SELECT * FROM {table}").fetchall() for table in tables] == before  # noqa: S608 - as above


def test_a_raw_copy_goes_when_its_time_is_over_and_its_key_can_be_wrapped_anew(careless: sqlite3.Connection):
    for row in TREE:
        careless.execute(row)
    careless.execute("DELETE FROM audit_raw WHERE blob_id = 'old'")
    careless.execute("UPDATE audit_raw SET kek_id = 'other', wrapped_dek = x'01'")
    assert careless.execute("SELECT blob_id, kek_id FROM audit_raw").fetchall() == [("new", "other")]


def test_what_is_no_guard_is_noticed(careless: sqlite3.Connection, written: Path):
    careless.execute("CREATE TRIGGER mine BEFORE INSERT ON audit_entry BEGIN SELECT RAISE(IGNORE); END")
    with transaction(open_for_writing(url_of(written))) as connection:
        assert foreign_triggers(connection) == ["mine"]


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
