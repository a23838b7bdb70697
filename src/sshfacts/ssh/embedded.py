"""A host inside this process, to show the service without a machine to log in to.

It listens on 127.0.0.1 and lets in one key. What that key may do is everything the current user may do,
exactly as with a real account; so it is for demos and for trying out command files, and not for service.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Self

import asyncssh

from sshfacts.ssh.public_keys import parse_public_key, public_line

CHUNK_BYTES = 32 * 1024


def new_key(path: Path) -> str:
    """Write a new private key with mode 0600, and return its public key line.

    Raises:
        FileExistsError: there is something at `path` already.
    """
    key = asyncssh.generate_private_key("ssh-ed25519")
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(key.export_private_key("openssh"))
    return public_line(key)


class EmbeddedHost:
    """An SSH server that runs each command with `/bin/sh -c`, as the current user.

    Args:
        client_key: public key line of the only key that may log in, under any user name.
        answer: called with each command; bytes it returns are sent as stdout instead of running the
            command. It plays a host that lies.
    """

    def __init__(self, client_key: str, answer: Callable[[str], bytes | None] | None = None) -> None:
        self._client_key = parse_public_key(client_key)
        self._host_key = asyncssh.generate_private_key("ssh-ed25519")
        self._answer = answer
        self._acceptor: asyncssh.SSHAcceptor | None = None
        self._connections: set[asyncssh.SSHServerConnection] = set()
        self.host_key = public_line(self._host_key)
        """Public key line, to be pinned."""
        self.port = 0
        """Free port that was taken; 0 before `start`."""

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Listen."""
        self._acceptor = await asyncssh.listen(
            "127.0.0.1",  # the default is all addresses
            0,
            server_factory=lambda: _Server(self._client_key, self._connections),
            process_factory=self._handle,
            server_host_keys=[self._host_key],
            encoding=None,
            allow_pty=False,
            agent_forwarding=False,
            x11_forwarding=False,
            gss_host=None,
            config=None,
            compression_algs=None,
            host_based_auth=False,
            password_auth=False,
            kbdint_auth=False,
        )
        self.port = self._acceptor.get_port()

    async def stop(self) -> None:
        """Stop listening, and hang up on everybody; their commands are killed."""
        if self._acceptor is None:
            return
        acceptor, self._acceptor = self._acceptor, None
        acceptor.close()
        connections = tuple(self._connections)
        for connection in connections:
            connection.abort()
        await asyncio.gather(*(connection.wait_closed() for connection in connections))
        await acceptor.wait_closed()  # since Python 3.12 it waits for open connections as well

    async def _handle(self, process: asyncssh.SSHServerProcess[bytes]) -> None:
        if process.command is None:
            process.exit(1)  # a shell was asked for
            return
        answer = None if self._answer is None else self._answer(process.command)
        if answer is None:
            await _run(process, process.command)
        else:
            process.stdout.write(answer)
            process.exit(0)


class _Server(asyncssh.SSHServer):
    """Lets in one key, and knows who is connected."""

    def __init__(self, client_key: asyncssh.SSHKey, connections: set[asyncssh.SSHServerConnection]) -> None:
        self._client_key = client_key
        self._connections = connections
        self._connection: asyncssh.SSHServerConnection | None = None

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._connection = conn
        self._connections.add(conn)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncssh's signature
        if self._connection is not None:
            self._connections.discard(self._connection)

    def begin_auth(self, username: str) -> bool:  # noqa: ARG002 - asyncssh's signature
        return True

    def public_key_auth_supported(self) -> bool:
        return True

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:  # noqa: ARG002 - asyncssh's signature
        return key == self._client_key


async def _run(process: asyncssh.SSHServerProcess[bytes], command: str) -> None:
    """Run one command in its own process group, which ends with the channel at the latest."""
    child = await asyncio.create_subprocess_exec(
        "/bin/sh",
        "-c",
        command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    closed = asyncio.ensure_future(process.channel.wait_closed())
    done = asyncio.ensure_future(_copy(child, process))
    try:
        await asyncio.wait((closed, done), return_when=asyncio.FIRST_COMPLETED)
    finally:
        with contextlib.suppress(ProcessLookupError):  # all of its group has ended
            os.killpg(child.pid, signal.SIGKILL)
        closed.cancel()
        await asyncio.gather(closed, done, return_exceptions=True)  # a channel that closed while we wrote


async def _copy(child: asyncio.subprocess.Process, process: asyncssh.SSHServerProcess[bytes]) -> None:
    """Pass on all output, then the way the command ended."""
    if child.stdout is None or child.stderr is None:
        raise RuntimeError("the command was started without pipes")
    await asyncio.gather(_pump(child.stdout, process.stdout), _pump(child.stderr, process.stderr))
    status = await child.wait()
    if status < 0:
        process.exit_with_signal(signal.Signals(-status).name.removeprefix("SIG"))
    else:
        process.exit(status)


async def _pump(source: asyncio.StreamReader, target: asyncssh.SSHWriter[bytes]) -> None:
    while chunk := await source.read(CHUNK_BYTES):
        target.write(chunk)
        await target.drain()
