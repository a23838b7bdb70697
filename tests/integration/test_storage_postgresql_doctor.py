"""What the doctor finds on PostgreSQL: nothing where all is well, and each defect by its name."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from sshfacts.storage.doctor import Effect
from sshfacts.storage.engine import open_for_reading, open_for_writing, prepare
from sshfacts.storage.examination import examine
from sshfacts.storage.unavailable import RecordUnavailable
from tests.support.postgresql import LOGINS, Connection, Database, needs_postgresql

pytestmark = needs_postgresql


def defects(database: Database, login: str = "facts_service") -> list[tuple[str, str]]:
    return [
        (one.name, one.what) for one in examine(open_for_reading(database.url(login))) if one.effect is Effect.STOPS
    ]


@pytest.mark.parametrize("login", [login for login in LOGINS if login != "facts_migration"])
def test_a_login_with_one_role_on_a_database_as_it_must_be(postgresql: Database, login: str):
    assert examine(open_for_reading(postgresql.url(login))) == []


@pytest.mark.parametrize(
    ("statement", "name", "what"),
    [
        ("DROP TRIGGER audit_entry_no_change ON audit_entry", "guards", "audit_entry_no_change"),
        ("ALTER TABLE token ENABLE TRIGGER token_no_change", "guards", "token_no_change"),
        ("CREATE RULE mine AS ON INSERT TO audit_entry DO INSTEAD NOTHING", "foreign_triggers", "mine"),
        ("GRANT UPDATE (host) ON audit_entry TO sshfacts_service", "login", "may UPDATE audit_entry"),
        ("GRANT DELETE ON audit_leaf TO sshfacts_service", "login", "may DELETE audit_leaf"),
        ("GRANT TRUNCATE, TRIGGER ON token TO sshfacts_service", "login", "may TRUNCATE, TRIGGER token"),
        ("ALTER TABLE audit_entry ENABLE ROW LEVEL SECURITY", "row_security", "hides rows of audit_entry"),
        ("ALTER TABLE audit_tile SET UNLOGGED", "unlogged", "audit_tile is lost in a crash"),
        ("ALTER TABLE audit_raw OWNER TO sshfacts_service", "login", "owns audit_raw"),
        ("UPDATE alembic_version SET version_num = '0000'", "revision", "has revision 0000"),
        ("ALTER ROLE facts_service IN DATABASE {name} SET synchronous_commit = off", "synchronous_commit", "is off"),
    ],
)
def test_each_defect_is_named_and_stops_a_service(postgresql: Database, statement: str, name: str, what: str):
    postgresql.execute(statement.format(name=postgresql.name))
    assert [found for found, text in defects(postgresql) if what in text] == [name]
    with pytest.raises(RecordUnavailable, match=what):
        prepare(open_for_writing(postgresql.url()))


@contextmanager
def role_with(database: Database, grant: str, revoke: str) -> Iterator[None]:
    """Change the service's login, which all databases of the server share, for a while."""
    database.execute(grant)
    try:
        yield
    finally:
        database.execute(revoke)


@pytest.mark.parametrize(
    ("grant", "revoke", "what"),
    [
        ("ALTER ROLE facts_service SUPERUSER", "ALTER ROLE facts_service NOSUPERUSER", "is a superuser"),
        ("ALTER ROLE facts_service BYPASSRLS", "ALTER ROLE facts_service NOBYPASSRLS", "has BYPASSRLS"),
        ("GRANT sshfacts_owner TO facts_service", "REVOKE sshfacts_owner FROM facts_service", "owns audit_entry"),
        (
            "GRANT pg_write_all_data TO facts_service",
            "REVOKE pg_write_all_data FROM facts_service",
            "may UPDATE, DELETE",
        ),
        (
            "GRANT pg_execute_server_program TO facts_service",
            "REVOKE pg_execute_server_program FROM facts_service",
            "can write the server's files",
        ),
    ],
)
def test_a_login_with_more_than_its_role_stops_a_service(postgresql: Database, grant: str, revoke: str, what: str):
    with role_with(postgresql, grant, revoke):
        found = defects(postgresql)
        assert found
        assert {name for name, _ in found} == {"login"}
        assert any(what in text for _, text in found)
        with pytest.raises(RecordUnavailable, match=what):
            prepare(open_for_writing(postgresql.url()))
    assert defects(postgresql) == []


def wait_for(connection: Connection, setting: str, value: str) -> None:
    """Wait until the server has read its configuration anew."""
    while connection.execute("SELECT current_setting(%s)", [setting]).fetchone() != (value,):
        connection.execute("SELECT pg_sleep(0.01)")


@pytest.mark.parametrize("setting", ["fsync", "full_page_writes"])
def test_a_server_that_gives_up_durability_stops_a_service(postgresql: Database, setting: str):
    with postgresql.connection() as connection:
        connection.execute(f"ALTER SYSTEM SET {setting} = off".encode())
        connection.execute("SELECT pg_reload_conf()")
        try:
            wait_for(connection, setting, "off")
            with pytest.raises(RecordUnavailable, match=f"{setting} is off"):
                prepare(open_for_writing(postgresql.url()))
        finally:
            connection.execute(f"ALTER SYSTEM RESET {setting}".encode())
            connection.execute("SELECT pg_reload_conf()")
            wait_for(connection, setting, "on")


def test_who_owns_the_tables_is_not_who_serves(postgresql: Database):
    assert any("owns audit_entry" in what for _, what in defects(postgresql, "facts_migration"))


def test_a_server_that_is_away_cannot_be_examined(postgresql: Database):
    postgresql.refuse_connections()
    with pytest.raises(RecordUnavailable):
        examine(open_for_reading(postgresql.url()))
