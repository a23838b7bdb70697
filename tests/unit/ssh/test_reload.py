"""Credentials that are read anew while calls run."""

import asyncio

import asyncssh
import pytest

from sshfacts.commands.settings import Credential
from sshfacts.errors import SiteError
from sshfacts.ssh.limits import PoolLimits
from sshfacts.ssh.transport import SshTransport
from tests.support.fault_host import FaultHost, Script, settings_for, write_key
from tests.support.runs import command, run

SCRIPTS = {"facts": Script(out=b"ok"), "slow": Script(out=b"slow", start_seconds=0.3), "true": Script()}


@pytest.fixture
def new_key() -> asyncssh.SSHKey:
    return asyncssh.generate_private_key("ssh-ed25519")


def _exchange(host: FaultHost, key_file, key: asyncssh.SSHKey) -> None:
    """Give host and service another key, as an operator does."""
    host.client_key = key.convert_to_public()
    write_key(key_file.parent, key, key_file.name)


async def test_a_changed_key_counts_from_the_next_call_on(start_host, open_transport, key_file, client_key, new_key):
    host = await start_host(SCRIPTS)
    transport = open_transport(host.as_host())
    before = await run(transport, host.as_host(), "facts")
    _exchange(host, key_file, new_key)
    assert await transport.reload() == {"key"}
    after = await run(transport, host.as_host(), "facts")
    assert (before.evidence.key_fingerprint, after.evidence.key_fingerprint) == (
        client_key.get_fingerprint(),
        new_key.get_fingerprint(),
    )
    await asyncio.sleep(0.05)
    assert (host.seen.connections, len(host.connections)) == (2, 1)


async def test_a_key_that_did_not_change_costs_no_connection(start_host, open_transport):
    host = await start_host(SCRIPTS)
    transport = open_transport(host.as_host())
    assert (await run(transport, host.as_host(), "facts")).status == 0
    assert await transport.reload() == set()
    assert (await run(transport, host.as_host(), "facts")).status == 0
    assert host.seen.connections == 1


async def test_commands_that_run_keep_their_connection(start_host, open_transport, key_file, client_key, new_key):
    host = await start_host(SCRIPTS)
    transport = open_transport(host.as_host())
    running = asyncio.ensure_future(run(transport, host.as_host(), command("slow", idempotent=False)))
    await asyncio.sleep(0.1)
    _exchange(host, key_file, new_key)
    await transport.reload()
    assert (await run(transport, host.as_host(), "facts")).stdout == b"ok"
    assert not running.done()
    ran = await running
    assert (ran.stdout, ran.details) == (b"slow", [None])
    assert ran.evidence.key_fingerprint == client_key.get_fingerprint()
    await asyncio.sleep(0.05)
    assert len(host.connections) == 1


async def test_a_login_under_way_is_made_anew(start_host, open_transport, key_file, new_key):
    host = await start_host(SCRIPTS)
    host.faults.login_seconds = 0.2
    transport = open_transport(host.as_host())
    waiting = [asyncio.ensure_future(run(transport, host.as_host(), "facts")) for _ in range(5)]
    await asyncio.sleep(0.1)
    _exchange(host, key_file, new_key)
    await transport.reload()
    ran = await asyncio.gather(*waiting)
    assert {(one.status, one.evidence.key_fingerprint) for one in ran} == {(0, new_key.get_fingerprint())}


async def test_a_refused_login_that_was_mended_is_asked_for_at_once(start_host, open_transport, key_file, new_key):
    host = await start_host(SCRIPTS)
    host.client_key = new_key.convert_to_public()
    transport = open_transport(host.as_host(), limits=PoolLimits())
    assert (await run(transport, host.as_host(), "facts")).detail == "ssh.login"
    assert transport._pool(host.as_host()).pause() > 20
    _exchange(host, key_file, new_key)
    await transport.reload()
    assert (await run(transport, host.as_host(), "facts")).status == 0


async def test_a_reload_that_fails_changes_nothing(start_host, open_transport, key_file, client_key, new_key):
    host = await start_host(SCRIPTS)
    transport = open_transport(host.as_host())
    assert (await run(transport, host.as_host(), "facts")).status == 0
    write_key(key_file.parent, new_key, key_file.name).chmod(0o644)
    with pytest.raises(SiteError) as caught:
        await transport.reload()
    assert [finding.code for finding in caught.value.findings] == ["settings.credential"]
    host.cut()
    ran = await run(transport, host.as_host(), "facts")
    assert (ran.status, ran.evidence.key_fingerprint) == (0, client_key.get_fingerprint())


async def test_one_bad_credential_keeps_all_of_them(start_host, key_file, client_key, new_key):
    host = (await start_host(SCRIPTS)).as_host()
    settings = settings_for(key_file, host)
    other = write_key(key_file.parent, new_key, "other")
    settings.credentials["other"] = Credential("other", key_file=other)
    transport = SshTransport(settings)
    write_key(key_file.parent, new_key, key_file.name)
    other.unlink()
    with pytest.raises(SiteError, match="credential other"):
        await transport.reload()
    assert (await run(transport, host, "facts")).evidence.key_fingerprint == client_key.get_fingerprint()
    await transport.close()


async def test_a_new_certificate_is_a_change(start_host, key_file, client_key):
    host = (await start_host(SCRIPTS)).as_host()
    authority = asyncssh.generate_private_key("ssh-ed25519")
    certificate = key_file.with_name("id-cert.pub")
    settings = settings_for(key_file, host)
    settings.credentials["key"] = Credential("key", key_file=key_file, certificate_file=certificate)

    def certify(serial: int) -> None:
        signed = authority.generate_user_certificate(client_key, "test", serial=serial, principals=["facts"])
        certificate.write_bytes(signed.export_certificate("openssh"))

    certify(1)
    transport = SshTransport(settings)
    assert await transport.reload() == set()
    certify(2)
    assert await transport.reload() == {"key"}
    await transport.close()


async def test_a_jump_host_is_logged_in_to_anew_as_well(start_host, open_transport, key_file, new_key):
    jump, target = await start_host(SCRIPTS, forwards=True), await start_host(SCRIPTS)
    bastion, web = jump.as_host("bastion"), target.as_host("web-1", via="bastion")
    transport = open_transport(bastion, web)
    assert (await run(transport, web, "facts")).status == 0
    _exchange(jump, key_file, new_key)
    _exchange(target, key_file, new_key)
    await transport.reload()
    assert (await run(transport, web, "facts")).status == 0
    await asyncio.sleep(0.1)
    assert (jump.seen.connections, target.seen.connections) == (2, 2)
    assert (len(jump.connections), len(target.connections)) == (1, 1)


async def test_reloads_at_the_same_time_and_one_after_the_close(start_host, open_transport, key_file, new_key):
    host = await start_host(SCRIPTS)
    transport = open_transport(host.as_host())
    assert (await run(transport, host.as_host(), "facts")).status == 0
    _exchange(host, key_file, new_key)
    changed = await asyncio.gather(*(transport.reload() for _ in range(3)))
    assert sorted(map(len, changed)) == [0, 0, 1]
    await transport.close()
    write_key(key_file.parent, asyncssh.generate_private_key("ssh-ed25519"), key_file.name)
    assert await transport.reload() == {"key"}
    await asyncio.sleep(0.05)
    assert not host.connections
