"""How the database is opened: the settings that an audit record needs, and the schema of a new one.

SQLite is the database of one service on one machine. Every difference between databases stands in this
module and in `storage.guards`.
"""

import os
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.pool import ConnectionPoolEntry, NullPool

from sshfacts.errors import UsageError
from sshfacts.storage.guards import SQLITE_GUARDS, missing_guards
from sshfacts.storage.tables import METADATA
from sshfacts.storage.unavailable import DATABASE_ERRORS, RecordUnavailable, reason_of

BUSY_SECONDS = 1.0
"""How long one statement waits for another process's lock before it fails; the recorder tries again."""

PREPARE_SECONDS = 5.0
"""How long `prepare` tries again while another process holds the database."""

FILE_MODE = 0o640
"""A new database file: the service writes, auditors of its group read."""

# The name of the file is taken as it is. Options after a question mark are refused: this module sets them.
_FILE_URL = re.compile(r"sqlite:///(?P<file>[^?]+)")
_PREPARE_PAUSE = 0.02
_WAL_BYTES = 64 * 1024 * 1024  # what the -wal file is cut back to after an auditor's long read made it grow

_READ_PRAGMAS = ("query_only=ON", "trusted_schema=OFF")
_WRITE_PRAGMAS = (
    "journal_mode=WAL",
    "synchronous=FULL",  # NORMAL loses acknowledged commits when the power fails
    "foreign_keys=ON",
    "recursive_triggers=ON",  # without it REPLACE deletes rows and no DELETE trigger fires
    "trusted_schema=OFF",
    f"journal_size_limit={_WAL_BYTES}",
)


def open_for_reading(url: str) -> sa.Engine:
    """Return an engine that can only read the database at `url`, such as `sqlite:////var/lib/sshfacts/audit.db`.

    Nothing is opened yet; a database that does not exist shows at the first statement.

    Raises:
        UsageError: the URL is none of a database file, or sets options that this module owns.
    """
    return _engine(_database_path(url), "ro", _READ_PRAGMAS, _begin_reading)


def open_for_writing(url: str) -> sa.Engine:
    """Return an engine whose every transaction takes the write lock; nothing that only reads should use one.

    Nothing is opened yet, and a missing file is an error at the first statement: only `prepare` makes one.

    Raises:
        UsageError: as for `open_for_reading`.
    """
    return _engine(_database_path(url), "rw", _WRITE_PRAGMAS, _begin_writing)


@contextmanager
def transaction(engine: sa.Engine) -> Iterator[sa.Connection]:
    """Give one connection in one transaction, committed at the end and rolled back on an error.

    Raises:
        RecordUnavailable: a statement failed; the text holds neither SQL nor parameters.
    """
    try:
        with engine.begin() as connection:
            yield connection
    except DATABASE_ERRORS as error:
        raise RecordUnavailable(reason_of(error)) from None


def prepare(engine: sa.Engine) -> None:
    """Make the file, the tables and the guards of a database that does not exist yet, and check the guards.

    Raises:
        RecordUnavailable: the file cannot be made or written, or a guard is missing.
    """
    _make_file(Path(str(engine.url.database)))
    end = monotonic() + PREPARE_SECONDS
    while True:
        try:
            return _prepare(engine)
        except RecordUnavailable as error:
            # Two services that start on one new file: changing its journal mode does not wait for the other's lock.
            if not error.reason.startswith("SQLITE_BUSY") or monotonic() >= end:
                raise
        sleep(_PREPARE_PAUSE)


def _database_path(url: str) -> Path:
    named = _FILE_URL.fullmatch(url)
    if named is None or named["file"].startswith((":memory:", "file:")):
        raise UsageError("the database URL names no file that can hold a record; write sqlite:////FOLDER/audit.db")
    return Path(named["file"]).absolute()


def _prepare(engine: sa.Engine) -> None:
    with transaction(engine) as connection:
        if not sa.inspect(connection).get_table_names():
            METADATA.create_all(connection)
            for guard in SQLITE_GUARDS:
                connection.exec_driver_sql(guard)
        missing = missing_guards(connection)
    if missing:
        raise RecordUnavailable(f"the database lacks its guards {', '.join(missing)}")


def _make_file(path: Path) -> None:
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, FILE_MODE))
    except FileExistsError:
        return
    except OSError as error:
        raise RecordUnavailable(reason_of(error)) from None


def _engine(path: Path, mode: str, pragmas: Sequence[str], begin: Callable[[sa.Connection], None]) -> sa.Engine:
    def connect() -> sqlite3.Connection:
        # With `isolation_level=None` the begin event decides how a transaction starts, and not the driver.
        return sqlite3.connect(f"{path.as_uri()}?mode={mode}", timeout=BUSY_SECONDS, isolation_level=None, uri=True)

    def set_up(connection: sqlite3.Connection, entry: ConnectionPoolEntry) -> None:
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}")
        entry.info["file"] = _FileIdentity(path)

    engine = sa.create_engine(
        sa.URL.create("sqlite", database=str(path)),
        creator=connect,
        # A connection that stays open would go on with a file that was moved away, so none is pooled.
        poolclass=NullPool,
        # With named parameters a row is a mapping for every driver.
        paramstyle="named",
        hide_parameters=True,
    )
    event.listen(engine, "connect", set_up)
    event.listen(engine, "begin", begin)
    return engine


# Both call the driver directly: a statement by way of SQLAlchemy costs as much time as half a commit.
def _begin_reading(connection: sa.Connection) -> None:
    connection.connection.cursor().execute("BEGIN")


def _begin_writing(connection: sa.Connection) -> None:
    connection.info["file"].require_unmoved()
    # A deferred transaction that reads and then writes fails at once under load, whatever the busy timeout is.
    connection.connection.cursor().execute("BEGIN IMMEDIATE")


class _FileIdentity:
    """Notices that the file behind a connection was moved or deleted.

    SQLite would go on writing to it, and acknowledge what nobody can find.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._opened = self._current()

    def require_unmoved(self) -> None:
        if self._current() != self._opened:
            raise sqlite3.OperationalError("the database file was replaced")

    def _current(self) -> tuple[int, int]:
        status = self._path.stat()
        return status.st_dev, status.st_ino
