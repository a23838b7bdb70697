"""A way through a jump host: one forwarded channel on a connection of the jump host's pool."""

import asyncio
from collections.abc import Callable

import asyncssh

from sshfacts.ssh.connection import PooledConnection

Opened = tuple[asyncssh.SSHTCPChannel[bytes], asyncssh.SSHTCPSession[bytes]]


class Tunnel:
    """Holds a connection of a jump host open for one connection that runs through it.

    asyncssh takes it as the `tunnel` of a connect. Its own way leaks the forwarded channel when the
    connect is cancelled before the jump host answered; this one closes the channel that comes late.

    Args:
        jump: leased from the pool of the jump host; `close` gives it back.
    """

    def __init__(self, jump: PooledConnection) -> None:
        jump.take_tunnel()
        self._jump = jump
        self._is_open = True

    async def create_connection(
        self, session_factory: Callable[[], asyncssh.SSHTCPSession[bytes]], remote_host: str, remote_port: int
    ) -> Opened:
        """Open the channel; asyncssh calls this."""
        opening = asyncio.ensure_future(self._jump.ssh.create_connection(session_factory, remote_host, remote_port))
        try:
            opened = await asyncio.shield(opening)
        except asyncio.CancelledError:
            opening.add_done_callback(_close_late)
            self._jump.retire()
            raise
        self._jump.opened()
        return opened

    def close(self) -> None:
        """Let go of the jump host's connection; a second call does nothing."""
        if self._is_open:
            self._is_open = False
            self._jump.give_back_tunnel()

    async def wait_closed(self) -> None:
        """Return at once: the connection is the pool's to close. asyncssh's protocol asks for it."""


def _close_late(opening: "asyncio.Future[Opened]") -> None:
    if not opening.cancelled() and opening.exception() is None:
        channel, _ = opening.result()
        channel.abort()
