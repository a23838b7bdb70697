"""Faults that only a real OpenSSH server, a real shell or a real network can play.

`docs/reference/ssh-faults.md` lists every fault with the test that proves what becomes of it.
"""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

import sshfacts
from sshfacts.commands.settings import Credential
from sshfacts.ssh.limits import PoolLimits
from tests.support.pools import leaves_nothing, soon
from tests.support.runs import command, run
from tests.support.sshd import can_make_accounts, keygen, needs_sshd, public_line, running, sign

pytestmark = needs_sshd
needs_accounts = pytest.mark.skipif(not can_make_accounts(), reason="needs root and mount namespaces")

ACCOUNT = "sshfacts-test"
SILENCE = Path(__file__).with_name("silence_probe.py")


# the login


async def test_a_host_certificate_without_names_is_good_for_every_host(start_sshd, open_transport, tmp_path):
    """As with OpenSSH: an authority that leaves out `-n` vouches for all hosts at once."""
    authority = keygen(tmp_path / "authority")
    sshd = start_sshd()
    sshd.stop_listening()
    sshd.config = f"HostCertificate {sign(authority, sshd.host_key, '-h')}"
    sshd.start()
    host = sshd.as_host(host_keys=(), host_cas=(public_line(authority),))
    assert (await run(open_transport(host), host, "printf ok")).stdout == b"ok"


async def test_a_user_certificate_for_another_source_address(start_sshd, open_transport, tmp_path):
    authority, key = keygen(tmp_path / "authority"), keygen(tmp_path / "id")
    sshd = start_sshd(f"TrustedUserCAKeys {authority}.pub")
    certificate = sign(authority, key, "-n", sshd.user, "-O", "source-address=192.0.2.0/24")
    host = sshd.as_host()
    transport = open_transport(host, credential=Credential("key", key_file=key, certificate_file=certificate))
    assert (await run(transport, host, "true")).detail == "ssh.login"


@needs_accounts
async def test_a_login_shell_that_does_not_exist(start_sshd, open_transport):
    host = start_sshd(account=ACCOUNT, login_shell="/no/such/shell").as_host()
    ran = await run(open_transport(host), host, "true")
    assert (ran.detail, ran.evidence.started_at) == ("ssh.login", None)


async def test_a_key_too_many_for_the_host(start_sshd, open_transport, tmp_path):
    """sshd then breaks off the protocol instead of refusing the login."""
    host = start_sshd("MaxAuthTries 1", authorized=public_line(keygen(tmp_path / "other"))).as_host()
    ran = await run(open_transport(host), host, "true")
    assert (ran.detail, ran.where) == ("ssh.login", "the host counts too many failed keys")


async def test_a_listener_that_is_stopped_in_its_tracks(start_sshd, open_transport):
    sshd = start_sshd()
    host = sshd.as_host()
    transport = open_transport(host, limits=PoolLimits(connect_seconds=0.5))
    listener = psutil.Process(sshd._process.pid)
    listener.send_signal(signal.SIGSTOP)
    try:
        ran = await run(transport, host, "true")
    finally:
        listener.send_signal(signal.SIGCONT)
    assert (ran.detail, ran.where, ran.evidence.started_at) == ("timeout.connect", "no login in time", None)


async def test_a_key_that_may_not_forward_is_no_way_through_a_jump_host(start_sshd, open_transport, key):
    restricted = start_sshd(authorized=f"restrict {public_line(key)}")
    jump, web = restricted.as_host("bastion"), start_sshd().as_host(via="bastion")
    ran = await run(open_transport(jump, web), web, "true")
    assert (ran.detail, ran.where) == ("ssh.channel", "the jump host forbids forwarding")
    assert (await run(open_transport(jump), jump, "printf ok")).stdout == b"ok"


async def test_a_name_that_the_jump_host_cannot_resolve(start_sshd, open_transport):
    jump = start_sshd().as_host("bastion")
    web = replace(jump, alias="web-1", address="no-such-host.invalid", via="bastion")
    ran = await run(open_transport(jump, web), web, "true")
    assert (ran.detail, ran.where) == ("ssh.unreachable", "the jump host does not reach it")


# the connection


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
async def test_a_session_that_is_ended_on_the_host(start_sshd, open_transport, marker, number):
    sshd = start_sshd()
    host = sshd.as_host()
    change = command(f"echo part; sleep {marker}", idempotent=False)
    call = asyncio.ensure_future(run(open_transport(host), host, change))
    assert await soon(lambda: bool(running(marker)))
    sshd.signal_sessions(number)
    ran = await call
    assert (ran.detail, ran.details, ran.stdout) == ("ssh.lost", ["ssh.lost"], b"part\n")
    assert (ran.evidence.exit_status, ran.evidence.end_unconfirmed) == (None, True)


async def test_a_connection_that_the_host_closed_for_idleness_is_replaced_unseen(start_sshd, open_transport):
    host = start_sshd("UnusedConnectionTimeout 1").as_host()
    transport = open_transport(host)
    assert (await run(transport, host, "true")).status == 0
    [idle] = transport._pool(host).connections
    assert await soon(lambda: not idle.is_usable, seconds=5)
    ran = await run(transport, host, command("printf ok", idempotent=False))
    assert (ran.stdout, ran.details) == (b"ok", [None])


@pytest.mark.skipif(os.getuid() != 0, reason="needs a network namespace of its own")
def test_a_network_that_falls_silent(tmp_path):
    """Nobody answers any more, and nobody says so: only the kernel's own limit ends the wait for an acknowledgement."""
    source = Path(sshfacts.__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(source), str(SILENCE.parents[2])])}
    done = subprocess.run(
        ["unshare", "--net", sys.executable, str(SILENCE), str(tmp_path)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if "unshare failed" in done.stderr:
        pytest.skip("this sandbox makes no network namespaces")
    assert done.returncode == 0, done.stderr
    detail, seconds = done.stdout.split()
    assert detail == "ssh.unreachable"
    assert 1.5 < float(seconds) < 8


# the command


async def test_a_command_that_closes_its_output_and_goes_on(plain, open_transport, marker):
    host = plain.as_host()
    transport = open_transport(host)
    ran = await run(transport, host, command(f"exec >&- 2>&-; sleep {marker}", seconds=0))
    assert (ran.detail, ran.evidence.end_unconfirmed) == ("timeout.run", True)
    assert await leaves_nothing(transport)


async def test_a_forced_command_takes_no_signal_and_ends_by_its_own_limit(start_sshd, open_transport, key, marker):
    forced = f'restrict,command="exec timeout -k 1 3 sleep {marker}" {public_line(key)}'
    host = start_sshd(authorized=forced).as_host()
    transport = open_transport(host)
    ran = await run(transport, host, command("whatever", seconds=0))
    assert (ran.detail, ran.evidence.end_unconfirmed) == ("timeout.run", True)
    assert await leaves_nothing(transport)
    assert running(marker)
    assert await soon(lambda: not running(marker), seconds=5)


@needs_accounts
async def test_an_account_without_a_shell(start_sshd, open_transport):
    """Its text is on stdout, where an answer would be; the exit status tells that it is none."""
    host = start_sshd(account=ACCOUNT, login_shell=shutil.which("nologin", path="/usr/sbin:/sbin")).as_host()
    ran = await run(open_transport(host), host, "true")
    assert ran.status == 1
    assert ran.stdout


async def test_banner_and_message_of_the_day_are_no_output(start_sshd, open_transport, tmp_path):
    banner = tmp_path / "banner"
    banner.write_text("Authorized use only\n")
    host = start_sshd(f"Banner {banner}\nPrintMotd yes\nPrintLastLog yes").as_host()
    assert (await run(open_transport(host), host, "printf ok")).stdout == b"ok"


@needs_accounts
@pytest.mark.parametrize(
    ("shell", "file", "text", "status", "stdout"),
    [
        ("bash", ".bashrc", "echo Welcome", 0, b"Welcome\nok"),
        ("bash", ".bashrc", "exit 7", 7, b""),
        ("zsh", ".zshenv", "echo Welcome", 0, b"Welcome\nok"),
        ("fish", ".config/fish/config.fish", "echo Welcome", 0, b"Welcome\nok"),
        ("sh", ".profile", "echo Welcome", 0, b"ok"),
        ("sh", ".ssh/rc", "echo Welcome", 0, b"Welcome\nok"),
    ],
)
async def test_what_start_up_files_print_stands_before_the_answer(
    start_sshd, open_transport, shell, file, text, status, stdout
):
    """Nothing is skipped here: it is for the reader to refuse what stands before a document."""
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"{shell} is not installed")
    sshd = start_sshd("PermitUserRC yes", account=ACCOUNT, login_shell=path)
    start_up = sshd.folder / "home" / file
    start_up.parent.mkdir(parents=True, exist_ok=True)
    start_up.write_text(f"{text}\n")
    ran = await run(open_transport(sshd.as_host()), sshd.as_host(), "printf ok")
    assert (ran.status, ran.stdout) == (status, stdout)


@needs_accounts
async def test_a_start_up_file_that_hangs(start_sshd, open_transport, marker):
    sshd = start_sshd(account=ACCOUNT, login_shell="/bin/bash")
    (sshd.folder / "home" / ".bashrc").write_text(f"sleep {marker}\n")
    ran = await run(open_transport(sshd.as_host()), sshd.as_host(), command("printf ok", seconds=0))
    assert (ran.detail, ran.stdout) == ("timeout.run", b"")
    assert await soon(lambda: not running(marker))
