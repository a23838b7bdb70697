"""How the database is opened, by its URL, and made ready for use.

Every difference between databases stands in `storage.sqlite` and `storage.postgresql`, in `storage.guards`, and in
what a check of the database looks at (`storage.doctor`).
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic, sleep

import sqlalchemy as sa

from sshfacts.storage.address import POSTGRESQL
from sshfacts.storage.doctor import Effect, defects_of
from sshfacts.storage.postgresql import open_server
from sshfacts.storage.revision import HEAD, revision
from sshfacts.storage.sqlite import file_of, make_file, open_file
from sshfacts.storage.unavailable import DATABASE_ERRORS, RecordUnavailable, reason_of

PREPARE_SECONDS = 5.0
"""How long `prepare` tries again while another process holds the database."""

_PREPARE_PAUSE = 0.02


def open_for_reading(url: str) -> sa.Engine:
    """Return an engine that can only read the database at `url`, and reads one snapshot in each transaction.

    Nothing is opened yet; a database that does not exist shows at the first statement.

    Args:
        url: such as `sqlite:////var/lib/sshfacts/audit.db`, or
            `postgresql://sshfacts@db.example.com/audit?password_file=/run/secrets/database`.

    Raises:
        UsageError: the URL names no database that can hold a record, holds a password, or sets options that this
            room owns.
    """
    return open_server(url, read_only=True) if url.startswith(POSTGRESQL) else open_file(url, read_only=True)


def open_for_writing(url: str) -> sa.Engine:
    """Return an engine for what writes; on SQLite each of its transactions takes the write lock of the file.

    Nothing is opened yet, and a missing file is an error at the first statement: only `prepare` makes one.

    Raises:
        UsageError: as for `open_for_reading`.
    """
    return open_server(url, read_only=False) if url.startswith(POSTGRESQL) else open_file(url, read_only=False)


def reading(engine: sa.Engine) -> sa.Engine:
    """Return an engine that can only read the database that `engine` was opened on."""
    if is_sqlite(engine):
        return open_file(f"sqlite:///{file_of(engine)}", read_only=True)
    return open_for_reading(engine.url.set(drivername="postgresql").render_as_string(hide_password=False))


def is_sqlite(database: sa.Engine | sa.Connection) -> bool:
    """Tell whether this is a file of one service, and not a server that several share."""
    return database.dialect.name == "sqlite"


def is_owner(engine: sa.Engine) -> bool:
    """Tell whether whoever runs this process owns the database, which exists, as the service does.

    On SQLite it is the owner of the file. Not even root counts: what root writes beside another user's database,
    that user cannot write. On PostgreSQL it is whoever logs in with the rights of the service.

    Raises:
        RecordUnavailable: the database cannot be looked at.
    """
    if is_sqlite(engine):
        try:
            return file_of(engine).stat().st_uid == os.geteuid()
        except OSError as error:
            raise RecordUnavailable(reason_of(error)) from None
    with transaction(engine) as connection:
        return bool(connection.exec_driver_sql("SELECT has_table_privilege('token', 'INSERT')").scalar())


@contextmanager
def transaction(engine: sa.Engine) -> Iterator[sa.Connection]:
    """Give one connection in one transaction, committed at the end and rolled back on an error.

    Raises:
        RecordUnavailable: a statement failed; the text holds neither SQL nor parameters.
    """
    # The last is for statements that went to the driver by a short way, of which SQLAlchemy knows nothing.
    errors = (*DATABASE_ERRORS, engine.dialect.loaded_dbapi.Error)
    try:
        with engine.begin() as connection:
            yield connection
    except errors as error:
        raise RecordUnavailable(reason_of(error)) from None


def prepare(engine: sa.Engine) -> None:
    """See to it that the database has the tables of this version and its guards, and has no defect that stops us.

    A missing SQLite file is made, and one of an earlier version is upgraded. A database of PostgreSQL is never
    changed: the service's role could not, and who may decides when (`sshfacts database upgrade`).

    Raises:
        RecordUnavailable: the file cannot be made or written, or the database is not as it must be.
    """
    if is_sqlite(engine):
        make_file(file_of(engine))
        _upgrade(engine, only_if_due=True)
    with transaction(engine) as connection:
        stopping = [defect for defect in defects_of(connection) if defect.effect is Effect.STOPS]
    if stopping:
        raise RecordUnavailable("; ".join(f"{defect.what}: {defect.fix}" for defect in stopping))


def upgrade(engine: sa.Engine) -> None:
    """Bring the database to the revision of this version, and put its guards and rights as they must be.

    Raises:
        RecordUnavailable: it cannot be written, is of a later version, or is none of ours.
        UsageError: on PostgreSQL, the roles are missing, or this login is no member of the owner's.
    """
    if is_sqlite(engine):
        make_file(file_of(engine))
    _upgrade(engine, only_if_due=False)


def _upgrade(engine: sa.Engine, *, only_if_due: bool) -> None:
    end = monotonic() + PREPARE_SECONDS
    while True:
        try:
            with transaction(engine) as connection:
                if not only_if_due or revision(connection) != HEAD:
                    from sshfacts.storage import migration  # noqa: PLC0415 - slow, and rarely needed

                    migration.upgrade(connection)
        except RecordUnavailable as error:
            # Two services that start on one new file: changing its journal mode does not wait for the other's lock.
            if not error.reason.startswith("SQLITE_BUSY") or monotonic() >= end:
                raise
        else:
            return
        sleep(_PREPARE_PAUSE)
