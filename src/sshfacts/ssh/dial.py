"""Making one connection: through the jump host if there is one, verified, logged in, and watched."""

import asyncio
import logging
import socket

import asyncssh

from sshfacts.commands.settings import Host
from sshfacts.errors import Refusal
from sshfacts.ssh.connection import PooledConnection
from sshfacts.ssh.credentials import LoadedCredential
from sshfacts.ssh.faults import Unconnected, unconnected
from sshfacts.ssh.host_keys import Trust
from sshfacts.ssh.limits import PoolLimits
from sshfacts.ssh.options import connect_options
from sshfacts.ssh.pool import HostPool
from sshfacts.ssh.tcp import open_socket
from sshfacts.ssh.tunnel import Tunnel

_LOG = logging.getLogger(__name__)


class _Watch(asyncssh.SSHClient):
    """Sees what asyncssh tells about one connection: the key the host shows, and its end."""

    def __init__(self) -> None:
        self.host_key: str | None = None
        self.connection: PooledConnection | None = None

    def validate_host_public_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:  # noqa: ARG002 - asyncssh's signature
        """Take down a key that is not pinned. It is asked only for those, and the answer is always no."""
        self.host_key = key.get_fingerprint()
        return False

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncssh's signature
        """Pass on that the connection is closed."""
        if self.connection is not None:
            self.connection.lost()


class Dialer:
    """Makes connections to one host.

    Args:
        gate: shared by all hosts, held during key exchange and login. Twenty of those at once hold up the
            event loop for 130 ms. It is not held while TCP connects, so hosts that are down keep none out.
        jump: the pool of the host to go through.
    """

    def __init__(
        self,
        host: Host,
        credential: LoadedCredential,
        trust: Trust,
        limits: PoolLimits,
        gate: asyncio.Semaphore,
        jump: HostPool | None,
    ) -> None:
        self._host = host
        self._credential = credential
        self._trust = trust
        self._limits = limits
        self._gate = gate
        self._jump = jump

    async def connect(self) -> PooledConnection:
        """Return a new connection, logged in.

        Raises:
            Unconnected: it could not be made; the host key that was seen is in it.
        """
        try:
            return await (self._connect_direct() if self._jump is None else self._connect_through(self._jump))
        except Unconnected as refusal:
            _LOG.warning("no connection to %s: %s", self._host.alias, refusal)
            raise

    async def _connect_direct(self) -> PooledConnection:
        loop = asyncio.get_running_loop()
        end = loop.time() + self._limits.connect_seconds
        try:
            async with asyncio.timeout_at(end):
                opened = await open_socket(self._host.address, self._host.port)
        except OSError as error:
            raise unconnected(error, None) from None
        left = end - loop.time()
        try:
            async with self._gate:
                return await self._log_in(left, opened=opened)
        except BaseException:
            opened.close()  # asyncssh closes it as well once it has it; closing twice does no harm
            raise

    async def _connect_through(self, jump: HostPool) -> PooledConnection:
        loop = asyncio.get_running_loop()
        try:
            leased = await jump.lease(loop.time() + self._limits.connect_seconds)
        except Refusal as refusal:
            place = f"jump host {self._host.via}"
            where = place if refusal.where is None else f"{place}: {refusal.where}"
            raise Unconnected(refusal.detail, where) from None
        tunnel = Tunnel(leased)
        try:
            async with self._gate:
                return await self._log_in(self._limits.connect_seconds, tunnel=tunnel)
        except BaseException:
            tunnel.close()
            raise

    async def _log_in(
        self, seconds: float, opened: socket.socket | None = None, tunnel: Tunnel | None = None
    ) -> PooledConnection:
        watch = _Watch()
        try:
            async with asyncio.timeout(seconds), self._credential.offer() as offer:
                options = connect_options(self._host, self._trust, offer.pair, seconds, lambda: watch)
                connection = await asyncssh.connect(
                    self._host.address, self._host.port, sock=opened, tunnel=tunnel or (), config=None, options=options
                )
        except Exception as error:  # noqa: BLE001 - the table of faults knows what is not known, too
            raise self._explained(unconnected(error, watch.host_key)) from None
        shown = connection.get_server_host_key()
        pooled = PooledConnection(
            connection,
            None if shown is None else shown.get_fingerprint(),
            offer.fingerprint,
            self._limits,
            _nothing if tunnel is None else tunnel.close,
        )
        watch.connection = pooled
        if connection.is_closed():  # between the login and here, so the watch had nobody to tell
            pooled.lost()
            raise Unconnected("ssh.unreachable", "the host hung up right after the login", pooled.host_key)
        return pooled

    def _explained(self, refusal: Unconnected) -> Unconnected:
        if refusal.detail != "ssh.host_key":
            return refusal
        seen = refusal.host_key or "a key that is revoked, or a certificate that is not valid"
        where = f"pinned {self._trust.describe()}; the host showed {seen}"
        return Unconnected(refusal.detail, where, refusal.host_key)


def _nothing() -> None:
    """Let go of no tunnel."""
