"""Migrations and roles on PostgreSQL: who makes the tables, and that nothing is lost or open while they change."""

import threading
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

from sshfacts.errors import UsageError
from sshfacts.storage.engine import open_for_writing, prepare, transaction, upgrade
from sshfacts.storage.guards import missing_guards
from sshfacts.storage.migration import script
from sshfacts.storage.migration import upgrade as migrate
from sshfacts.storage.recorder import open_recorder
from sshfacts.storage.revision import HEAD, revision
from sshfacts.storage.tables import METADATA
from sshfacts.storage.unavailable import RecordUnavailable
from sshfacts.storage.upkeep import open_upkeep
from tests.support.migrations import FAILING, NEXT, with_next
from tests.support.postgresql import PASSWORD, Cluster, Database, needs_postgresql
from tests.support.records import intent

pytestmark = needs_postgresql

SCHEMA = """
    SELECT 'column ' || table_name || '.' || column_name, data_type || is_nullable || is_identity ||
           coalesce(identity_generation, '') || coalesce(column_default, '') || ordinal_position
    FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
    WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND table_name <> 'alembic_version'
    UNION ALL
    SELECT 'index ' || indexname, indexdef FROM pg_indexes
    WHERE schemaname = 'public' AND tablename <> 'alembic_version'
    UNION ALL
    SELECT 'constraint ' || conname, pg_get_constraintdef(oid) FROM pg_constraint
    WHERE connamespace = 'public'::regnamespace AND conrelid <> coalesce(to_regclass('alembic_version'), 0)
"""
GUARDS = "SELECT tgname, pg_get_triggerdef(oid) || tgenabled::text FROM pg_trigger WHERE NOT tgisinternal"
RIGHTS = """
    SELECT c.relname || '.' || coalesce(a.attname, '*'), coalesce(a.attacl, c.relacl)::text || c.relowner::regrole
    FROM pg_class AS c LEFT JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attacl IS NOT NULL
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
"""


@pytest.fixture
def empty(cluster: Cluster) -> Database:
    """A database with nothing in it but the rights of the roles."""
    return cluster.new_database("template0")


def found(database: Database, query: str) -> dict[object, object]:
    with database.connection() as connection:
        return dict(connection.execute(query.encode()).fetchall())


def test_the_migrations_make_what_the_tables_say(postgresql: Database, empty: Database):
    with open_for_writing(empty.superuser_url).begin() as connection:
        METADATA.create_all(connection)
    assert found(postgresql, SCHEMA) == found(empty, SCHEMA) != {}


def test_the_statements_can_be_read_and_run_by_hand(postgresql: Database, empty: Database):
    with psycopg.connect(
        host="127.0.0.1", port=empty.cluster.port, user="facts_migration", password=PASSWORD, dbname=empty.name
    ) as connection:
        connection.execute(script("postgresql").encode())
    for query in (SCHEMA, GUARDS, RIGHTS):
        assert found(empty, query) == found(postgresql, query) != {}
    prepare(open_for_writing(empty.url()))


def test_every_table_belongs_to_the_role_that_nobody_logs_in_as(postgresql: Database):
    query = "SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'public'"
    assert postgresql.scalar(query) == "sshfacts_owner"


def test_a_service_does_not_make_or_change_tables(empty: Database):
    with pytest.raises(RecordUnavailable, match="has no tables of sshfacts"):
        prepare(open_for_writing(empty.url()))
    assert found(empty, SCHEMA) == {}
    with pytest.raises(UsageError, match="no member of sshfacts_owner"):
        upgrade(open_for_writing(empty.url()))


def test_a_service_does_not_start_on_another_revision(postgresql: Database, tmp_path: Path):
    with transaction(open_for_writing(postgresql.url("facts_migration"))) as connection:
        migrate(connection, with_next(tmp_path))
    engine = open_for_writing(postgresql.url())
    with pytest.raises(RecordUnavailable, match=f"has revision {NEXT}, and this version needs revision {HEAD}"):
        prepare(engine)
    with pytest.raises(RecordUnavailable, match="does not know"):
        upgrade(open_for_writing(postgresql.url("facts_migration")))


def test_without_its_roles_a_database_is_not_made(empty: Database, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sshfacts.storage.migration.ROLES", ("service", "no_such_role"))
    with pytest.raises(UsageError, match="sshfacts_no_such_role do not exist"):
        upgrade(open_for_writing(empty.url("facts_migration")))


def test_a_database_that_is_used_for_something_else_is_left_alone(empty: Database):
    empty.execute("CREATE TABLE other (id int)")
    with pytest.raises(RecordUnavailable, match="holds 1 tables, and none of sshfacts"):
        upgrade(open_for_writing(empty.url("facts_migration")))


async def test_rows_views_guards_and_rights_outlive_an_upgrade_under_a_running_service(
    postgresql: Database, tmp_path: Path
):
    postgresql.execute("CREATE VIEW seen AS SELECT request_id, host FROM audit_entry")
    async with open_recorder(postgresql.url()) as recorder, open_upkeep(recorder) as upkeep:
        await recorder.append(intent("req.before"))
        before = postgresql.stored()
        with transaction(open_for_writing(postgresql.url("facts_migration"))) as connection:
            migrate(connection, with_next(tmp_path))
            assert revision(connection) == NEXT
        await recorder.append(intent("req.afterwards"))
        await upkeep.round()
        assert [defect.name for defect in upkeep.defects] == ["revision"]
        assert upkeep.ready, "a service that runs goes on; one that starts would not"
    after = postgresql.stored()
    assert after[: len(before)] == before
    assert [body["request_id"] for body in after if body["kind"] == "intent"] == ["req.before", "req.afterwards"]
    assert postgresql.scalar("SELECT count(*) FROM seen") == len(after)
    with transaction(open_for_writing(postgresql.url())) as connection:
        assert missing_guards(connection) == []
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        postgresql.execute("DELETE FROM audit_entry")


def test_a_migration_that_fails_leaves_nothing_of_itself(postgresql: Database, tmp_path: Path):
    before = found(postgresql, SCHEMA)
    with (
        pytest.raises(ZeroDivisionError),
        transaction(open_for_writing(postgresql.url("facts_migration"))) as connection,
    ):
        migrate(connection, with_next(tmp_path, FAILING))
    assert found(postgresql, SCHEMA) == before
    prepare(open_for_writing(postgresql.url()))


def test_upgrades_that_start_at_once_wait_for_each_other(empty: Database):
    faults: list[Exception] = []
    url = empty.url("facts_migration")

    def run() -> None:
        try:
            upgrade(open_for_writing(url))
        except (RecordUnavailable, UsageError, sa.exc.SQLAlchemyError) as error:
            faults.append(error)

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    prepare(open_for_writing(empty.url()))


def test_an_upgrade_takes_back_what_was_granted_by_hand_and_puts_guards_back(postgresql: Database):
    before = found(postgresql, RIGHTS)
    postgresql.execute(
        "GRANT UPDATE, SELECT ON audit_entry TO sshfacts_service",
        "GRANT SELECT (body) ON audit_entry TO sshfacts_service",
        "REVOKE SELECT ON audit_entry FROM sshfacts_auditor",
        "DROP TRIGGER audit_entry_no_change ON audit_entry",
    )
    upgrade(open_for_writing(postgresql.url("facts_migration")))
    assert found(postgresql, RIGHTS) == before
    prepare(open_for_writing(postgresql.url()))
