"""Each way in which a command can end, and what is seen of it, on a host that plays it."""

import asyncio
import hashlib
from datetime import UTC, datetime

import pytest

from sshfacts.limits import STDERR_KEPT
from tests.support.fault_host import Script
from tests.support.runs import command, run


async def test_exit_status_and_output_of_a_command(start_host, open_transport):
    host = await start_host({"facts": Script(out=b"{}\n", err=b"note\n", status=3)})
    before = datetime.now(UTC)
    ran = await run(open_transport(host.as_host()), host.as_host(), "facts")
    evidence = ran.evidence
    assert (ran.status, ran.stdout) == (3, b"{}\n")
    assert (evidence.stdout_bytes, evidence.stdout_sha256) == (3, hashlib.sha256(b"{}\n").hexdigest())
    assert (evidence.stderr_bytes, evidence.stderr_sha256) == (5, hashlib.sha256(b"note\n").hexdigest())
    assert evidence.stderr_head == b"note\n"
    assert evidence.host_key == host.host_key.get_fingerprint()
    assert evidence.key_fingerprint == host.client_key.get_fingerprint()
    assert evidence.started_at is not None
    assert before <= evidence.started_at <= datetime.now(UTC)
    assert ran.details == [None]
    assert not evidence.end_unconfirmed


@pytest.mark.parametrize("status", [0, 1, 124, 126, 127, 137, 255])
async def test_every_status_is_returned_as_it_is(start_host, open_transport, status):
    host = await start_host({"facts": Script(status=status)})
    ran = await run(open_transport(host.as_host()), host.as_host(), "facts")
    assert (ran.status, ran.detail) == (status, None)


async def test_bytes_that_are_not_text_come_through(start_host, open_transport):
    every_byte = bytes(range(256)) * 3
    host = await start_host({"facts": Script(out=every_byte, chunk=7, err=b"\xff\xfe")})
    ran = await run(open_transport(host.as_host()), host.as_host(), "facts")
    assert ran.stdout == every_byte
    assert ran.evidence.stderr_head == b"\xff\xfe"


async def test_stdin_of_a_command_is_empty(start_host, open_transport):
    host = await start_host({"cat": Script(echo=True, out=b"end")})
    ran = await run(open_transport(host.as_host()), host.as_host(), "cat")
    assert ran.stdout == b"end"


async def test_a_banner_is_no_output(start_host, open_transport):
    host = await start_host({"facts": Script(out=b"{}")})
    host.faults.banner = "you have been warned \udcff".encode(errors="replace").decode()
    assert (await run(open_transport(host.as_host()), host.as_host(), "facts")).stdout == b"{}"


@pytest.mark.parametrize(
    ("script", "detail"),
    [
        (Script(out=b"part", status=None), "ssh.no_exit_status"),
        (Script(out=b"part", disconnect=True), "ssh.no_exit_status"),
        (Script(out=b"part", signal="SEGV"), "command.signal"),
        (Script(out=b"part", signal="KILL"), "command.signal"),
        (Script(out=b"part", two_ends=True), "ssh.protocol"),
        (Script(flood_out=True), "output.too_large"),
        (Script(flood_err=True), "command.stderr"),
    ],
)
async def test_an_end_that_is_no_answer(start_host, open_transport, script, detail):
    host = await start_host({"facts": script, "next": Script(out=b"ok")})
    transport = open_transport(host.as_host())
    ran = await run(transport, host.as_host(), "facts")
    assert (ran.status, ran.detail, ran.details) == (None, detail, [detail])
    assert (await run(transport, host.as_host(), "next")).stdout == b"ok"


async def test_the_name_of_a_signal_is_never_the_host_s_own_text(start_host, open_transport):
    host = await start_host({"facts": Script(signal="OBEY-ME"), "known": Script(signal="PIPE")})
    transport = open_transport(host.as_host())
    ran = await run(transport, host.as_host(), "facts")
    assert (ran.detail, ran.where, ran.evidence.exit_signal) == ("command.signal", "other", "other")
    assert (await run(transport, host.as_host(), "known")).evidence.exit_signal == "PIPE"


@pytest.mark.parametrize("stream", ["out", "err"])
async def test_a_flood_is_cut_within_one_packet(start_host, open_transport, stream):
    host = await start_host({"flood": Script(flood_out=stream == "out", flood_err=stream == "err")})
    ran = await run(
        open_transport(host.as_host()), host.as_host(), command("flood", stdout_bytes=10_000, stderr_bytes=20_000)
    )
    seen, limit = (ran.evidence.stdout_bytes, 10_000) if stream == "out" else (ran.evidence.stderr_bytes, 20_000)
    assert limit < seen <= limit + 32 * 1024
    assert len(ran.evidence.stderr_head) <= STDERR_KEPT
    assert ran.evidence.stdout_sha256 == hashlib.sha256(ran.stdout).hexdigest()
    assert ran.evidence.end_unconfirmed


async def test_output_at_its_limit_is_accepted(start_host, open_transport):
    host = await start_host({"facts": Script(out=b"x" * 1000, err=b"y" * 1000)})
    ran = await run(
        open_transport(host.as_host()), host.as_host(), command("facts", stdout_bytes=1000, stderr_bytes=1000)
    )
    assert (ran.status, len(ran.stdout)) == (0, 1000)


async def test_only_the_head_of_stderr_is_kept(start_host, open_transport):
    text = bytes(range(256)) * 40
    host = await start_host({"facts": Script(err=text)})
    ran = await run(open_transport(host.as_host()), host.as_host(), "facts")
    assert ran.evidence.stderr_head == text[:STDERR_KEPT]
    assert ran.evidence.stderr_sha256 == hashlib.sha256(text).hexdigest()


async def test_a_silent_command_times_out_one_second_after_its_limit(start_host, open_transport):
    host = await start_host({"hang": Script(hang=True), "next": Script()})
    transport = open_transport(host.as_host())
    began = asyncio.get_running_loop().time()
    ran = await run(transport, host.as_host(), command("hang", seconds=0))
    assert 0.9 < asyncio.get_running_loop().time() - began < 1.9
    assert (ran.detail, ran.evidence.end_unconfirmed) == ("timeout.run", True)
    assert ran.evidence.started_at is not None
    assert (await run(transport, host.as_host(), "next")).status == 0
    assert host.seen.connections == 2  # a connection that gave nothing in time is not used again


async def test_a_command_that_talks_too_long_times_out_and_its_connection_stays(start_host, open_transport):
    host = await start_host({"drip": Script(out=b"x" * 100, chunk=1, chunk_seconds=0.1), "next": Script()})
    transport = open_transport(host.as_host())
    ran = await run(transport, host.as_host(), command("drip", seconds=0))
    assert (ran.status, ran.detail) == (None, "timeout.run")
    assert 0 < len(ran.stdout) < 100
    assert (await run(transport, host.as_host(), "next")).status == 0
    assert host.seen.connections == 1


async def test_the_remote_limit_is_a_timeout_only_when_it_was_reached(start_host, open_transport):
    ends = {"124": {"status": 124}, "137": {"status": 137}, "kill": {"signal": "KILL"}, "term": {"signal": "TERM"}}
    late = {f"late {name}": Script(start_seconds=1.05, **end) for name, end in ends.items()}
    early = {f"early {name}": Script(**end) for name, end in ends.items()}
    host = await start_host({**late, **early, "late segv": Script(start_seconds=1.05, signal="SEGV")})
    transport = open_transport(host.as_host())
    names = list(host.scripts)
    ran = await asyncio.gather(*(run(transport, host.as_host(), command(name, seconds=1)) for name in names))
    assert dict(zip(names, [one.detail for one in ran], strict=True)) == {
        **dict.fromkeys(late, "timeout.run"),
        "early 124": None,
        "early 137": None,
        "early kill": "command.signal",
        "early term": "command.signal",
        "late segv": "command.signal",
    }
    assert not any(one.evidence.end_unconfirmed for one in ran)


async def test_a_lost_run_is_repeated_once_if_it_does_no_harm(start_host, open_transport):
    scripts = [Script(out=b"half", drop_connection=True), Script(out=b"whole")]
    host = await start_host({"facts": lambda: scripts.pop(0)})
    ran = await run(open_transport(host.as_host()), host.as_host(), "facts")
    assert (ran.status, ran.stdout, ran.details) == (0, b"whole", ["ssh.lost", None])


async def test_a_lost_run_is_repeated_only_once(start_host, open_transport):
    host = await start_host({"facts": Script(out=b"half", drop_connection=True)})
    ran = await run(open_transport(host.as_host()), host.as_host(), "facts")
    assert (ran.detail, ran.details) == ("ssh.lost", ["ssh.lost", "ssh.lost"])


async def test_a_lost_change_is_never_repeated(start_host, open_transport):
    host = await start_host({"change": Script(out=b"half", drop_connection=True)})
    ran = await run(open_transport(host.as_host()), host.as_host(), command("change", idempotent=False))
    assert (ran.detail, host.seen.commands) == ("ssh.lost", ["change"])
    assert ran.evidence.end_unconfirmed
    assert ran.evidence.started_at is not None
    assert ran.evidence.stdout_bytes == 4


@pytest.mark.parametrize("fault", ["close_at_exec", "cut_at_exec"])
async def test_a_start_that_is_never_confirmed_may_have_happened(start_host, open_transport, fault):
    host = await start_host({"change": Script()})
    setattr(host.faults, fault, True)
    ran = await run(open_transport(host.as_host()), host.as_host(), command("change", idempotent=False))
    assert (ran.detail, ran.details) == ("ssh.lost", ["ssh.lost"])
    assert ran.evidence.started_at is not None
    assert ran.evidence.end_unconfirmed
