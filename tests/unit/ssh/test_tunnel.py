"""Hosts behind a jump host."""

import asyncio

import pytest

from sshfacts.ssh.limits import PoolLimits
from tests.support.fault_host import Script
from tests.support.runs import command, run


@pytest.fixture
async def behind(start_host):
    """Return a jump host and a host, as settings that lead through it."""
    jump = await start_host({"facts": Script(out=b"jump"), "busy": Script(start_seconds=1.2)}, forwards=True)
    target = await start_host({"facts": Script(out=b"target"), "slow": Script(out=b"slow", start_seconds=0.3)})
    return jump, target, jump.as_host("bastion"), target.as_host("web-1", via="bastion")


async def test_a_command_runs_on_the_host_behind(behind, open_transport):
    jump, target, bastion, web = behind
    transport = open_transport(bastion, web)
    ran = await run(transport, web, "facts")
    assert ran.stdout == b"target"
    assert ran.evidence.host_key == target.host_key.get_fingerprint()
    assert (jump.seen.commands, target.seen.commands) == ([], ["facts"])


async def test_the_jump_host_s_connection_is_shared(behind, open_transport):
    jump, target, bastion, web = behind
    transport = open_transport(bastion, web)
    ran = await asyncio.gather(*(run(transport, web, "facts") for _ in range(20)), run(transport, bastion, "facts"))
    assert [one.stdout for one in ran] == [b"target"] * 20 + [b"jump"]
    assert target.seen.connections > 1
    assert jump.seen.connections == 1


async def test_both_hosts_are_pinned(behind, open_transport):
    jump, target, bastion, web = behind
    wrong_web = target.as_host("web-1", via="bastion", host_keys=bastion.host_keys)
    ran = await run(open_transport(bastion, wrong_web), wrong_web, "facts")
    assert (ran.detail, ran.evidence.host_key) == ("ssh.host_key", target.host_key.get_fingerprint())
    wrong_bastion = jump.as_host("bastion", host_keys=web.host_keys)
    ran = await run(open_transport(wrong_bastion, web), web, "facts")
    assert ran.detail == "ssh.host_key"
    assert ran.where.startswith("jump host bastion: pinned")
    assert ran.evidence.host_key is None  # the host itself has shown nothing


async def test_a_jump_host_that_forbids_forwarding(behind, open_transport):
    jump, _, bastion, web = behind
    jump.forwards = False
    ran = await run(open_transport(bastion, web), web, "facts")
    assert (ran.detail, ran.where) == ("ssh.channel", "the jump host forbids forwarding")


async def test_a_host_that_the_jump_host_cannot_reach(behind, open_transport):
    _, target, bastion, web = behind
    await target.stop()
    ran = await run(open_transport(bastion, web), web, "facts")
    assert (ran.detail, ran.where) == ("ssh.unreachable", "the jump host does not reach it")


async def test_a_jump_host_that_is_down(behind, open_transport):
    jump, _, bastion, web = behind
    await jump.stop()
    ran = await run(open_transport(bastion, web), web, "facts")
    assert (ran.detail, ran.where) == ("ssh.unreachable", "jump host bastion: ECONNREFUSED")


async def test_a_jump_host_that_dies_under_a_run(behind, open_transport):
    jump, _, bastion, web = behind
    transport = open_transport(bastion, web)
    assert (await run(transport, web, "facts")).status == 0
    running = asyncio.ensure_future(run(transport, web, command("slow", idempotent=False)))
    await asyncio.sleep(0.1)
    jump.cut()
    assert (await running).detail == "ssh.lost"
    assert (await run(transport, web, "facts")).stdout == b"target"


async def test_a_forward_that_is_confirmed_late_is_closed(behind, open_transport):
    jump, target, bastion, web = behind
    transport = open_transport(bastion, web, limits=PoolLimits(connect_seconds=0.5))
    busy = asyncio.ensure_future(run(transport, bastion, "busy"))
    await asyncio.sleep(0.1)
    jump.faults.open_seconds = 0.7
    ran = await run(transport, web, command("facts", seconds=2))
    assert ran.detail == "timeout.connect"
    assert not target.seen.connections
    await asyncio.sleep(0.3)
    assert (target.seen.connections, len(target.connections)) == (1, 0)
    assert (await busy).status == 0
    await asyncio.sleep(0.05)
    assert not jump.connections  # the connection that answered late is not used again


async def test_connections_through_it_hold_the_jump_host_open_and_let_it_go(behind, open_transport):
    jump, target, bastion, web = behind
    transport = open_transport(bastion, web)
    assert (await run(transport, web, "facts")).status == 0
    [held] = transport._pool(bastion).connections
    assert (held.tunnels, held.slots.taken) == (1, 0)
    held.retire()
    assert (await run(transport, web, "facts")).status == 0
    target.cut()
    for _ in range(100):
        if not jump.connections:
            break
        await asyncio.sleep(0.01)
    assert (held.tunnels, len(jump.connections)) == (0, 0)


async def test_a_chain_of_two_jump_hosts(start_host, open_transport):
    first, second = await start_host({}, forwards=True), await start_host({}, forwards=True)
    target = await start_host({"facts": Script(out=b"target")})
    hosts = first.as_host("first"), second.as_host("second", via="first"), target.as_host("web-1", via="second")
    assert (await run(open_transport(*hosts), hosts[-1], "facts")).stdout == b"target"
