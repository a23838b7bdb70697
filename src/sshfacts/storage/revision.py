"""Which revision of the tables a database has, and which one this version needs."""

import sqlalchemy as sa

HEAD = "0001"
"""The revision that this version reads and writes."""


def revision(connection: sa.Connection) -> str | None:
    """Return the revision of the database, or `None` if it never had one."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    found = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
    return None if found is None else str(found)


def wrong_revision(connection: sa.Connection) -> str | None:
    """Return how the database's revision is not the one that this version needs, or `None` if it is."""
    found = revision(connection)
    if found == HEAD:
        return None
    state = "has no tables of sshfacts" if found is None else f"has revision {found}"
    return f"the database {state}, and this version needs revision {HEAD}"
