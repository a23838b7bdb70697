"""How PostgreSQL is opened: the settings of every connection, and the password from its file.

PostgreSQL is the database of several replicas. Replicas connect to the server itself, not through a pooler that
hands out a connection for one transaction: the settings below belong to a session.
"""

import os
import stat
import weakref
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.engine import Dialect
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import ConnectionPoolEntry, NullPool

from sshfacts.errors import UsageError
from sshfacts.storage.address import FORMS, PASSWORD_FILE, url_problem
from sshfacts.storage.guards import SCHEMA
from sshfacts.storage.unavailable import RecordUnavailable, reason_of

_PASSWORD_BYTES = 1_024
_CONNECT_SECONDS = 3
_STATEMENT_MS = 4_000  # under the recorder's patience, so that it can try again
_IDLE_MS = 10_000  # a transaction of ours never waits for anything but the database

# A server that vanished must not hold the queue: what was sent and is not acknowledged breaks the connection,
# and an idle connection is looked after, so that it is found broken before it is needed.
_SETTINGS: dict[str, str | int] = {
    "application_name": "sshfacts",
    "client_encoding": "utf8",
    "connect_timeout": _CONNECT_SECONDS,
    "tcp_user_timeout": _STATEMENT_MS,
    "keepalives": 1,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
}
_SESSION = f"-c search_path={SCHEMA} -c timezone=UTC -c lock_timeout={_STATEMENT_MS}"
_WRITING = f"{_SESSION} -c statement_timeout={_STATEMENT_MS} -c idle_in_transaction_session_timeout={_IDLE_MS}"

_POOLED = 4  # token look-ups and lists at once; each new connection costs the server a process
_READY_SECONDS = 300


def open_server(url: str, *, read_only: bool) -> sa.Engine:
    """Return an engine on the database of `url`; the server is asked with the first statement.

    A reading transaction is one snapshot, as it is on SQLite.

    Raises:
        UsageError: the URL names no database, holds a password, or sets an option that this module owns.
    """
    address = _address(url)
    if read_only:
        engine = sa.create_engine(
            address,
            connect_args={**_SETTINGS, "options": _SESSION},
            isolation_level="REPEATABLE READ",
            execution_options={"postgresql_readonly": True},
            pool_size=_POOLED,
            pool_pre_ping=True,
            pool_recycle=_READY_SECONDS,
            hide_parameters=True,
        )
        _close_with(engine)
    else:
        # The recorder's writer keeps one connection itself, and everything else that writes is rare.
        engine = sa.create_engine(
            address, connect_args={**_SETTINGS, "options": _WRITING}, poolclass=NullPool, hide_parameters=True
        )
    event.listen(engine, "do_connect", _provide_password)
    return engine


def _address(url: str) -> sa.URL:
    if problem := url_problem(url):
        raise UsageError(f"{problem}; write {FORMS}")
    return sa.make_url(url).set(drivername="postgresql+psycopg")


def _close_with(engine: sa.Engine) -> None:
    """See to it that pooled connections end with their engine: many are made by the way, and closed by nobody."""
    kept: set[DBAPIConnection] = set()  # nothing in it refers to the engine, which could not go otherwise

    def keep(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
        kept.add(connection)

    def forget(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
        kept.discard(connection)

    event.listen(engine, "connect", keep)
    event.listen(engine, "close", forget)
    weakref.finalize(engine, _close, kept)


def _close(connections: set[DBAPIConnection]) -> None:
    while connections:
        connections.pop().close()


def _provide_password(
    _dialect: Dialect, _entry: ConnectionPoolEntry, _arguments: list[object], settings: dict[str, object]
) -> None:
    named = settings.pop(PASSWORD_FILE, None)
    if named is not None:
        settings["password"] = _password(Path(str(named)))


def _password(path: Path) -> str:
    """Return the content of the file, but for a final line end.

    Raises:
        RecordUnavailable: it cannot be read, is open to everybody, or holds no password.
    """
    try:
        with path.open("rb") as stream:
            open_to_all = stat.S_IMODE(os.fstat(stream.fileno()).st_mode) & stat.S_IRWXO
            content = stream.read(_PASSWORD_BYTES + 1)
    except OSError as error:
        raise RecordUnavailable(f"the password file cannot be read: {reason_of(error)}") from None
    if open_to_all:
        raise RecordUnavailable("the password file is open to every user; chmod it to 0600")
    password = content.removesuffix(b"\n").removesuffix(b"\r")
    if not password or len(content) > _PASSWORD_BYTES or b"\x00" in password or b"\n" in password:
        raise RecordUnavailable("the password file holds no password, which is one line")
    try:
        return password.decode("utf-8")
    except UnicodeDecodeError:
        raise RecordUnavailable("the password file is not UTF-8") from None
