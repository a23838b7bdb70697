"""What a check of a host says, for each way in which it lets us in or not."""

import asyncio

import pytest

from sshfacts.commands.settings import Credential, Settings
from sshfacts.ssh import host_check
from sshfacts.ssh.host_check import NEEDS_TRUE, HostCheck, check_hosts
from sshfacts.ssh.limits import PoolLimits
from sshfacts.ssh.transport import SshTransport
from tests.support.fault_host import Script

SCRIPTS = {"true": Script()}


def _told(check: HostCheck) -> tuple[bool | None, bool | None, bool | None, str | None]:
    detail = None if check.refusal is None else check.refusal.detail
    return check.is_reachable, check.key_is_trusted, check.login_is_accepted, detail


async def test_a_host_that_can_be_used(start_host, open_transport):
    host = await start_host(SCRIPTS)
    [check] = await check_hosts(open_transport(host.as_host()), [host.as_host()])
    assert _told(check) == (True, True, True, None)
    assert (check.host_key, check.fix) == (host.host_key.get_fingerprint(), "")
    assert host.seen.commands == ["true"]


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ({"deny_login": True}, (True, True, False, "ssh.login")),
        ({"login_seconds": 3.0}, (True, True, None, "timeout.connect")),
        ({"refuse_exec": True}, (True, True, True, "ssh.channel")),
        ({"max_sessions": 0}, (True, True, True, "busy.host")),
        ({"drop_after_login": True}, (True, True, True, "ssh.unreachable")),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
async def test_a_host_that_cannot_be_used(start_host, open_transport, fault, told):
    host = await start_host(SCRIPTS)
    for name, value in fault.items():
        setattr(host.faults, name, value)
    transport = open_transport(host.as_host(), limits=PoolLimits(connect_seconds=0.5))
    [check] = await check_hosts(transport, [host.as_host()])
    assert _told(check) == told
    assert check.host_key == host.host_key.get_fingerprint()
    assert check.fix == check.refusal.entry.fix


async def test_another_key_than_the_pinned_one(start_host, open_transport):
    host, other = await start_host(SCRIPTS), await start_host({})
    pinned = host.as_host(host_keys=(other.public_line(),))
    [check] = await check_hosts(open_transport(pinned), [pinned])
    assert _told(check) == (True, False, None, "ssh.host_key")
    assert check.host_key == host.host_key.get_fingerprint()
    assert host.seen.logins == 0


async def test_a_revoked_key_is_told_although_it_is_not_seen(start_host, open_transport):
    host = await start_host(SCRIPTS)
    pinned = host.as_host(revoked_keys=(host.public_line(),))
    [check] = await check_hosts(open_transport(pinned), [pinned])
    assert (_told(check), check.host_key) == ((True, False, None, "ssh.host_key"), None)


async def test_a_host_that_is_down(start_host, open_transport):
    host = await start_host(SCRIPTS)
    await host.stop()
    [check] = await check_hosts(open_transport(host.as_host()), [host.as_host()])
    assert _told(check) == (False, None, None, "ssh.unreachable")


async def test_a_key_of_ours_that_cannot_be_used(start_host, key_file):
    host = (await start_host(SCRIPTS)).as_host()
    agent = {"key": Credential("key", agent_socket=key_file.parent / "no-agent")}
    transport = SshTransport(Settings(key_file, "test", "sqlite://", hosts={"web-1": host}, credentials=agent))
    try:
        [check] = await check_hosts(transport, [host])
    finally:
        await transport.close()
    assert _told(check) == (None, None, False, "ssh.login")


async def test_a_login_whose_shell_runs_nothing(start_host, open_transport):
    host = await start_host({"true": Script(out=b"This account is currently not available.\n", status=1)})
    [check] = await check_hosts(open_transport(host.as_host()), [host.as_host()])
    assert _told(check) == (True, True, True, "command.exit_status")
    assert (check.refusal.where, check.fix) == ("`true` ended with 1", NEEDS_TRUE)


async def test_hosts_behind_a_jump_host(start_host, open_transport):
    jump, target = await start_host(SCRIPTS, forwards=True), await start_host(SCRIPTS)
    bastion, web = jump.as_host("bastion"), target.as_host("web-1", via="bastion")
    checks = await check_hosts(open_transport(bastion, web), [bastion, web])
    assert [_told(check) for check in checks] == [(True, True, True, None)] * 2
    assert (jump.seen.connections, target.seen.connections) == (1, 1)
    jump.faults.deny_login = True
    [check] = await check_hosts(open_transport(bastion, web), [web])
    assert _told(check)[2:] == (False, "ssh.login")
    assert check.refusal.where.startswith("jump host bastion")


async def test_many_hosts_are_checked_at_once_up_to_a_limit(start_host, open_transport, monkeypatch):
    monkeypatch.setattr(host_check, "AT_ONCE", 3)
    host = await start_host({"true": Script(start_seconds=0.05)})
    hosts = [host.as_host(f"h{number}", user=f"u{number}") for number in range(8)]
    checks = asyncio.ensure_future(check_hosts(open_transport(*hosts), hosts))
    most = 0
    while not checks.done():
        most = max(most, host.sessions)
        await asyncio.sleep(0.005)
    assert [(check.host, check.refusal) for check in checks.result()] == [(host, None) for host in hosts]
    assert most == 3
