"""What the database refuses: to each role by its rights, and to the owner and a superuser by triggers."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from sshfacts.storage import tokens
from sshfacts.storage.engine import open_for_writing, transaction
from sshfacts.storage.guards import foreign_triggers, guarded_tables, missing_guards
from sshfacts.storage.guards_postgresql import FUNCTIONS, TRIGGERS
from sshfacts.storage.recorder import open_recorder
from sshfacts.storage.tables import METADATA
from tests.support.postgresql import PASSWORD, Connection, Database, needs_postgresql
from tests.support.records import intent

pytestmark = needs_postgresql

APPEND_ONLY = ("audit_entry", "audit_leaf", "audit_tile", "audit_checkpoint")
SERVICE, SEALER, PURGER, READER, AUDITOR = (
    f"facts_{name}" for name in ("service", "sealer", "purger", "raw_reader", "auditor")
)
DENIED = psycopg.errors.InsufficientPrivilege

ROWS = """
    INSERT INTO audit_leaf SELECT 0, id, leaf_hash FROM audit_entry WHERE kind = 'intent';
    INSERT INTO audit_tile VALUES (0, 0, 'hashes');
    INSERT INTO audit_checkpoint VALUES (1, 'root', 'note', now());
    INSERT INTO audit_raw VALUES
        ('old', 'req.1', 'stdout', now() - interval '1 day', 'raw-2026-11', 'dek', 'nonce', 'cipher'),
        ('new', 'req.1', 'stderr', now() + interval '1 day', 'raw-2026-11', 'dek', 'nonce', 'cipher');
    INSERT INTO approval VALUES ('a', 'b', 'asked', 'helper', NULL, 'disk', 'web-1', '{}', 'cmd', 'change', 'c', 'o',
                                 'req.1', now(), now());
    INSERT INTO pause VALUES ('p', NULL, 'web-1', NULL, 'because', 'anna', now());
"""


@pytest.fixture
async def filled(postgresql: Database) -> Database:
    """A database with a row in each table."""
    async with open_recorder(postgresql.url()) as recorder:
        await recorder.append(intent())
    tokens.add(open_for_writing(postgresql.url()), "helper")
    postgresql.execute(ROWS)
    return postgresql


@contextmanager
def login(database: Database, name: str) -> Iterator[Connection]:
    """Give a connection of one of the logins, which commits each statement."""
    with psycopg.connect(
        host="127.0.0.1",
        port=database.cluster.port,
        user=name,
        password=PASSWORD,
        dbname=database.name,
        autocommit=True,
    ) as connection:
        yield connection


def content(database: Database) -> list[object]:
    return [
        database.scalar(f"SELECT array_agg(t::text ORDER BY t::text) FROM {table} AS t")  # noqa: S608 - names of ours
        for table in sorted(METADATA.tables)
    ]


COPY = "INSERT INTO audit_entry OVERRIDING SYSTEM VALUE SELECT * FROM audit_entry WHERE kind = 'intent'"
GRANTED_AT_ONCE = """
    INSERT INTO approval SELECT 'other', 'other', 'granted', caller, principal, operation, host, arguments, command,
                                effect, catalogue_digest, operation_digest, request_id, asked_at, expires_at
    FROM approval
"""
CHANGES = [
    "UPDATE audit_entry SET host = 'other'",
    "UPDATE audit_entry SET body = '{}', leaf_hash = ''",
    "UPDATE audit_entry SET host = 'other' WHERE false",
    "DELETE FROM audit_entry",
    "DELETE FROM audit_entry WHERE false",
    "TRUNCATE audit_entry CASCADE",
    f"{COPY} ON CONFLICT (id) DO UPDATE SET host = 'other'",
    f"{COPY} ON CONFLICT (writer_id, seq) DO UPDATE SET host = 'other'",
    "MERGE INTO audit_entry AS t USING (VALUES (1)) AS s (seq) ON t.seq = s.seq WHEN MATCHED THEN DELETE",
    "WITH gone AS (DELETE FROM audit_entry RETURNING *) SELECT count(*) FROM gone",
    *(f"{change} {table}" for table in APPEND_ONLY[1:] for change in ("DELETE FROM", "TRUNCATE")),
    "UPDATE audit_leaf SET leaf_index = 7",
    "UPDATE audit_tile SET hashes = ''",
    "UPDATE audit_checkpoint SET root_hash = ''",
    "DELETE FROM audit_raw WHERE blob_id = 'new'",
    "UPDATE audit_raw SET retain_until = now() WHERE blob_id = 'new'",
    "UPDATE audit_raw SET ciphertext = 'other'",
    "UPDATE audit_raw SET nonce = 'other', kek_id = 'other'",
    "TRUNCATE audit_raw",
    "DELETE FROM token",
    "TRUNCATE token",
    "UPDATE token SET caller = 'root'",
    "UPDATE token SET secret_sha256 = ''",
    "DELETE FROM approval",
    "TRUNCATE approval",
    "UPDATE approval SET command = 'rm'",
    "UPDATE approval SET state = 'consumed'",
    GRANTED_AT_ONCE,
    "DELETE FROM pause",
    "TRUNCATE pause",
    "UPDATE pause SET host = NULL",
]


@pytest.mark.parametrize("mode", ["origin", "replica"])
async def test_not_even_a_superuser_changes_what_is_written(filled: Database, mode: str):
    """Guards are ENABLE ALWAYS: a session that plays a replica skips ordinary triggers, and not these."""
    before = content(filled)
    with filled.connection() as connection:
        connection.execute(f"SET session_replication_role = {mode}")
        for change in CHANGES:
            # A superuser ends a statement at the guard, and nowhere earlier.
            with pytest.raises(psycopg.errors.InsufficientPrivilege) as caught:
                connection.execute(change.encode())
            assert caught.value.diag.context is not None, change
            assert "sshfacts_refuse" in caught.value.diag.context, change
    assert content(filled) == before


async def test_what_may_change_changes_step_by_step_and_never_back(filled: Database):
    steps = [
        "DELETE FROM audit_raw WHERE blob_id = 'old'",
        "UPDATE audit_raw SET kek_id = 'raw-2026-12', wrapped_dek = 'anew'",
        "UPDATE token SET revoked_at = now()",
        "UPDATE approval SET state = 'granted', approver = 'anna', decided_at = now()",
        "UPDATE approval SET state = 'consumed', consumed_by = 'req.2'",
        "UPDATE pause SET resumed_at = now(), resumed_by = 'anna'",
    ]
    back = [
        "UPDATE token SET revoked_at = NULL",
        "UPDATE token SET revoked_at = now()",
        "UPDATE approval SET state = 'asked'",
        "UPDATE approval SET state = 'consumed', consumed_by = 'req.3'",
        "UPDATE pause SET resumed_at = NULL, resumed_by = NULL",
    ]
    filled.execute(*steps)
    for change in back:
        with pytest.raises(DENIED):
            filled.execute(change)


@pytest.mark.parametrize("name", [SERVICE, SEALER, PURGER, READER, AUDITOR])
async def test_no_login_changes_what_is_written(filled: Database, name: str):
    before = content(filled)
    with login(filled, name) as connection:
        for change in CHANGES:
            with pytest.raises(DENIED):
                connection.execute(change.encode())
    assert content(filled) == before


BEYOND = [
    "DROP TABLE audit_entry",
    "ALTER TABLE audit_entry DISABLE TRIGGER ALL",
    "ALTER TABLE audit_entry SET UNLOGGED",
    "DROP TRIGGER audit_entry_no_change ON audit_entry",
    "CREATE TRIGGER mine BEFORE INSERT ON audit_entry FOR EACH ROW EXECUTE FUNCTION sshfacts_refuse()",
    "CREATE RULE mine AS ON INSERT TO audit_entry DO INSTEAD NOTHING",
    "CREATE OR REPLACE FUNCTION sshfacts_refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
    "CREATE TABLE mine (id int)",
    "CREATE SCHEMA mine",
    "CREATE TEMPORARY TABLE audit_entry (id int)",
    "SET session_replication_role = replica",
    "SELECT setval(pg_get_serial_sequence('audit_entry', 'id'), 1)",
    "SET ROLE sshfacts_owner",
    "SELECT pg_read_file('postgresql.conf')",
    "COPY alembic_version TO PROGRAM 'true'",
    "COPY alembic_version TO '/nowhere'",
    "UPDATE alembic_version SET version_num = '0'",
    "ALTER SYSTEM SET fsync = off",
]


@pytest.mark.parametrize("name", [SERVICE, SEALER, PURGER, READER, AUDITOR])
async def test_no_login_gets_round_the_guards(filled: Database, name: str):
    with login(filled, name) as connection:
        for attempt in BEYOND:
            with pytest.raises((DENIED, psycopg.errors.ObjectNotInPrerequisiteState)) as caught:
                connection.execute(attempt.encode())
            assert caught.value.sqlstate == "42501", attempt


NEW_ENTRY = (
    "INSERT INTO audit_entry (writer_id, seq, leaf_hash, body, kind, at) VALUES ('w', 0, '', '{}', 'alarm', now())"
)
NEW_RAW = "INSERT INTO audit_raw VALUES ('b', 'r', 'stdout', now(), 'k', '', '', '')"
NEW_CHECKPOINT = "INSERT INTO audit_checkpoint VALUES (2, '', '', now())"
NEW_LEAF = "INSERT INTO audit_leaf SELECT 1, id, leaf_hash FROM audit_entry WHERE kind = 'token'"
NEW_TOKEN = "INSERT INTO token VALUES ('t', 'helper', NULL, '', now())"  # noqa: S105 - SQL, no secret
READ_BODY = "SELECT body FROM audit_entry"
READ_RAW = "SELECT ciphertext FROM audit_raw"
READ_KEY = "SELECT wrapped_dek FROM audit_raw"
READ_HASH = "SELECT secret_sha256 FROM token"
READ_LIST = "SELECT request_id, caller, command, code FROM audit_entry"
PURGE = "DELETE FROM audit_raw WHERE blob_id = 'old'"
REWRAP = "UPDATE audit_raw SET kek_id = 'other', wrapped_dek = 'other' WHERE blob_id = 'old'"
REVOKE = "UPDATE token SET revoked_at = now()"
FIND_OWN = "SELECT max(seq) FROM audit_entry WHERE writer_id = 'w'"
RIGHTS = {
    SERVICE: {NEW_ENTRY, NEW_RAW, NEW_TOKEN, READ_HASH, REVOKE, FIND_OWN},
    SEALER: {NEW_CHECKPOINT, NEW_LEAF, READ_BODY, READ_LIST, FIND_OWN},
    PURGER: {NEW_ENTRY, READ_KEY, PURGE, REWRAP, FIND_OWN},
    READER: {NEW_ENTRY, READ_RAW, READ_KEY, READ_BODY, READ_LIST, READ_HASH, FIND_OWN},
    AUDITOR: {READ_BODY, READ_LIST, FIND_OWN},
}
EVERYTHING = sorted(set().union(*RIGHTS.values()))


@pytest.mark.parametrize("name", RIGHTS)
async def test_each_role_may_do_its_work_and_nothing_else(filled: Database, name: str):
    allowed = set()
    with login(filled, name) as connection:
        for statement in EVERYTHING:
            try:
                with connection.transaction(force_rollback=True):
                    connection.execute(statement.encode())
                allowed.add(statement)
            except DENIED:
                continue
    assert allowed == RIGHTS[name]


def test_everybody_else_cannot_even_come_in(postgresql: Database):
    with postgresql.connection() as connection:
        connection.execute("DROP ROLE IF EXISTS stranger")
        connection.execute(
            psycopg.sql.SQL("CREATE ROLE stranger LOGIN PASSWORD {}").format(psycopg.sql.Literal(PASSWORD))
        )
    with pytest.raises(psycopg.OperationalError, match="permission denied for database"), login(postgresql, "stranger"):
        pass


def test_every_table_is_guarded():
    assert guarded_tables() == sorted(METADATA.tables)
    assert {trigger.function for trigger in TRIGGERS} == {function.name for function in FUNCTIONS}


WEAKENED = [
    ("DROP TRIGGER audit_entry_no_change ON audit_entry", ["audit_entry_no_change"]),
    ("ALTER TABLE audit_leaf DISABLE TRIGGER audit_leaf_no_change", ["audit_leaf_no_change"]),
    ("ALTER TABLE audit_tile ENABLE TRIGGER audit_tile_no_change", ["audit_tile_no_change"]),
    ("ALTER TABLE audit_tile ENABLE REPLICA TRIGGER audit_tile_no_change", ["audit_tile_no_change"]),
    (
        """CREATE OR REPLACE TRIGGER token_no_delete BEFORE DELETE ON token FOR EACH STATEMENT
           EXECUTE FUNCTION sshfacts_refuse('a token is revoked, never deleted')""",
        ["token_no_delete"],
    ),
    (
        """CREATE OR REPLACE TRIGGER pause_no_return BEFORE UPDATE ON pause FOR EACH ROW WHEN (false)
           EXECUTE FUNCTION sshfacts_refuse_return('a pause that ended has ended', 'resumed_at')""",
        ["pause_no_return"],
    ),
    (
        """CREATE OR REPLACE FUNCTION sshfacts_refuse_early() RETURNS trigger LANGUAGE plpgsql
           SET search_path = pg_catalog AS 'BEGIN RETURN OLD; END'""",
        ["audit_raw_no_early_delete"],
    ),
    ("ALTER FUNCTION sshfacts_refuse_early() RESET search_path", ["audit_raw_no_early_delete"]),
]


@pytest.mark.parametrize(("statement", "missing"), WEAKENED)
def test_a_weakened_guard_is_noticed(postgresql: Database, statement: str, missing: list[str]):
    engine = open_for_writing(postgresql.url())
    with transaction(engine) as connection:
        assert missing_guards(connection) == []
    postgresql.execute(statement)
    with transaction(engine) as connection:
        assert missing_guards(connection) == missing


@pytest.mark.parametrize(
    "statement",
    [
        """CREATE TRIGGER mine BEFORE INSERT ON audit_entry FOR EACH ROW
           EXECUTE FUNCTION suppress_redundant_updates_trigger()""",
        "CREATE RULE mine AS ON INSERT TO audit_entry DO INSTEAD NOTHING",
    ],
)
def test_what_is_no_guard_is_noticed(postgresql: Database, statement: str):
    postgresql.execute(statement)
    with transaction(open_for_writing(postgresql.url())) as connection:
        assert foreign_triggers(connection) == ["mine"]
