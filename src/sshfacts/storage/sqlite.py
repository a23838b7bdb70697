"""How an SQLite file is opened: the settings of every connection, and a look at whether the file is still there.

SQLite is the database of one service on one machine.
"""

import os
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.pool import ConnectionPoolEntry, NullPool

from sshfacts.errors import UsageError
from sshfacts.storage.address import FORMS, url_problem
from sshfacts.storage.unavailable import RecordUnavailable, reason_of

BUSY_SECONDS = 1.0
"""How long one statement waits for another process's lock before it fails; the recorder tries again."""

FILE_MODE = 0o640
"""A new database file: the service writes, auditors of its group read."""

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


def open_file(url: str, *, read_only: bool) -> sa.Engine:
    """Return an engine on the file of `url`, which is opened with the first statement.

    Raises:
        UsageError: the URL is none of a database file, or sets options that this module owns.
    """
    if problem := url_problem(url):
        raise UsageError(f"{problem}; write {FORMS}")
    path = Path(url.removeprefix("sqlite:///")).absolute()
    if read_only:
        return _engine(path, "ro", _READ_PRAGMAS, _begin_reading)
    return _engine(path, "rw", _WRITE_PRAGMAS, _begin_writing)


def file_of(engine: sa.Engine) -> Path:
    """Return the path of the file that an engine was opened on."""
    return Path(str(engine.url.database))


def make_file(path: Path) -> None:
    """Make an empty file for a new database, unless it is there.

    Raises:
        RecordUnavailable: it cannot be made.
    """
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
