"""The transport against a real OpenSSH server: what asyncssh's own server cannot play."""

import asyncio
import hashlib
import signal
import time
import tracemalloc

import pytest

from tests.support.pools import leaves_nothing, soon
from tests.support.runs import command, run
from tests.support.sshd import can_make_accounts, fingerprint, keygen, name_of, needs_sshd, public_line, running

pytestmark = needs_sshd

REMOTE = "exec /usr/bin/env -i LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin"
"""How every rendered command begins."""


# what a run gives


async def test_a_command_in_its_rendered_form(plain, open_transport):
    host = plain.as_host()
    ran = await run(open_transport(host), host, f'{REMOTE} timeout -k 1 5 printf %s \'{{"a": "b c"}}\'')
    assert (ran.status, ran.stdout) == (0, b'{"a": "b c"}')
    assert ran.evidence.host_key is not None
    assert ran.evidence.host_key in fingerprint(plain.host_key)


async def test_the_environment_of_a_command_is_ours(plain, open_transport):
    host = plain.as_host()
    ran = await run(open_transport(host), host, f"{REMOTE} env")
    assert set(ran.stdout.decode().split()) == {"LC_ALL=C", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"}


@pytest.mark.parametrize(
    ("text", "status", "signal_name"),
    [("exit 7", 7, None), ("exit 300", 44, None), ("/no/such/program", 127, None), ("kill -KILL $$", None, "KILL")],
)
async def test_ends(plain, open_transport, text, status, signal_name):
    host = plain.as_host()
    ran = await run(open_transport(host), host, text)
    assert (ran.status, ran.evidence.exit_status, ran.evidence.exit_signal) == (status, status, signal_name)
    assert not ran.evidence.end_unconfirmed


async def test_a_megabyte_arrives_whole_on_both_streams_while_keys_change(start_sshd, open_transport):
    host = start_sshd("RekeyLimit 1M 1s\nClientAliveInterval 1").as_host()
    transport = open_transport(host)
    text = "head -c 1000000 /dev/zero; head -c 60000 /dev/zero >&2"
    several = await asyncio.gather(*(run(transport, host, command(text, stdout_bytes=1024**2)) for _ in range(6)))
    digest = hashlib.sha256(bytes(1_000_000)).hexdigest()
    assert {(ran.status, ran.evidence.stdout_sha256, ran.evidence.stderr_bytes) for ran in several} == {
        (0, digest, 60_000)
    }


async def test_a_forced_command_replaces_ours(start_sshd, open_transport, key):
    forced = f'restrict,command="echo forced; exit 3" {public_line(key)}'
    host = start_sshd(authorized=forced).as_host()
    ran = await run(open_transport(host), host, "echo ours")
    assert (ran.status, ran.stdout) == (3, b"forced\n")


# bounds


@pytest.mark.parametrize("text", ["cat /dev/zero", "yes", "yes >&2", "dd if=/dev/zero bs=1M"])
async def test_a_flood_is_cut_and_its_command_dies(plain, open_transport, marker, text):
    host = plain.as_host()
    transport = open_transport(host)
    began = time.monotonic()
    ran = await run(transport, host, command(f"{text} # {marker}", stdout_bytes=65_536, stderr_bytes=65_536))
    assert time.monotonic() - began < 2
    assert ran.detail == ("command.stderr" if ">&2" in text else "output.too_large")
    assert 65_536 < ran.evidence.stdout_bytes + ran.evidence.stderr_bytes <= 65_536 + 32_768
    assert (await run(transport, host, "printf ok")).stdout == b"ok"
    assert await leaves_nothing(transport)
    assert await soon(lambda: not [one for one in plain.children() if name_of(one) in {"cat", "yes", "dd"}])


async def test_a_flood_of_200_mb_takes_no_memory(plain, open_transport):
    host = plain.as_host()
    transport = open_transport(host)
    assert (await run(transport, host, "true")).status == 0
    tracemalloc.start()
    try:
        ran = await run(transport, host, command("head -c 200M /dev/zero", stdout_bytes=65_536))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert ran.detail == "output.too_large"
    assert peak < 2 * 1024**2


async def test_the_remote_limit_ends_a_command_that_hangs(plain, open_transport, marker):
    host = plain.as_host()
    ran = await run(open_transport(host), host, command(f"{REMOTE} timeout -k 1 1 sleep {marker}", seconds=1))
    assert (ran.detail, ran.evidence.exit_status, ran.evidence.end_unconfirmed) == ("timeout.run", 124, False)
    assert not running(marker)


async def test_the_remote_limit_ends_a_command_that_ignores_it(plain, open_transport, marker):
    host = plain.as_host()
    stubborn = f"{REMOTE} timeout -k 1 1 sh -c 'trap \"\" TERM; sleep {marker}; true'"
    ran = await run(open_transport(host), host, command(stubborn, seconds=1))
    assert ran.detail == "timeout.run"
    assert await soon(lambda: not running(marker))


async def test_a_child_that_holds_stdout_is_a_timeout(plain, open_transport, marker):
    host = plain.as_host()
    ran = await run(open_transport(host), host, command(f"sleep {marker} & echo hi", seconds=0))
    assert (ran.detail, ran.stdout) == ("timeout.run", b"hi\n")


async def test_a_channel_that_the_server_closes_by_itself_has_no_status(start_sshd, open_transport, marker):
    host = start_sshd("ChannelTimeout session:command=1s").as_host()
    ran = await run(open_transport(host), host, command(f"echo '{{}}'; sleep {marker}", seconds=5))
    assert (ran.detail, ran.stdout, ran.evidence.end_unconfirmed) == ("ssh.no_exit_status", b"{}\n", True)


# kill and cancel


@pytest.mark.skipif(not can_make_accounts(), reason="needs root and mount namespaces")
async def test_an_account_s_command_is_killed_by_our_deadline(start_sshd, open_transport, marker):
    host = start_sshd(account="sshfacts-test").as_host()
    ran = await run(open_transport(host), host, command(f"exec sleep {marker}", seconds=0))
    assert (ran.detail, ran.evidence.end_unconfirmed) == ("timeout.run", True)
    assert await soon(lambda: not running(marker))


@pytest.mark.skipif(not can_make_accounts(), reason="needs root and mount namespaces")
async def test_a_storm_of_cancelled_calls_leaves_nothing(start_sshd, open_transport, marker):
    host = start_sshd(account="sshfacts-test").as_host()
    transport = open_transport(host)
    storm = [asyncio.ensure_future(run(transport, host, command(f"exec sleep {marker}"))) for _ in range(40)]
    assert await soon(lambda: len(running(marker)) >= 8)
    for call in storm:
        call.cancel()
    ended = await asyncio.gather(*storm, return_exceptions=True)
    assert {type(one) for one in ended} == {asyncio.CancelledError}
    assert await soon(lambda: not running(marker))
    assert await leaves_nothing(transport)
    after = await asyncio.gather(*(run(transport, host, "printf ok") for _ in range(20)))
    assert {ran.stdout for ran in after} == {b"ok"}


@pytest.mark.parametrize("delay", [0.0, 0.002, 0.005, 0.01, 0.02, 0.04])
async def test_a_call_cancelled_at_some_moment_of_a_cold_start(plain, open_transport, marker, delay):
    host = plain.as_host()
    transport = open_transport(host)
    call = asyncio.ensure_future(run(transport, host, f"{REMOTE} timeout -k 1 1 sleep {marker}"))
    await asyncio.sleep(delay)
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    assert (await run(transport, host, "printf ok")).stdout == b"ok"
    assert await leaves_nothing(transport)
    assert await soon(lambda: not running(marker))


# outages


async def test_a_session_killed_in_the_middle_of_its_output(start_sshd, open_transport, marker):
    sshd = start_sshd()
    host = sshd.as_host()
    transport = open_transport(host)
    call = asyncio.ensure_future(run(transport, host, command(f"echo part; sleep {marker}", idempotent=False)))
    assert await soon(lambda: bool(running(marker)))
    sshd.signal_sessions(signal.SIGKILL)
    ran = await call
    assert (ran.detail, ran.stdout, ran.evidence.exit_status) == ("ssh.lost", b"part\n", None)
    assert ran.evidence.end_unconfirmed
    assert (await run(transport, host, "printf ok")).stdout == b"ok"


async def test_sessions_killed_under_load_cost_no_reading_call(start_sshd, open_transport):
    sshd = start_sshd()
    host = sshd.as_host()
    transport = open_transport(host)
    calls = [asyncio.ensure_future(run(transport, host, "sleep 0.05; printf ok")) for _ in range(60)]
    assert await soon(lambda: sum(call.done() for call in calls) >= 10)
    sshd.signal_sessions(signal.SIGKILL)
    ran = await asyncio.gather(*calls)
    assert {one.stdout for one in ran if one.status == 0} == {b"ok"}
    assert sum(one.status == 0 for one in ran) == 60
    assert any(one.details == ["ssh.lost", None] for one in ran)


async def test_a_listener_that_restarts_under_open_connections(start_sshd, open_transport):
    sshd = start_sshd()
    host = sshd.as_host()
    transport = open_transport(host)
    assert (await run(transport, host, "printf ok")).stdout == b"ok"
    await asyncio.to_thread(sshd.stop_listening)
    assert (await run(transport, host, "printf ok")).stdout == b"ok"
    await asyncio.to_thread(sshd.start)
    assert (await run(transport, host, "printf ok")).stdout == b"ok"


async def test_a_server_that_was_down_and_came_back(start_sshd, open_transport):
    sshd = start_sshd()
    host = sshd.as_host()
    transport = open_transport(host)
    assert (await run(transport, host, "printf ok")).stdout == b"ok"
    await asyncio.to_thread(sshd.stop)
    assert await soon(lambda: not any(one.is_usable for one in transport._pool(host).connections))
    began = time.monotonic()
    down = await asyncio.gather(*(run(transport, host, "printf ok") for _ in range(50)))
    assert {ran.detail for ran in down} == {"ssh.unreachable"}
    assert time.monotonic() - began < 1
    await asyncio.to_thread(sshd.start)
    await asyncio.sleep(0.3)
    assert (await run(transport, host, "printf ok")).stdout == b"ok"


async def test_a_stopped_server_is_given_up_and_replaced(start_sshd, open_transport):
    sshd = start_sshd()
    host = sshd.as_host()
    transport = open_transport(host)
    assert (await run(transport, host, "printf ok")).stdout == b"ok"
    stopped = sshd.sessions()
    sshd.signal_sessions(signal.SIGSTOP)
    try:
        silent = await asyncio.gather(*(run(transport, host, command("printf ok", seconds=0)) for _ in range(4)))
        assert {ran.detail for ran in silent} <= {"timeout.run", "timeout.connect"}
        after = await asyncio.gather(*(run(transport, host, "printf ok") for _ in range(8)))
        assert {ran.stdout for ran in after} == {b"ok"}
    finally:
        for process in stopped:
            process.kill()
    assert await leaves_nothing(transport, seconds=6)


async def test_a_server_that_falls_silent_under_a_run_is_noticed_by_keepalive(
    start_sshd, open_transport, marker, monkeypatch
):
    monkeypatch.setattr("sshfacts.ssh.options.KEEPALIVE_SECONDS", 0.2)
    sshd = start_sshd()
    host = sshd.as_host()
    call = asyncio.ensure_future(
        run(open_transport(host), host, command(f"sleep {marker}", seconds=20, idempotent=False))
    )
    assert await soon(lambda: bool(running(marker)))
    began = time.monotonic()
    stopped = sshd.sessions()
    sshd.signal_sessions(signal.SIGSTOP)
    try:
        assert (await call).detail == "ssh.lost"
    finally:
        for process in stopped:
            process.kill()
    assert time.monotonic() - began < 3


async def test_nothing_is_logged_in_to_twice_with_a_key_that_is_refused(start_sshd, open_transport, tmp_path):
    sshd = start_sshd("LogLevel VERBOSE", authorized=public_line(keygen(tmp_path / "other")))
    host = sshd.as_host()
    transport = open_transport(host)
    ran = await asyncio.gather(*(run(transport, host, "true") for _ in range(20)))
    assert {one.detail for one in ran} == {"ssh.login"}
    assert (sshd.folder / "log").read_text().count("Failed publickey") == 1


# sessions


async def test_hundreds_of_calls_within_the_defaults_of_sshd(plain, open_transport):
    host = plain.as_host()
    transport = open_transport(host)
    ran = await asyncio.gather(*(run(transport, host, command("echo ok", seconds=60)) for _ in range(150)))
    assert {one.stdout for one in ran} == {b"ok\n"}
    assert sum(len(one.details) for one in ran) == 150  # not one open had to be repeated
    assert len(transport._pool(host).connections) == 3
    assert await leaves_nothing(transport)


@pytest.mark.parametrize("most", [1, 2, 4])
async def test_a_server_with_fewer_sessions_than_we_use(start_sshd, open_transport, most):
    host = start_sshd(f"MaxSessions {most}").as_host()
    transport = open_transport(host)
    ran = await asyncio.gather(*(run(transport, host, command("true", seconds=60)) for _ in range(100)))
    assert {one.status for one in ran} == {0}
    assert {detail for one in ran for detail in one.details} <= {None, "busy.host"}


async def test_a_server_without_sessions_is_busy(start_sshd, open_transport):
    host = start_sshd("MaxSessions 0").as_host()
    ran = await run(open_transport(host), host, "true")
    assert (ran.detail, ran.evidence.started_at) == ("busy.host", None)


async def test_commands_that_sshd_hangs_up_on_are_not_sent(plain, open_transport):
    host = plain.as_host()
    transport = open_transport(host)
    innocent = asyncio.ensure_future(run(transport, host, "sleep 0.3; printf ok"))
    await asyncio.sleep(0.1)
    for text in ("printf a\0b", "x" * 300_000, ""):
        assert (await run(transport, host, text)).detail == "internal"
    assert (await innocent).stdout == b"ok"
    assert len(transport._pool(host).connections) == 1
