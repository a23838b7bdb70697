"""A PostgreSQL server of our own on 127.0.0.1, with the roles of the record and logins that have them."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Self, TypeAlias
from urllib.parse import quote

import psycopg
import pytest
import sqlalchemy as sa

from sshfacts.storage.engine import open_for_writing, upgrade
from sshfacts.storage.migration import roles_script
from sshfacts.storage.signing_keys import KeyFile
from sshfacts.values import JsonObject
from tests.support.records import whole_chains
from tests.support.sealed import KEY, SealedRecord

_PROGRAMS = [*sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parts[-2])), None]
_FOUND = [shutil.which("initdb", path=path and str(path)) for path in _PROGRAMS]
INITDB = next((path for path in reversed(_FOUND) if path is not None), None)
ACCOUNT = "postgres"
"""Runs the server when the tests run as root, whom PostgreSQL refuses."""
START_SECONDS = 60.0
MEMORY = Path("/dev/shm")  # noqa: S108 - a new folder of our own is made in it
NEEDED_BYTES = 4 * 1024**3
PASSWORD = "a password, with 'quotes' and ünïcode"  # noqa: S105 - of a server that lives as long as the tests
LOGINS = {
    "facts_service": "sshfacts_service",
    "facts_migration": "sshfacts_owner",
    "facts_sealer": "sshfacts_sealer",
    "facts_purger": "sshfacts_purger",
    "facts_raw_reader": "sshfacts_raw_reader",
    "facts_auditor": "sshfacts_auditor",
}

# Small, and as durable as in production: what a commit is worth is what the tests are about.
_CONFIGURATION = """\
listen_addresses = '127.0.0.1'
port = {port}
unix_socket_directories = '{folder}'
shared_buffers = '32MB'
max_connections = 60
password_encryption = 'scram-sha-256'
"""

_OF_THE_SERVICE = "FROM pg_stat_activity WHERE datname = %s AND usename = 'facts_service'"

Connection: TypeAlias = "psycopg.Connection[tuple[object, ...]]"

needs_postgresql = pytest.mark.skipif(INITDB is None, reason="no PostgreSQL server is installed")


def _folder(parent: Path | None) -> Path:
    """Make the folder of a server, in memory where that has room: hundreds of databases are a burden for a disk.

    What a commit is worth when the power fails is not tested here, and a server that ends at once finds its files.
    """
    has_room = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > NEEDED_BYTES
    preferred = MEMORY if has_room else None
    return Path(tempfile.mkdtemp(prefix="sshfacts-postgresql-", dir=parent or preferred))


class Cluster:
    """One server in the foreground, and everything that belongs to it in one folder.

    Args:
        parent: where that folder is made, which the server's account must be able to reach; else in memory.
    """

    def __init__(self, parent: Path | None = None) -> None:
        self.folder = _folder(parent)
        self.password_file = self.folder / "password"
        self._account: dict[str, object] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._numbers = count()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]

    def __enter__(self) -> Self:
        if os.geteuid() == 0:
            user = pwd.getpwnam(ACCOUNT)
            self._account = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
            os.chown(self.folder, user.pw_uid, user.pw_gid)
        self.password_file.touch(mode=0o600)
        self.password_file.write_text(f"{PASSWORD}\n", encoding="utf-8")
        argv = [str(INITDB), "--pgdata", self._data, "--username", ACCOUNT, "--encoding", "UTF8", "--locale", "C.UTF-8"]
        argv += ["--auth-local", "trust", "--auth-host", "scram-sha-256", "--no-sync", "--no-instructions"]
        subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, cwd="/", **self._account)  # type: ignore[call-overload]
        with Path(self._data, "postgresql.conf").open("a", encoding="utf-8") as configuration:
            configuration.write(_CONFIGURATION.format(port=self.port, folder=self.folder))
        self.start()
        self._prepare_template()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder)

    @property
    def _data(self) -> str:
        return str(self.folder / "data")

    def start(self) -> None:
        """Start the server and wait until it takes connections."""
        argv = [str(Path(str(INITDB)).resolve().with_name("postgres")), "-D", self._data]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(argv, stdout=log, stderr=log, cwd="/", **self._account)  # type: ignore[call-overload]
        end = time.monotonic() + START_SECONDS
        while True:
            try:
                return self.connect().close()
            except psycopg.OperationalError:
                if time.monotonic() > end:
                    raise
            time.sleep(0.02)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End the server; SIGQUIT ends it at once, as a crash would, so that it recovers at the next start."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(START_SECONDS)
            self._process = None

    def connect(self, database: str = "postgres") -> Connection:
        """Return a connection of the superuser, which commits each statement."""
        return psycopg.connect(
            host=str(self.folder), port=self.port, user=ACCOUNT, dbname=database, autocommit=True, connect_timeout=5
        )

    def new_database(self, template: str = "ready") -> "Database":
        """Make a database of its own for a test: one that is ready for use, or an empty one from `template0`."""
        name = f"audit{next(self._numbers)}"
        with self.connect() as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template} ENCODING 'UTF8'")
        database = Database(self, name)
        database.execute(roles_script())  # rights on a database do not come with its template
        return database

    def _prepare_template(self) -> None:
        with self.connect() as connection:
            connection.execute("CREATE DATABASE ready TEMPLATE template0 ENCODING 'UTF8'")
            with self.connect("ready") as ready:
                ready.execute(roles_script())
            for login, role in LOGINS.items():
                password = psycopg.sql.Literal(PASSWORD)
                connection.execute(
                    psycopg.sql.SQL("CREATE ROLE {} LOGIN PASSWORD {} IN ROLE {}").format(
                        psycopg.sql.Identifier(login), password, psycopg.sql.Identifier(role)
                    )
                )
        upgrade(open_for_writing(Database(self, "ready").url("facts_migration")))


@dataclass(frozen=True)
class Database:
    """One database of the server."""

    cluster: Cluster
    name: str

    def url(self, login: str = "facts_service") -> str:
        """Return the URL for a login, over TCP and with its password in a file."""
        file = quote(str(self.cluster.password_file), safe="")
        return f"postgresql://{login}@127.0.0.1:{self.cluster.port}/{self.name}?password_file={file}"

    @property
    def superuser_url(self) -> str:
        """The URL for the superuser, by the socket and without a password."""
        folder = quote(str(self.cluster.folder), safe="")
        return f"postgresql://{ACCOUNT}@/{self.name}?host={folder}&port={self.cluster.port}"

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """Give a connection of the superuser, which commits each statement."""
        with self.cluster.connect(self.name) as connection:
            yield connection

    def execute(self, *statements: str) -> None:
        """Run statements as the superuser."""
        with self.connection() as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def scalar(self, statement: str) -> object:
        """Return the one value that a statement of the superuser gives."""
        with self.connection() as connection:
            row = connection.execute(statement.encode()).fetchone()
        assert row is not None
        return row[0]

    def stored(self) -> list[JsonObject]:
        """Return the bodies of all records, after checking that every chain in them is whole."""
        with self.connection() as connection:
            rows = connection.execute("SELECT writer_id, seq, leaf_hash, body FROM audit_entry ORDER BY id").fetchall()
        return whole_chains(rows)

    def end_connections(self) -> int:
        """End every connection of the service, as an administrator or a failover does; return how many there were."""
        with self.connection() as connection:
            ended = connection.execute(f"SELECT pg_terminate_backend(pid) {_OF_THE_SERVICE}", [self.name])
            return len(ended.fetchall())

    def refuse_connections(self, *, refused: bool = True) -> None:
        """Turn every login of the service away and end its connections, or let it in again."""
        with self.cluster.connect() as connection:
            connection.execute(f"ALTER DATABASE {self.name} ALLOW_CONNECTIONS {not refused}")
            connection.execute(f"SELECT pg_terminate_backend(pid) {_OF_THE_SERVICE}", [self.name])


def on_postgresql(database: Database, folder: Path) -> SealedRecord:
    """Return the record in a database, with a key in `folder`, and with each login's own rights."""
    KeyFile(folder / "key").write([KEY])
    owner = sa.make_url(database.superuser_url).set(drivername="postgresql+psycopg")
    return SealedRecord(
        folder,
        database.url(),
        owner.render_as_string(hide_password=False),
        database.url("facts_sealer"),
        database.url("facts_auditor"),
    )
