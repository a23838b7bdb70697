"""Moments of a connect that no host can be made to hit."""

import asyncio

import asyncssh
import pytest

from sshfacts.ssh import way
from sshfacts.ssh.credentials import load
from sshfacts.ssh.dial import Dialer
from sshfacts.ssh.faults import Unconnected
from sshfacts.ssh.host_keys import trust
from sshfacts.ssh.limits import PoolLimits
from sshfacts.ssh.way import Way
from tests.support.fake_ssh import FakeSsh
from tests.support.fault_host import Script, settings_for
from tests.support.runs import run


@pytest.fixture
def dialer(start_host, key_file):
    async def make() -> Dialer:
        host = (await start_host({})).as_host()
        credential = load(settings_for(key_file, host).credentials["key"])
        return Dialer(Way(host, 5.0, None), lambda: credential, trust(host), PoolLimits(), asyncio.Semaphore(1))

    return make


async def test_a_connection_that_ends_between_its_login_and_its_use(dialer, monkeypatch):
    async def connect(*_: object, sock: object, **__: object) -> FakeSsh:
        sock.close()
        ended = FakeSsh()
        ended.close()
        return ended

    dialer = await dialer()
    monkeypatch.setattr(asyncssh, "connect", connect)
    with pytest.raises(Unconnected, match="hung up right after the login"):
        await dialer.connect()


async def test_a_fault_that_nobody_knows_is_internal_and_shows_no_text(dialer, monkeypatch):
    async def connect(*_: object, **__: object) -> None:
        raise RuntimeError("text-of-the-peer")

    dialer = await dialer()
    monkeypatch.setattr(asyncssh, "connect", connect)
    with pytest.raises(Unconnected) as caught:
        await dialer.connect()
    assert (caught.value.detail, caught.value.where) == ("internal", "RuntimeError")
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


async def test_a_close_during_a_login_leaves_no_socket(start_host, open_transport, monkeypatch):
    opened = []
    open_socket = way.open_socket

    async def noted(address: str, port: int):
        opened.append(await open_socket(address, port))
        return opened[-1]

    monkeypatch.setattr(way, "open_socket", noted)
    host = await start_host({"facts": Script()})
    host.faults.login_seconds = 0.5
    transport = open_transport(host.as_host())
    waiting = asyncio.ensure_future(run(transport, host.as_host(), "facts"))
    await asyncio.sleep(0.1)
    await transport.close()
    assert (await waiting).detail == "ssh.unreachable"
    await asyncio.sleep(0.05)
    assert [one.fileno() for one in opened] == [-1]
    assert not host.connections
