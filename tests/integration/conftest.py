"""What several integration tests share."""

import tempfile
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path

import pytest
import sqlalchemy as sa

from sshfacts.commands.settings import Credential, Host, Settings
from sshfacts.ssh.limits import BackoffLimits, PoolLimits
from sshfacts.ssh.transport import SshTransport
from sshfacts.storage.engine import open_for_reading, open_for_writing
from tests.support.live import LiveDoors, live_doors
from tests.support.postgresql import Cluster, Database
from tests.support.sshd import Sshd, keygen, public_line, running

SSH_LIMITS = PoolLimits(connect_seconds=3.0, backoff=BackoffLimits(first=0.05, longest=0.2))
"""The pool's own, with less patience."""

OpenTransport = Callable[..., SshTransport]
StartSshd = Callable[..., Sshd]


@pytest.fixture(scope="session")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveDoors]:
    with live_doors(tmp_path_factory.mktemp("doors")) as running:
        yield running


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """One PostgreSQL server for all tests; its roles and logins are there."""
    with Cluster() as running:
        yield running


@pytest.fixture
def postgresql(cluster: Cluster) -> Database:
    """A database of its own, ready for use."""
    return cluster.new_database()


@pytest.fixture
def writing(postgresql: Database) -> sa.Engine:
    """An engine with the service's login."""
    return open_for_writing(postgresql.url())


@pytest.fixture
def reading(postgresql: Database) -> Iterator[sa.Engine]:
    """A reading engine with an auditor's login."""
    engine = open_for_reading(postgresql.url("facts_auditor"))
    yield engine
    engine.dispose()


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key that every sshd of these fixtures lets in."""
    return keygen(tmp_path_factory.mktemp("key") / "id")


@pytest.fixture(scope="module")
def plain(key: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    """An sshd with nothing but its defaults, for all tests that do not break it."""
    with Sshd(tmp_path_factory.mktemp("sshd"), public_line(key)) as sshd:
        yield sshd


@pytest.fixture
def start_sshd(key: Path) -> Iterator[StartSshd]:
    """Start an sshd that is stopped after the test."""
    with ExitStack() as stack:

        def start(config: str = "", authorized: str | None = None, **options: str) -> Sshd:
            # pytest's folders are closed to other accounts
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            return stack.enter_context(Sshd(folder, authorized or public_line(key), config, **options))

        yield start


@pytest.fixture
async def open_transport(key: Path) -> AsyncIterator[OpenTransport]:
    """Open a transport that is closed after the test, before its hosts are stopped."""
    async with AsyncExitStack() as stack:

        def open_it(
            *hosts: Host, limits: PoolLimits = SSH_LIMITS, credential: Credential | None = None
        ) -> SshTransport:
            settings = Settings(
                path=key.parent / "sshfacts.toml",
                service_name="test",
                database_url="sqlite://",
                hosts={host.alias: host for host in hosts},
                credentials={"key": credential or Credential("key", key_file=key)},
            )
            transport = SshTransport(settings, limits)
            stack.push_async_callback(transport.close)
            return transport

        yield open_it


@pytest.fixture
def marker() -> Iterator[str]:
    """An argument that no other process has. What still runs with it is ended after the test."""
    value = f"98765{uuid.uuid4().int % 10**9:09d}"
    yield value
    for process in running(value):
        process.kill()
