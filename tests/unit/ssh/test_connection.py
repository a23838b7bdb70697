"""When a connection is retired, and that it is closed only when it carries nothing."""

import asyncio

import asyncssh
import pytest

from sshfacts.ssh import connection as module
from sshfacts.ssh.connection import PooledConnection
from sshfacts.ssh.limits import PoolLimits
from sshfacts.ssh.session import CommandSession
from sshfacts.ssh.slots import LEAKS_ALLOWED
from tests.support.fake_ssh import FakeChannel, FakeSsh
from tests.support.runs import Collector


def _connection(idle: float = 300, age: float = 3600) -> tuple[PooledConnection, FakeSsh]:
    ssh = FakeSsh()
    pooled = PooledConnection(ssh, None, None, PoolLimits(idle_seconds=idle, age_seconds=age), lambda: None)
    ssh.on_close = pooled.lost
    return pooled, ssh


def _session(channel: FakeChannel | None) -> CommandSession:
    session = CommandSession(Collector(), 1, 1)
    if channel is not None:
        session.connection_made(channel)
    return session


def _done(error: Exception | None = None) -> "asyncio.Future[None]":
    future = asyncio.get_running_loop().create_future()
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(error)
    return future


async def test_idle_for_long():
    pooled, ssh = _connection(idle=0.05)
    await asyncio.sleep(0.1)
    assert (pooled.is_usable, ssh.is_closed(), pooled.is_gone) == (False, True, True)


async def test_idle_counts_from_the_last_session():
    pooled, ssh = _connection(idle=0.2)
    for _ in range(4):
        pooled.take()
        await asyncio.sleep(0.1)
        pooled.give_back()
    assert not ssh.is_closed()
    await asyncio.sleep(0.5)
    assert ssh.is_closed()


async def test_old_with_a_session_on_it():
    pooled, ssh = _connection(age=0.05)
    pooled.take()
    await asyncio.sleep(0.1)
    assert (pooled.is_usable, ssh.is_closed()) == (False, False)
    pooled.give_back()
    assert ssh.is_closed()


async def test_a_tunnel_holds_it_open():
    pooled, ssh = _connection()
    pooled.take()
    pooled.take_tunnel()
    assert pooled.slots.taken == 0
    pooled.retire()
    assert not ssh.is_closed()
    pooled.give_back_tunnel()
    assert ssh.is_closed()


async def test_lifetimes_are_spread():
    lives = {_connection()[0]._retire_at - asyncio.get_running_loop().time() for _ in range(20)}
    assert len(lives) == 20
    assert all(3200 < life < 4000 for life in lives)


async def test_a_session_is_given_back_when_its_channel_is_closed_and_not_before():
    pooled, _ = _connection()
    session = _session(FakeChannel())
    pooled.take()
    pooled.settle(_done(), session)
    await asyncio.sleep(0.01)
    assert pooled.slots.taken == 1
    session.connection_lost(None)
    await asyncio.sleep(0.01)
    assert (pooled.slots.taken, pooled.is_usable) == (0, True)


async def test_a_channel_that_is_never_closed_costs_the_connection(monkeypatch):
    monkeypatch.setattr(module, "CLOSE_SECONDS", 0.02)
    pooled, ssh = _connection()
    pooled.take()
    pooled.settle(_done(), _session(FakeChannel()))
    await asyncio.sleep(0.1)
    assert (pooled.slots.taken, ssh.is_closed()) == (0, True)


async def test_an_open_that_is_never_answered_costs_the_connection(monkeypatch):
    monkeypatch.setattr(module, "CLOSE_SECONDS", 0.02)
    pooled, ssh = _connection()
    opening = asyncio.get_running_loop().create_future()
    pooled.take()
    pooled.settle(opening, _session(None))
    await asyncio.sleep(0.1)
    assert (pooled.slots.taken, ssh.is_closed()) == (0, True)
    opening.set_exception(asyncssh.ChannelOpenError(2, "late"))  # is seen by somebody, else it is logged
    await asyncio.sleep(0)


async def test_a_failed_open_gives_the_session_back_at_once():
    pooled, _ = _connection()
    pooled.take()
    pooled.settle(_done(asyncssh.ChannelOpenError(2, "x")), _session(None))
    assert (pooled.slots.taken, pooled.is_usable) == (0, True)


async def test_too_many_runs_without_an_end_cost_the_connection():
    pooled, _ = _connection()
    for number in range(LEAKS_ALLOWED + 1):
        assert pooled.is_usable, number
        session = _session(FakeChannel())
        pooled.take()
        pooled.settle(_done(), session)
        session.connection_lost(None)
    assert not pooled.is_usable


@pytest.mark.parametrize(("sessions", "aborted"), [(0, False), (1, True)])
async def test_closing_at_once_marks_what_it_cuts(sessions, aborted):
    pooled, ssh = _connection()
    for _ in range(sessions):
        pooled.take()
    await pooled.close()
    assert (pooled.aborted, ssh.is_closed()) == (aborted, True)


async def test_the_tunnel_is_let_go_when_the_connection_is_closed():
    let_go: list[str] = []
    ssh = FakeSsh()
    pooled = PooledConnection(ssh, None, None, PoolLimits(), lambda: let_go.append("tunnel"))
    ssh.on_close = pooled.lost
    pooled.retire()
    assert let_go == ["tunnel"]
