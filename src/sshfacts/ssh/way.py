"""The way to an address: straight, or through a jump host. It ends where the SSH handshake begins."""

import asyncio
import socket
from dataclasses import dataclass

import asyncssh

from sshfacts.commands.settings import Host
from sshfacts.errors import Refusal
from sshfacts.ssh.faults import Unconnected, unconnected
from sshfacts.ssh.pool import HostPool
from sshfacts.ssh.tcp import open_socket
from sshfacts.ssh.tunnel import Tunnel


@dataclass(frozen=True, slots=True)
class Opened:
    """A way that is open, as one of two things; who opened it closes it if nothing comes of it."""

    seconds: float
    """What is left for the handshake."""
    direct: socket.socket | None = None
    tunnel: Tunnel | None = None

    async def connect(self, options: asyncssh.SSHClientConnectionOptions) -> asyncssh.SSHClientConnection:
        """Do the whole handshake, login included; raises what asyncssh raises."""
        return await asyncssh.connect(
            options.host, options.port, sock=self.direct, tunnel=self.tunnel or (), config=None, options=options
        )

    def close(self) -> None:
        """Let go of it; a second call does nothing, nor does one after asyncssh closed the socket."""
        if self.direct is not None:
            self.direct.close()
        if self.tunnel is not None:
            self.tunnel.close()


class Way:
    """How one host is reached.

    Args:
        seconds: for TCP, key exchange and login together; a jump host has as many for itself.
        jump: the pool of the host to go through.
    """

    def __init__(self, host: Host, seconds: float, jump: HostPool | None) -> None:
        self.host = host
        self._seconds = seconds
        self._jump = jump

    async def open(self) -> Opened:
        """Return the open way.

        Raises:
            Unconnected: nothing listens there, or the jump host cannot be used.
        """
        return await (self._straight() if self._jump is None else self._through(self._jump))

    async def _straight(self) -> Opened:
        loop = asyncio.get_running_loop()
        end = loop.time() + self._seconds
        try:
            async with asyncio.timeout_at(end):
                opened = await open_socket(self.host.address, self.host.port)
        except OSError as error:
            raise unconnected(error, None) from None
        return Opened(end - loop.time(), direct=opened)

    async def _through(self, jump: HostPool) -> Opened:
        try:
            leased = await jump.lease(asyncio.get_running_loop().time() + self._seconds)
        except Refusal as refusal:
            place = f"jump host {self.host.via}"
            where = place if refusal.where is None else f"{place}: {refusal.where}"
            raise Unconnected(refusal.detail, where) from None
        return Opened(self._seconds, tunnel=Tunnel(leased))
