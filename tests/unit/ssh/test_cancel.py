"""A caller that goes away at any point leaves neither a channel nor a place in the queue behind."""

import asyncio

import pytest

from sshfacts.ssh.limits import PoolLimits
from tests.support.fault_host import Script
from tests.support.runs import Ran, command, run


async def _settled(host, transport) -> None:
    """Wait until no channel is open on the host and no session is taken in the pool."""
    for _ in range(200):
        taken = sum(one.slots.taken for pool in transport._pools.values() for one in pool.connections)
        if not host.sessions and not taken:
            return
        await asyncio.sleep(0.01)
    pytest.fail(f"{host.sessions} channels are open, {taken} sessions are taken")


async def _cancelled(transport, host, what, after: float) -> Ran:
    ran = Ran()
    running = asyncio.ensure_future(transport.run(host, command(what), ran.sink, ran.evidence))
    await asyncio.sleep(after)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    return ran


async def test_while_the_command_runs(start_host, open_transport):
    host = await start_host({"hang": Script(out=b"part", hang=True), "next": Script()})
    transport = open_transport(host.as_host())
    ran = await _cancelled(transport, host.as_host(), "hang", 0.1)
    assert ran.evidence.end_unconfirmed
    assert (ran.details, ran.stdout, ran.evidence.stdout_bytes) == (["cancelled"], b"part", 4)
    await _settled(host, transport)
    assert (await run(transport, host.as_host(), "next")).status == 0
    assert host.seen.connections == 1


async def test_while_the_channel_opens_nothing_is_ever_run(start_host, open_transport):
    host = await start_host({"change": Script(), "next": Script()})
    transport = open_transport(host.as_host())
    assert (await run(transport, host.as_host(), "next")).status == 0
    host.faults.open_seconds = 0.2
    ran = await _cancelled(transport, host.as_host(), "change", 0.1)
    assert (ran.evidence.started_at, ran.evidence.end_unconfirmed) == (None, False)
    host.faults.open_seconds = 0.0
    await _settled(host, transport)
    assert host.seen.commands == ["next"]  # the open was confirmed late, and no exec followed
    assert (await run(transport, host.as_host(), "next")).status == 0
    assert host.seen.connections == 2  # and its connection is not used again


async def test_while_a_deadline_passes_at_the_open(start_host, open_transport):
    host = await start_host({"change": Script(), "next": Script()})
    transport = open_transport(host.as_host())
    assert (await run(transport, host.as_host(), "next")).status == 0
    host.faults.open_seconds = 1.2
    ran = await run(transport, host.as_host(), command("change", seconds=0, idempotent=False))
    assert (ran.detail, ran.evidence.started_at) == ("timeout.connect", None)
    await _settled(host, transport)
    assert host.seen.commands == ["next"]


async def test_while_the_connection_is_made(start_host, open_transport):
    host = await start_host({"next": Script()})
    host.faults.login_seconds = 0.2
    transport = open_transport(host.as_host())
    ran = await _cancelled(transport, host.as_host(), "next", 0.1)
    assert (ran.details, ran.evidence.started_at) == (["cancelled"], None)
    assert (await run(transport, host.as_host(), "next")).status == 0
    await _settled(host, transport)
    assert host.seen.connections == 1


async def test_while_waiting_in_the_queue(start_host, open_transport):
    host = await start_host({"slow": Script(start_seconds=0.3), "next": Script()})
    transport = open_transport(host.as_host(), limits=PoolLimits(connections=1, sessions=1))
    slow = asyncio.ensure_future(run(transport, host.as_host(), "slow"))
    await asyncio.sleep(0.1)
    await _cancelled(transport, host.as_host(), "next", 0.05)
    assert (await slow).status == 0
    assert (await run(transport, host.as_host(), "next")).status == 0
    await _settled(host, transport)


async def test_at_every_turn_of_the_loop(start_host, open_transport):
    """The window between two steps is where sessions leak; so cancel after each number of turns."""
    host = await start_host({"facts": Script(out=b"{}"), "next": Script()})
    transport = open_transport(host.as_host())
    assert (await run(transport, host.as_host(), "next")).status == 0
    for turns in range(30):
        ran = Ran()
        running = asyncio.ensure_future(transport.run(host.as_host(), command("facts"), ran.sink, ran.evidence))
        for _ in range(turns):
            await asyncio.sleep(0)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    await _settled(host, transport)
    several = await asyncio.gather(*(run(transport, host.as_host(), "next") for _ in range(20)))
    assert {ran.status for ran in several} == {0}


async def test_a_storm(start_host, open_transport):
    host = await start_host({"hang": Script(hang=True), "next": Script()})
    transport = open_transport(host.as_host())
    storm = [
        asyncio.ensure_future(transport.run(host.as_host(), command("hang"), Ran().sink, Ran().evidence))
        for _ in range(60)
    ]
    await asyncio.sleep(0.2)
    for running in storm:
        running.cancel()
    await asyncio.gather(*storm, return_exceptions=True)
    await _settled(host, transport)
    several = await asyncio.gather(*(run(transport, host.as_host(), "next") for _ in range(30)))
    assert {ran.status for ran in several} == {0}
    assert host.seen.most_sessions <= 24
