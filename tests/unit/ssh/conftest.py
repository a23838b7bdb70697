"""A key, its file, and hosts that misbehave by script."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import asyncssh
import pytest

from sshfacts.commands.settings import Host
from sshfacts.ssh.limits import BackoffLimits, PoolLimits
from sshfacts.ssh.transport import SshTransport
from tests.support.fault_host import FaultHost, Scripts, settings_for, write_key

QUICK = PoolLimits(
    connect_seconds=1.0, backoff=BackoffLimits(first=0.05, longest=0.2, first_mistaken=0.5, longest_mistaken=1.0)
)
"""Like the defaults, for tests that have no time."""

StartHost = Callable[..., Awaitable[FaultHost]]
OpenTransport = Callable[..., SshTransport]


@pytest.fixture(scope="session")
def client_key() -> asyncssh.SSHKey:
    return asyncssh.generate_private_key("ssh-ed25519")


@pytest.fixture
def key_file(tmp_path: Path, client_key: asyncssh.SSHKey) -> Path:
    return write_key(tmp_path, client_key)


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as stack:
        yield stack


@pytest.fixture
def start_host(stack: AsyncExitStack, client_key: asyncssh.SSHKey) -> StartHost:
    async def start(scripts: Scripts, **options: bool) -> FaultHost:
        return await stack.enter_async_context(FaultHost(scripts, client_key, **options))

    return start


@pytest.fixture
def open_transport(stack: AsyncExitStack, key_file: Path) -> OpenTransport:
    """Open a transport that is closed before its hosts are stopped."""

    def open_it(*hosts: Host, limits: PoolLimits = QUICK) -> SshTransport:
        transport = SshTransport(settings_for(key_file, *hosts), limits)
        stack.push_async_callback(transport.close)
        return transport

    return open_it
