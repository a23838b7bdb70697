"""Making one connection: verified, logged in, and watched."""

import asyncio
import logging
from collections.abc import Callable

import asyncssh

from sshfacts.ssh.connection import PooledConnection
from sshfacts.ssh.credentials import LoadedCredential
from sshfacts.ssh.faults import Unconnected, Useless, unconnected
from sshfacts.ssh.host_keys import Trust
from sshfacts.ssh.limits import PoolLimits
from sshfacts.ssh.options import connect_options
from sshfacts.ssh.way import Opened, Way

_LOG = logging.getLogger(__name__)


class _Watch(asyncssh.SSHClient):
    """Sees what asyncssh tells about one connection: the key the host shows, and its end."""

    def __init__(self) -> None:
        self.connection: PooledConnection | None = None
        self._ssh: asyncssh.SSHClientConnection | None = None
        self._refused_key: str | None = None

    @property
    def host_key(self) -> str | None:
        """Fingerprint of the key the host showed, accepted or not, if it came that far."""
        if self._refused_key is not None or self._ssh is None:
            return self._refused_key
        accepted = self._ssh.get_server_host_key()
        return None if accepted is None else accepted.get_fingerprint()

    def connection_made(self, conn: asyncssh.SSHClientConnection) -> None:
        """Take the connection, whose handshake is still to come."""
        self._ssh = conn

    def validate_host_public_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:  # noqa: ARG002 - asyncssh's signature
        """Take down a key that is not pinned. It is asked only for those, and the answer is always no."""
        self._refused_key = key.get_fingerprint()
        return False

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncssh's signature
        """Pass on that the connection is closed."""
        if self.connection is not None:
            self.connection.lost()


class Dialer:
    """Makes connections to one host.

    Args:
        credential: asked at each login, since a reload may have changed it.
        gate: shared by all hosts, held during key exchange and login. Twenty of those at once hold up the
            event loop for 130 ms. It is not held while TCP connects, so hosts that are down keep none out.
    """

    def __init__(
        self,
        way: Way,
        credential: Callable[[], LoadedCredential],
        trust: Trust,
        limits: PoolLimits,
        gate: asyncio.Semaphore,
    ) -> None:
        self._way = way
        self._credential = credential
        self._trust = trust
        self._limits = limits
        self._gate = gate

    async def connect(self) -> PooledConnection:
        """Return a new connection, logged in.

        Raises:
            Unconnected: it could not be made; the host key that was seen is in it.
        """
        try:
            opened = await self._way.open()
            try:
                async with self._gate:
                    return await self._log_in(opened)
            except BaseException:
                opened.close()
                raise
        except Unconnected as refusal:
            _LOG.warning("no connection to %s: %s", self._way.host.alias, refusal)
            raise

    async def _log_in(self, opened: Opened) -> PooledConnection:
        watch, seconds = _Watch(), opened.seconds
        try:
            async with asyncio.timeout(seconds), self._credential().offer() as offer:
                options = connect_options(self._way.host, self._trust, offer.pair, seconds, lambda: watch)
                connection = await opened.connect(options)
        except Exception as error:  # noqa: BLE001 - the table of faults knows what is not known, too
            raise self._explained(unconnected(error, watch.host_key)) from None
        let_go = _nothing if opened.tunnel is None else opened.tunnel.close
        pooled = PooledConnection(connection, watch.host_key, offer.fingerprint, self._limits, let_go)
        watch.connection = pooled
        if connection.is_closed():  # between the login and here, so the watch had nobody to tell
            pooled.lost()
            raise Useless("ssh.unreachable", "the host hung up right after the login", pooled.host_key)
        return pooled

    def _explained(self, refusal: Unconnected) -> Unconnected:
        if refusal.detail != "ssh.host_key":
            return refusal
        seen = refusal.host_key or "a key that is revoked, or a certificate that is not valid"
        where = f"pinned {self._trust.describe()}; the host showed {seen}"
        return Unconnected(refusal.detail, where, refusal.host_key)


def _nothing() -> None:
    """Let go of no tunnel."""
