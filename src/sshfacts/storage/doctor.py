"""What is wrong with a database that is to hold the record: seen from inside, by the login that will use it.

Guards that are gone are not noticed by those who dropped them, and a setting that gives up durability shows only
when the power fails. So both are looked at when a service starts, while it runs, and when somebody asks.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import ip_address

import sqlalchemy as sa

from sshfacts.storage.guards import SCHEMA, foreign_triggers, guarded_tables, missing_guards
from sshfacts.storage.revision import wrong_revision


class Effect(StrEnum):
    """What a service does about a defect."""

    STOPS = "stops"
    """It does not start; found while it runs, it takes no more calls."""
    PAUSES = "pauses"
    """It starts, and takes no calls until the defect is mended."""
    ADVICE = "advice"
    """It goes on."""


@dataclass(frozen=True, slots=True)
class Defect:
    """One thing that is not as it must be."""

    name: str
    effect: Effect
    what: str
    fix: str


REVISION = "revision"
"""The name of the defect that the tables are of another version."""

_UPGRADE = "run `sshfacts database upgrade`"
_LOGIN = "log in as a member of one role of storage/roles/, and of no other"
_APPEND_ONLY = frozenset({"audit_entry", "audit_leaf", "audit_tile", "audit_checkpoint"})
_SERVER_ROLES = ("pg_execute_server_program", "pg_write_server_files")


def defects_of(connection: sa.Connection) -> list[Defect]:
    """Return every defect that statements can show, the worst first.

    Raises:
        Exception: the driver's own error, or SQLAlchemy's.
    """
    sqlite = connection.dialect.name == "sqlite"
    found = [*_schema(connection), *(_sqlite(connection) if sqlite else _postgresql(connection))]
    return sorted(found, key=lambda defect: list(Effect).index(defect.effect))


def _stops(name: str, what: str, fix: str) -> Defect:
    return Defect(name, Effect.STOPS, what, fix)


def _schema(connection: sa.Connection) -> Iterator[Defect]:
    if wrong := wrong_revision(connection):
        yield _stops(REVISION, wrong, _UPGRADE)
        return  # which guards there must be depends on the revision
    if missing := missing_guards(connection):
        what = f"the database lacks its guards {', '.join(missing)}"
        yield _stops(
            "guards", what, f"find out who dropped or altered them and what was changed since; then {_UPGRADE}"
        )
    if foreign := foreign_triggers(connection):
        what = f"there are triggers or rules that are none of ours: {', '.join(foreign)}"
        yield _stops("foreign_triggers", what, "find out who made them and what they did; then drop them")


def _sqlite(connection: sa.Connection) -> Iterator[Defect]:
    for pragma, allowed, what in (
        ("journal_mode", ("wal",), "readers and the writer block each other"),
        ("synchronous", (2, 3), "a commit may be lost when the power fails"),
        ("encoding", ("UTF-8",), "its texts are not UTF-8"),
    ):
        value = connection.exec_driver_sql(f"PRAGMA {pragma}").scalar()
        if value not in allowed:
            yield _stops(pragma, f"{what}: {pragma} is {value}", "make the database with sshfacts, and set nothing")


def _postgresql(connection: sa.Connection) -> Iterator[Defect]:
    yield from _server(connection)
    yield from _way(connection)
    superuser, sees_all = connection.execute(
        sa.text("SELECT rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user")
    ).one()
    if superuser:
        yield _stops("login", "this login is a superuser, whom no guard stops", _LOGIN)
        return  # who may do everything would be found to have every right
    if sees_all:
        yield _stops("login", "this login has BYPASSRLS", _LOGIN)
    for role in _SERVER_ROLES:
        if connection.scalar(sa.text("SELECT pg_has_role(:role, 'MEMBER')"), {"role": role}):
            yield _stops("login", f"this login is a member of {role}, which can write the server's files", _LOGIN)
    yield from _rights(connection)


def _server(connection: sa.Connection) -> Iterator[Defect]:
    names = ("fsync", "full_page_writes", "synchronous_commit", "server_encoding")
    values = connection.exec_driver_sql(f"SELECT {', '.join(f'current_setting({name!r})' for name in names)}").one()
    fsync, full_pages, synchronous, encoding = values
    for name, value in (("fsync", fsync), ("full_page_writes", full_pages), ("synchronous_commit", synchronous)):
        if value == "off":
            yield _stops(name, f"a commit may be lost in a crash: {name} is off", f"set {name} to on")
    if encoding != "UTF8":
        yield _stops("encoding", f"the database's encoding is {encoding}", "make it anew with --encoding=UTF8")
    if connection.exec_driver_sql("SELECT pg_is_in_recovery()").scalar():
        yield _stops("standby", "this server is a standby, which nobody can write", "name the primary in the URL")


def _way(connection: sa.Connection) -> Iterator[Defect]:
    address, encrypted = connection.exec_driver_sql(
        "SELECT host(inet_server_addr()), (SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid())"
    ).one()
    if address is not None and not encrypted and not ip_address(address).is_loopback:
        what = "commands, arguments and decisions go to the database in plain text"
        yield Defect(
            "plain_text", Effect.ADVICE, what, "let the server offer TLS, and add ?sslmode=verify-full to the URL"
        )


def _rights(connection: sa.Connection) -> Iterator[Defect]:
    statement = sa.text("""
        SELECT c.relname AS name, c.relpersistence <> 'p' AS unlogged, c.relrowsecurity AS hides_rows,
               pg_has_role(c.relowner, 'MEMBER') AS owned,
               has_any_column_privilege(c.oid, 'UPDATE') AS may_update,
               has_table_privilege(c.oid, 'DELETE') AS may_delete,
               has_table_privilege(c.oid, 'TRUNCATE') AS may_truncate,
               has_table_privilege(c.oid, 'TRIGGER') AS may_trigger
        FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
        WHERE n.nspname = :schema AND c.relname IN :tables ORDER BY c.relname
    """).bindparams(sa.bindparam("schema", SCHEMA), sa.bindparam("tables", guarded_tables(), expanding=True))
    for table in connection.execute(statement):
        if table.unlogged:
            yield _stops("unlogged", f"{table.name} is lost in a crash: it is unlogged", "ALTER TABLE ... SET LOGGED")
        if table.hides_rows:
            what = f"row-level security hides rows of {table.name}"
            yield _stops("row_security", what, "ALTER TABLE ... DISABLE ROW LEVEL SECURITY")
        if table.owned:
            yield _stops("login", f"this login owns {table.name}, or may become its owner", _LOGIN)
            continue  # an owner has every other right
        append_only = table.name in _APPEND_ONLY
        rights = {
            "UPDATE": table.may_update and append_only,
            "DELETE": table.may_delete and append_only,
            "TRUNCATE": table.may_truncate,
            "TRIGGER": table.may_trigger,
        }
        if held := [right for right, is_held in rights.items() if is_held]:
            yield _stops("login", f"this login may {', '.join(held)} {table.name}", _LOGIN)
