"""The TCP part of a connect. It is apart because it waits without work, and so needs no turn at the gate."""

import asyncio
import contextlib
import socket

from sshfacts.ssh.options import TCP_USER_TIMEOUT_MS


async def open_socket(address: str, port: int) -> socket.socket:
    """Return a connected socket; the addresses of a name are tried in order.

    Raises:
        OSError: none of them can be connected; the error of the last one.
        socket.gaierror: the name does not resolve.
    """
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(address, port, type=socket.SOCK_STREAM)
    failure = OSError("the name has no address")
    for family, kind, protocol, _, target in found:
        opened = socket.socket(family, kind, protocol)
        try:
            opened.settimeout(0)
            _bound_silence(opened)
            await loop.sock_connect(opened, target)
        except OSError as error:
            opened.close()
            failure = error
        except BaseException:
            opened.close()
            raise
        else:
            return opened
    raise failure


def _bound_silence(opened: socket.socket) -> None:
    """Let the kernel end the connection when nobody acknowledges what we send."""
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux; elsewhere keepalive alone does it, later
        with contextlib.suppress(OSError):
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, TCP_USER_TIMEOUT_MS)
