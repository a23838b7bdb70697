"""Runs migrations, and what belongs to each of them: the owner's role, one at a time, views, guards and rights.

`sshfacts.storage.migration` calls it, with a connection whose transaction it began, or with the name of a dialect
to write the statements down. Everything happens in that one transaction.
"""

from collections.abc import Iterator
from pathlib import Path

from alembic import context

from sshfacts.storage.guards import guarded_tables, install_statements
from sshfacts.storage.migration import OWNER, ROLES

# Any number that no other program uses for the same database.
_LOCK = 7_274_325_021

_RIGHTS = Path(__file__).parents[1] / "roles"
_VIEWS = Path(__file__).parents[1] / "views"


def _rights() -> Iterator[str]:
    """Yield what takes every right back, also one that was granted by hand, and then what grants each role its own."""
    tables = ", ".join(["alembic_version", *guarded_tables()])
    yield f"REVOKE ALL ON {tables} FROM PUBLIC, {', '.join(f'sshfacts_{role}' for role in ROLES)}"
    for role in ROLES:
        yield from _statements(_RIGHTS / f"{role}.sql")


def _views() -> Iterator[str]:
    """Yield what makes each view anew. What may be read of it is granted afterwards, with the other rights."""
    for file in sorted(_VIEWS.glob("*.sql")):
        yield f"DROP VIEW IF EXISTS {file.stem}"
        yield from _statements(file)


def _statements(file: Path) -> Iterator[str]:
    lines = file.read_text(encoding="utf-8").splitlines()
    statements = "\n".join(line for line in lines if not line.startswith("--")).split(";")
    yield from filter(None, map(str.strip, statements))


def _migrate(dialect: str) -> None:
    if dialect == "postgresql":
        context.execute("SET LOCAL statement_timeout = 0")
        context.execute(f"SET LOCAL ROLE {OWNER}")
        context.execute(f"SELECT pg_advisory_xact_lock({_LOCK})")
    context.run_migrations()
    for statement in (*_views(), *install_statements(dialect)):
        context.execute(statement)
    if dialect == "postgresql":
        for statement in _rights():
            context.execute(statement)


_connection = context.config.attributes.get("connection")
if _connection is not None:
    context.configure(connection=_connection)
    _migrate(_connection.dialect.name)
else:
    _dialect = context.config.attributes["dialect"]
    context.configure(dialect_name=_dialect, transactional_ddl=True)
    with context.begin_transaction():
        _migrate(_dialect)
