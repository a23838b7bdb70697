"""Brings a database to the revision of this version, by the migrations of the built-in site.

A migration only adds. It runs in one transaction with everything that belongs to it, so that a database is never
between two revisions, and never without its guards.

Alembic takes 200 ms to import, so this module is imported where a migration is due, and nowhere else.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.util import CommandError

from sshfacts.builtin import builtin_site
from sshfacts.errors import UsageError
from sshfacts.storage.revision import revision
from sshfacts.storage.unavailable import RecordUnavailable

OWNER = "sshfacts_owner"
"""The role of PostgreSQL that owns the tables. Nobody logs in as it; who migrates is a member."""

ROLES = ("service", "sealer", "purger", "raw_reader", "auditor")
"""The roles of PostgreSQL that are granted something: `sshfacts_` and one of these, as in `storage/roles/`."""

_ONE_AT_A_TIME = threading.Lock()  # `alembic.context` stands for the one migration of the process


def upgrade(connection: sa.Connection, scripts: Path | None = None) -> None:
    """Run the migrations that are missing, and put guards and rights as they must be, in the running transaction.

    Args:
        scripts: the folder with the migrations; else those of the built-in site.

    Raises:
        RecordUnavailable: the database is of a later version, or is none of ours.
        UsageError: on PostgreSQL, the roles are missing, or this login is no member of the owner's.
    """
    if connection.dialect.name != "sqlite":
        _require_roles(connection)
    if revision(connection) is None and (tables := sa.inspect(connection).get_table_names()):
        raise RecordUnavailable(f"the database holds {len(tables)} tables, and none of sshfacts")
    with _configured(scripts) as config:
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, "head")
        except CommandError:
            found = revision(connection)
            raise RecordUnavailable(f"the database has revision {found}, which this version does not know") from None


def script(dialect: str) -> str:
    """Return the statements that `upgrade` would run on an empty database, for who reads before running.

    Args:
        dialect: SQLAlchemy's name of the database.
    """
    with _configured(None) as config:
        config.attributes["dialect"] = dialect
        config.output_buffer = StringIO()
        command.upgrade(config, "head", sql=True)
        return config.output_buffer.getvalue()


def roles_script() -> str:
    """Return the statements that make the roles of PostgreSQL, for an administrator to run."""
    return (builtin_site() / "storage" / "roles" / "create.sql").read_text(encoding="utf-8")


@contextmanager
def _configured(scripts: Path | None) -> Iterator[Config]:
    folder = scripts if scripts is not None else builtin_site() / "storage" / "migrations"
    config = Config()
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    with _ONE_AT_A_TIME:
        yield config


def _require_roles(connection: sa.Connection) -> None:
    needed = {OWNER, *(f"sshfacts_{role}" for role in ROLES)}
    statement = sa.text("SELECT rolname FROM pg_roles WHERE rolname IN :names")
    found = set(connection.scalars(statement.bindparams(sa.bindparam("names", sorted(needed), expanding=True))))
    if missing := needed - found:
        raise UsageError(
            f"the roles {', '.join(sorted(missing))} do not exist;"
            " an administrator makes them with `sshfacts database roles | psql DATABASE`"
        )
    if not connection.scalar(sa.text("SELECT pg_has_role(:owner, 'MEMBER')"), {"owner": OWNER}):
        raise UsageError(f"this login is no member of {OWNER}, which owns the tables")
