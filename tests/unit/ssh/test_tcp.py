import asyncio
import errno
import socket

import pytest

from sshfacts.ssh.options import TCP_USER_TIMEOUT_MS
from sshfacts.ssh.tcp import open_socket


@pytest.fixture
def listener():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def _addresses(monkeypatch, *addresses: str) -> None:
    async def getaddrinfo(_: object, port: int, **__: object) -> list[tuple[object, ...]]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 0, "", (address, port)) for address in addresses]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)


async def test_a_socket_that_gives_up_on_a_silent_peer(listener):
    with await open_socket("127.0.0.1", listener.getsockname()[1]) as opened:
        assert opened.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == TCP_USER_TIMEOUT_MS
        assert not opened.getblocking()


async def test_the_next_address_is_tried(listener, monkeypatch):
    _addresses(monkeypatch, "127.0.0.2", "127.0.0.1")
    with await open_socket("name", listener.getsockname()[1]) as opened:
        assert opened.getpeername()[0] == "127.0.0.1"


async def test_the_error_of_the_last_address_counts(listener, monkeypatch):
    port = listener.getsockname()[1]
    listener.close()
    with pytest.raises(ConnectionRefusedError) as caught:
        await open_socket("127.0.0.1", port)
    assert caught.value.errno == errno.ECONNREFUSED
    _addresses(monkeypatch)
    with pytest.raises(OSError, match="no address"):
        await open_socket("name", port)


async def test_a_cancelled_connect_leaves_no_socket(monkeypatch):
    made: list[socket.socket] = []
    is_connecting = asyncio.Event()

    async def never(opened: socket.socket, _: object) -> None:
        made.append(opened)
        is_connecting.set()
        await asyncio.sleep(30)

    monkeypatch.setattr(asyncio.get_running_loop(), "sock_connect", never)
    connecting = asyncio.ensure_future(open_socket("127.0.0.1", 1))
    await is_connecting.wait()
    connecting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await connecting
    assert made[0].fileno() == -1
