"""An SSH host inside the test, which answers by a script and misbehaves on request.

It is asyncssh's server, so it differs from OpenSSH: it sends no EOF before the close, acts on no signal,
and frees a session slot before it acknowledges the close. What depends on those is tested against a real
sshd (`tests.support.sshd`).
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self, cast

import asyncssh

from sshfacts.commands.settings import Credential, Host, Settings


@dataclass(frozen=True, slots=True)
class Script:
    """What one command does, in this order: wait, write, misbehave, end."""

    out: bytes = b""
    err: bytes = b""
    status: int | None = 0
    """`None` closes the channel without a status."""
    signal: str | None = None
    start_seconds: float = 0.0
    chunk: int = 0
    """Bytes of each packet; 0 sends all at once."""
    chunk_seconds: float = 0.0
    end_seconds: float = 0.0
    flood_out: bool = False
    flood_err: bool = False
    hang: bool = False
    echo: bool = False
    """Copies stdin to stdout until it ends."""
    drop_connection: bool = False
    """Cuts the connection instead of ending."""
    two_ends: bool = False
    """Sends two exit statuses, which breaks the protocol."""
    disconnect: bool = False
    """Sends a polite goodbye of the whole connection instead of ending."""


Scripts = Mapping[str, Script | Callable[[], Script]]


@dataclass(slots=True)
class Faults:
    """How the host as a whole behaves; tests change it while it runs."""

    max_sessions: int = 10
    """Over each connection, as sshd counts."""
    refuse_opens: int = 0
    """How many opens from now on are refused like sshd's MaxSessions."""
    open_code: int = asyncssh.OPEN_CONNECT_FAILED
    open_seconds: float = 0.0
    """How long an open waits for its confirmation."""
    refuse_exec: bool = False
    close_at_exec: bool = False
    """Closes the channel instead of answering the exec request."""
    cut_at_exec: bool = False
    """Cuts the connection instead of answering the exec request."""
    deny_login: bool = False
    login_seconds: float = 0.0
    banner: str = ""
    drop_after_login: bool = False


@dataclass(slots=True)
class Seen:
    """What the host went through."""

    logins: int = 0
    connections: int = 0
    commands: list[str] = field(default_factory=list)
    most_sessions: int = 0


class _Process(asyncssh.SSHServerProcess[bytes]):
    def __init__(self, host: "FaultHost", server: "_Server") -> None:
        super().__init__(host.handle, None, 3, False)
        self._host = host
        self._server = server
        host.sessions += 1
        server.sessions += 1
        host.seen.most_sessions = max(host.seen.most_sessions, host.sessions)

    def exec_requested(self, command: str) -> bool:
        faults = self._host.faults
        if faults.close_at_exec:
            self.channel.close()
        if faults.cut_at_exec:
            self.channel.get_connection().abort()
        return not faults.refuse_exec and super().exec_requested(command)

    def connection_lost(self, exc: Exception | None) -> None:
        self._host.sessions -= 1
        self._server.sessions -= 1
        super().connection_lost(exc)


class _Server(asyncssh.SSHServer):
    def __init__(self, host: "FaultHost") -> None:
        self._host = host
        self.sessions = 0

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._connection = conn
        self._host.connections.add(conn)
        self._host.seen.connections += 1

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncssh's signature
        self._host.connections.discard(self._connection)

    async def begin_auth(self, username: str) -> bool:  # noqa: ARG002 - asyncssh's signature
        faults = self._host.faults
        if faults.banner:
            self._connection.send_auth_banner(faults.banner)
        await asyncio.sleep(faults.login_seconds)
        return True

    def public_key_auth_supported(self) -> bool:
        return True

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:  # noqa: ARG002 - asyncssh's signature
        self._host.seen.logins += 1
        return not self._host.faults.deny_login and key == self._host.client_key

    def auth_completed(self) -> None:
        if self._host.faults.drop_after_login:
            asyncio.get_running_loop().call_soon(self._connection.abort)

    async def session_requested(self) -> "_Process":
        faults = self._host.faults
        await asyncio.sleep(faults.open_seconds)
        if faults.refuse_opens > 0 or self.sessions >= faults.max_sessions:
            faults.refuse_opens -= 1
            raise asyncssh.ChannelOpenError(faults.open_code, "open failed")
        return _Process(self._host, self)

    async def connection_requested(
        self,
        dest_host: str,
        dest_port: int,
        orig_host: str,  # noqa: ARG002 - asyncssh's signature
        orig_port: int,  # noqa: ARG002 - asyncssh's signature
    ) -> asyncssh.SSHTCPSession[bytes]:
        await asyncio.sleep(self._host.faults.open_seconds)
        if self._connection.is_closed():
            raise asyncssh.ChannelOpenError(asyncssh.OPEN_CONNECT_FAILED, "too late")  # else the forward would leak
        if not self._host.forwards:
            raise asyncssh.ChannelOpenError(asyncssh.OPEN_ADMINISTRATIVELY_PROHIBITED, "no")
        forwarder = await self._connection.forward_connection(dest_host, dest_port)
        return cast("asyncssh.SSHTCPSession[bytes]", forwarder)  # asyncssh's own type is wider than its use


class FaultHost:
    """Listens on 127.0.0.1 at a free port, and lets one client key in.

    Args:
        scripts: what each command does; another command ends with status 127.
        forwards: whether it serves as a jump host.
        more_host_keys: of other types, or with certificates.
    """

    def __init__(
        self,
        scripts: Scripts,
        client_key: asyncssh.SSHKey,
        *,
        forwards: bool = False,
        host_key: asyncssh.SSHKey | None = None,
        more_host_keys: Sequence[asyncssh.SSHKey | tuple[asyncssh.SSHKey, asyncssh.SSHCertificate]] = (),
    ) -> None:
        self.scripts = dict(scripts)
        self.client_key = client_key.convert_to_public()
        self.forwards = forwards
        self.host_key = host_key or asyncssh.generate_private_key("ssh-ed25519")
        self._more_host_keys = more_host_keys
        self.faults = Faults()
        self.seen = Seen()
        self.connections: set[asyncssh.SSHServerConnection] = set()
        self.sessions = 0
        self.port = 0
        self._acceptor: asyncssh.SSHAcceptor | None = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Listen; on the same port as before, if it was stopped."""
        self._acceptor = await asyncssh.listen(
            "127.0.0.1",
            self.port,
            server_factory=lambda: _Server(self),
            server_host_keys=[self.host_key, *self._more_host_keys],
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
        """Stop listening and cut every connection."""
        acceptor, self._acceptor = self._acceptor, None
        if acceptor is not None:
            acceptor.close()
        self.cut()
        await asyncio.sleep(0)
        if acceptor is not None:
            await acceptor.wait_closed()  # since Python 3.12 it waits for open connections as well

    def cut(self) -> None:
        """Cut every connection."""
        for connection in tuple(self.connections):
            connection.abort()

    def public_line(self) -> str:
        """Return the host key as one pins it."""
        return self.host_key.export_public_key("openssh").decode().strip()

    def as_host(self, alias: str = "web-1", **changes: object) -> Host:
        """Return the settings of this host."""
        host = Host(
            alias=alias,
            address="127.0.0.1",
            port=self.port,
            user="facts",
            credential="key",
            host_keys=(self.public_line(),),
        )
        return replace(host, **changes)  # type: ignore[arg-type]

    async def handle(self, process: asyncssh.SSHServerProcess[bytes]) -> None:
        """Play the script of one command."""
        self.seen.commands.append(process.command or "")
        script = self.scripts.get(process.command or "")
        if script is None:
            process.stderr.write(b"not found\n")
            process.exit(127)
            return
        try:
            await self._play(process, script if isinstance(script, Script) else script())
        except (BrokenPipeError, ConnectionError, asyncssh.Error):
            return  # the client went away; that is its right

    async def _play(self, process: asyncssh.SSHServerProcess[bytes], script: Script) -> None:
        await asyncio.sleep(script.start_seconds)
        await self._write(process, script)
        connection = process.channel.get_connection()
        if script.drop_connection:
            await asyncio.sleep(0.01)  # let the bytes before it go out
            connection.abort()
        elif script.two_ends:
            for _ in range(2):
                process.channel._send_request(b"exit-status", bytes(4))
        elif script.disconnect:
            connection.close()
        elif script.hang:
            await process.channel.wait_closed()
        else:
            await asyncio.sleep(script.end_seconds)
            if script.signal is not None:
                process.exit_with_signal(script.signal)
            elif script.status is None:
                process.channel.close()
            else:
                process.exit(script.status)

    async def _write(self, process: asyncssh.SSHServerProcess[bytes], script: Script) -> None:
        while script.echo and (data := await process.stdin.read(4096)):
            process.stdout.write(data)
        size = script.chunk or len(script.out) or 1
        for start in range(0, len(script.out), size):
            if process.channel.is_closing():
                return
            process.stdout.write(script.out[start : start + size])
            await asyncio.sleep(script.chunk_seconds)
        if script.err:
            process.stderr.write(script.err)
        while (script.flood_out or script.flood_err) and not process.channel.is_closing():
            stream = process.stdout if script.flood_out else process.stderr
            stream.write(b"y\n" * 8192)
            await stream.drain()
            await asyncio.sleep(0)


def write_key(folder: Path, key: asyncssh.SSHKey, name: str = "id", passphrase: str | None = None) -> Path:
    """Write a private key for the current user alone, and return its path."""
    path = folder / name
    # OpenSSH's format derives its key with bcrypt, which takes a second; PKCS #8 does not.
    path.write_bytes(key.export_private_key("openssh" if passphrase is None else "pkcs8-pem", passphrase))
    path.chmod(0o600)
    return path


def settings_for(key_file: Path, *hosts: Host) -> Settings:
    """Return settings with these hosts and one credential, `key`."""
    return Settings(
        path=key_file.parent / "sshfacts.toml",
        service_name="test",
        database_url="sqlite://",
        hosts={host.alias: host for host in hosts},
        credentials={"key": Credential(name="key", key_file=key_file)},
    )
