"""Looking at the keys of a host, without logging in."""

import asyncio
from dataclasses import replace

import asyncssh
import pytest

from sshfacts.errors import SiteError
from sshfacts.ssh import way
from sshfacts.ssh.faults import Unconnected
from sshfacts.ssh.scan import scan_host
from tests.support.fault_host import settings_for


def _key(kind: str = "ssh-ed25519") -> asyncssh.SSHKey:
    return asyncssh.generate_private_key(kind)


@pytest.fixture
async def several(start_host):
    """Return a host with keys of three types and a certificate, and the authority that signed it."""
    authority, certified = _key(), _key("ecdsa-sha2-nistp384")
    certificate = authority.generate_host_certificate(certified, "test", principals=["127.0.0.1"])
    more = [_key("ecdsa-sha2-nistp256"), _key("ssh-rsa"), (certified, certificate)]
    return await start_host({}, more_host_keys=more), authority


async def test_every_type_is_shown_once_and_nobody_logs_in(several):
    host, authority = several
    shown = await scan_host(host.as_host(), None)
    assert [(one.kind, one.is_authority) for one in shown] == [
        ("ssh-ed25519", False),
        ("ecdsa-sha2-nistp256", False),
        ("ecdsa-sha2-nistp384", False),
        ("ssh-rsa", False),
        ("ssh-ed25519", True),
    ]
    assert shown[0].line == host.public_line()
    assert shown[0].fingerprint == host.host_key.get_fingerprint()
    assert shown[-1].fingerprint == authority.get_fingerprint()
    assert host.seen.logins == 0
    await asyncio.sleep(0.05)
    assert not host.connections


async def test_keys_of_a_host_that_is_not_in_the_settings_need_no_login_name(several):
    host, _ = several
    assert len(await scan_host(replace(host.as_host(), user="", credential="", host_keys=()), None)) == 5


@pytest.mark.parametrize("fault", ["nothing listens", "hangs up"])
async def test_a_host_that_shows_nothing(start_host, fault):
    host = await start_host({})
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    if fault == "nothing listens":
        server.close()
        await server.wait_closed()
    with pytest.raises(Unconnected, match=r"ssh\.unreachable"):
        await scan_host(host.as_host(port=port), None)
    server.close()


async def test_a_host_that_goes_away_in_between_is_not_taken_for_one_with_few_keys(several, monkeypatch):
    host, _ = several
    open_socket = way.open_socket
    opened: list[int] = []

    async def refuse_the_third(address: str, port: int):
        opened.append(port)
        if len(opened) > 2:
            raise ConnectionRefusedError
        return await open_socket(address, port)

    monkeypatch.setattr(way, "open_socket", refuse_the_third)
    with pytest.raises(Unconnected, match=r"ssh\.unreachable"):
        await scan_host(host.as_host(), None)


async def test_one_lost_connection_hides_no_key(several, monkeypatch):
    """sshd hangs up where it has no key of a kind that is left, and a network can do the same."""
    host, _ = several
    connect = asyncssh.connect
    calls: list[object] = []

    async def hang_up_once(*given: object, **options: object):
        calls.append(options)
        if len(calls) == 2:
            raise ConnectionResetError
        return await connect(*given, **options)

    monkeypatch.setattr(asyncssh, "connect", hang_up_once)
    assert len(await scan_host(host.as_host(), None)) == 5


async def test_a_host_behind_a_jump_host(start_host, several, key_file):
    host, _ = several
    jump = await start_host({}, forwards=True)
    bastion, behind = jump.as_host("bastion"), host.as_host("behind", via="bastion")
    assert len(await scan_host(behind, settings_for(key_file, bastion, behind))) == 5
    assert (jump.seen.connections, host.seen.logins) == (1, 0)
    await asyncio.sleep(0.05)
    assert not jump.connections
    jump.faults.deny_login = True
    with pytest.raises(Unconnected, match=r"ssh\.login \(jump host bastion: "):
        await scan_host(behind, settings_for(key_file, bastion, behind))


async def test_a_jump_host_needs_credentials_that_are_safe(start_host, key_file):
    jump = (await start_host({}, forwards=True)).as_host("bastion")
    key_file.chmod(0o644)
    with pytest.raises(SiteError, match="mode 0644"):
        await scan_host(replace(jump, alias="behind", via="bastion"), settings_for(key_file, jump))
