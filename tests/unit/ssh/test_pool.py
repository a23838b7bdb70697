"""The queue and the connections of one host, on connections that are made of nothing."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from sshfacts.errors import Refusal
from sshfacts.ssh.connection import PooledConnection
from sshfacts.ssh.faults import Unconnected
from sshfacts.ssh.limits import BackoffLimits, PoolLimits
from sshfacts.ssh.pool import HostPool
from tests.support.fake_ssh import FakeSsh

BACKOFF = BackoffLimits(first=0.05, longest=0.1, first_mistaken=30.0, longest_mistaken=60.0)


class Connector:
    """Makes connections, or fails to, and counts both."""

    def __init__(self) -> None:
        self.made: list[FakeSsh] = []
        self.asked = 0
        self.at_once = 0
        self.most_at_once = 0
        self.refusal: Unconnected | None = None
        self.gate = asyncio.Event()
        self.gate.set()

    async def connect(self) -> PooledConnection:
        self.asked += 1
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await asyncio.sleep(0)
            await self.gate.wait()
        finally:
            self.at_once -= 1
        if self.refusal is not None:
            raise self.refusal
        ssh = FakeSsh()
        self.made.append(ssh)
        pooled = PooledConnection(ssh, "SHA256:x", None, PoolLimits(), lambda: None)
        ssh.on_close = pooled.lost
        return pooled


@pytest.fixture
def connector() -> Connector:
    return Connector()


@pytest.fixture
async def pool(connector: Connector) -> AsyncIterator[HostPool]:
    pool = HostPool(connector.connect, PoolLimits(waiting=100, backoff=BACKOFF))
    yield pool
    await pool.close(0)


def _soon(seconds: float = 5.0) -> float:
    return asyncio.get_running_loop().time() + seconds


async def _turns(count: int = 20) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_a_cold_herd_makes_one_probe_first(pool, connector):
    connector.gate.clear()
    herd = [asyncio.ensure_future(pool.lease(_soon())) for _ in range(50)]
    await _turns()
    assert connector.asked == 1
    connector.gate.set()
    await _turns()
    assert connector.asked == 3
    assert sum(lease.done() for lease in herd) == 12
    for lease in herd:
        (await lease).give_back()
    assert len(connector.made) == 3


async def test_a_probe_that_fails_refuses_the_whole_herd_with_one_connect(pool, connector):
    connector.refusal = Unconnected("ssh.login", "why", "SHA256:seen")
    herd = await asyncio.gather(*(pool.lease(_soon()) for _ in range(50)), return_exceptions=True)
    assert connector.asked == 1
    assert {(error.detail, error.where, error.host_key) for error in herd} == {("ssh.login", "why", "SHA256:seen")}
    assert len({id(error) for error in herd}) == 50


async def test_nobody_knocks_while_the_host_is_left_alone(pool, connector):
    connector.refusal = Unconnected("ssh.unreachable")
    for _ in range(5):
        with pytest.raises(Unconnected, match=r"ssh\.unreachable"):
            await pool.lease(_soon())
    assert connector.asked == 1
    assert pool.pause() > 0
    connector.refusal = None
    await asyncio.sleep(0.07)
    assert pool.pause() == 0
    (await pool.lease(_soon())).give_back()
    assert connector.asked == 2


async def test_no_connection_is_added_for_calls_that_fit(pool, connector):
    leases = [await pool.lease(_soon()) for _ in range(4)]
    await _turns()
    assert connector.asked == 1
    for lease in leases:
        lease.give_back()


async def test_four_sessions_and_three_connections_at_most(pool, connector):
    leases = [asyncio.ensure_future(pool.lease(_soon())) for _ in range(30)]
    await _turns(50)
    assert sorted(one.slots.taken for one in pool.connections) == [4, 4, 4]
    for lease in leases:
        (await lease).give_back()
    assert connector.most_at_once <= 2


async def test_first_come_first_served(connector):
    pool = HostPool(connector.connect, PoolLimits(connections=1, sessions=1))
    order: list[int] = []

    async def call(number: int) -> None:
        lease = await pool.lease(_soon())
        order.append(number)
        await asyncio.sleep(0)
        lease.give_back()

    await asyncio.gather(*(call(number) for number in range(20)))
    assert order == list(range(20))
    await pool.close(0)


async def test_a_full_queue_refuses_at_once(connector):
    pool = HostPool(connector.connect, PoolLimits(connections=1, sessions=1, waiting=2))
    held = await pool.lease(_soon())
    waiting = [asyncio.ensure_future(pool.lease(_soon())) for _ in range(2)]
    await _turns()
    with pytest.raises(Refusal, match=r"busy\.host"):
        await pool.lease(_soon())
    held.give_back()
    for lease in waiting:
        (await lease).give_back()
    await pool.close(0)


async def test_a_deadline_in_the_queue_and_one_before_the_login(connector):
    pool = HostPool(connector.connect, PoolLimits(connections=1, sessions=1))
    connector.gate.clear()
    with pytest.raises(Refusal, match=r"timeout\.connect"):
        await pool.lease(_soon(0.01))
    connector.gate.set()
    held = await pool.lease(_soon())
    with pytest.raises(Refusal, match=r"timeout\.queue"):
        await pool.lease(_soon(0.01))
    held.give_back()
    (await pool.lease(_soon())).give_back()  # who gave up has left no place in the queue
    await pool.close(0)


async def test_a_session_given_to_one_who_was_cancelled_meanwhile_goes_on(connector):
    pool = HostPool(connector.connect, PoolLimits(connections=1, sessions=1))
    held = await pool.lease(_soon())
    cancelled, patient = (asyncio.ensure_future(pool.lease(_soon())) for _ in range(2))
    await _turns()
    held.give_back()  # the place of the first is filled now, and its task has not run yet
    cancelled.cancel()
    (await asyncio.wait_for(patient, 1)).give_back()
    assert cancelled.cancelled() or cancelled.done()
    assert held.slots.taken == 0
    await pool.close(0)


async def test_a_retired_connection_is_drained_and_then_closed(pool, connector):
    lease = await pool.lease(_soon())
    lease.retire()
    assert not connector.made[0].is_closed()
    other = await pool.lease(_soon())
    assert other is not lease
    lease.give_back()
    assert connector.made[0].is_closed()
    assert pool.connections == (other,)
    other.give_back()


async def test_a_connection_that_died_is_replaced(pool, connector):
    first = await pool.lease(_soon())
    first.opened()
    first.give_back()
    connector.made[0].close()
    lease = await pool.lease(_soon())
    assert lease.ssh is connector.made[1]
    lease.give_back()


async def test_connections_that_die_under_their_calls_do_not_stop_the_queue(connector):
    pool = HostPool(connector.connect, PoolLimits(connections=1, sessions=1))
    held = await pool.lease(_soon())
    waiting = asyncio.ensure_future(pool.lease(_soon()))
    await _turns()
    held.opened()
    connector.made[0].close()
    assert (await waiting) is not held
    held.give_back()
    waiting.result().give_back()
    await pool.close(0)


async def test_retired_connections_that_never_drain_bound_the_number_of_new_ones(pool, connector):
    held = []
    for _ in range(6):
        held.append(await pool.lease(_soon()))
        held[-1].retire()
    with pytest.raises(Refusal, match=r"timeout\.connect"):
        await pool.lease(_soon(0.05))
    assert connector.asked == 6
    held.pop().give_back()
    (await pool.lease(_soon())).give_back()
    for lease in held:
        lease.give_back()


async def test_a_failed_addition_leaves_the_calls_to_the_connections_there_are(pool, connector):
    first = await pool.lease(_soon())
    connector.refusal = Unconnected("ssh.unreachable")
    more = [asyncio.ensure_future(pool.lease(_soon())) for _ in range(4)]
    await _turns()
    assert connector.asked == 2
    first.give_back()
    for lease in more:
        (await lease).give_back()


async def test_a_fault_of_connecting_refuses_the_queue(pool, connector):
    connector.refusal = ZeroDivisionError()
    with pytest.raises(Refusal, match="internal"):
        await pool.lease(_soon())


async def test_close_refuses_those_who_wait_and_waits_for_those_who_run(connector):
    pool = HostPool(connector.connect, PoolLimits(connections=1, sessions=1))
    held = await pool.lease(_soon())
    waiting = asyncio.ensure_future(pool.lease(_soon()))
    await _turns()
    closing = asyncio.ensure_future(pool.close(5))
    with pytest.raises(Unconnected, match="stopping"):
        await waiting
    await _turns()
    assert not closing.done()
    held.give_back()
    await asyncio.wait_for(closing, 1)
    assert connector.made[0].is_closed()
    assert not held.aborted


async def test_close_while_a_connection_is_made(connector):
    pool = HostPool(connector.connect, PoolLimits())
    connector.gate.clear()
    waiting = asyncio.ensure_future(pool.lease(_soon()))
    await _turns()
    await pool.close(0)
    with pytest.raises(Unconnected, match="stopping"):
        await waiting
    assert connector.at_once == 0
