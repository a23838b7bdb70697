"""Each way a run can end, on a host that plays it."""

import asyncio
import hashlib
import logging
from datetime import UTC, datetime

import pytest

from sshfacts.commands.settings import Settings
from sshfacts.errors import Refusal, SiteError
from sshfacts.limits import COMMAND_BYTES, STDERR_KEPT
from sshfacts.ssh.limits import PoolLimits
from sshfacts.ssh.transport import SshTransport
from tests.support.fault_host import FaultHost, Script
from tests.support.runs import command, run

AT_ONCE = -1
"""Seconds of a command whose deadline, one second later, is now."""


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


async def test_a_login_that_takes_too_long(start_host, open_transport):
    host = await start_host({"facts": Script()})
    host.faults.login_seconds = 1.5
    transport = open_transport(host.as_host(), limits=PoolLimits(connect_seconds=0.3))
    ran = await run(transport, host.as_host(), "facts")
    assert (ran.detail, ran.evidence.started_at) == ("timeout.connect", None)


async def test_a_caller_s_deadline_ends_the_wait_for_a_login(start_host, open_transport):
    host = await start_host({"facts": Script()})
    host.faults.login_seconds = 0.3
    transport = open_transport(host.as_host())
    ran = await run(transport, host.as_host(), command("facts", seconds=AT_ONCE))
    assert ran.detail == "timeout.connect"
    assert (await run(transport, host.as_host(), "facts")).status == 0  # the probe went on for the others
    assert host.seen.connections == 1


async def test_a_refused_login_is_not_tried_again(start_host, open_transport):
    host = await start_host({"facts": Script()})
    host.faults.deny_login = True
    transport = open_transport(host.as_host())
    several = await asyncio.gather(*(run(transport, host.as_host(), "facts") for _ in range(20)))
    again = await run(transport, host.as_host(), "facts")
    assert {ran.detail for ran in (*several, again)} == {"ssh.login"}
    assert {len(ran.evidence.attempts) for ran in several} == {1}
    assert (host.seen.connections, host.seen.logins) == (1, 1)
    assert again.evidence.host_key is None or again.evidence.host_key.startswith("SHA256:")


async def test_another_host_key_is_refused_and_its_fingerprint_is_recorded(start_host, open_transport):
    host, other = await start_host({"facts": Script()}), await start_host({})
    pinned = host.as_host(host_keys=(other.public_line(),))
    ran = await run(open_transport(pinned), pinned, "facts")
    assert ran.detail == "ssh.host_key"
    assert ran.evidence.host_key == host.host_key.get_fingerprint()
    assert other.host_key.get_fingerprint() in ran.where
    assert host.seen.logins == 0  # our key was never shown to it


async def test_a_revoked_host_key_is_refused_although_it_is_pinned(start_host, open_transport):
    host = await start_host({"facts": Script()})
    pinned = host.as_host(revoked_keys=(host.public_line(),))
    assert (await run(open_transport(pinned), pinned, "facts")).detail == "ssh.host_key"


async def test_nothing_listens(start_host, open_transport):
    host = await start_host({})
    await host.stop()
    ran = await run(open_transport(host.as_host()), host.as_host(), "facts")
    assert (ran.detail, ran.where) == ("ssh.unreachable", "ECONNREFUSED")


async def test_an_address_that_does_not_resolve(start_host, open_transport):
    host = (await start_host({})).as_host(address="no-such-host.invalid")
    ran = await run(open_transport(host), host, "facts")
    assert (ran.detail, ran.where) == ("ssh.unreachable", "the address does not resolve")


async def test_a_host_that_hangs_up_right_after_the_login(start_host, open_transport):
    host = await start_host({"facts": Script()})
    host.faults.drop_after_login = True
    ran = await run(open_transport(host.as_host()), host.as_host(), command("facts", seconds=1))
    assert ran.detail == "ssh.unreachable"
    assert ran.evidence.started_at is None
    assert host.seen.connections <= 5


async def _peer(answer: bytes | None):
    """Listen, and answer each connection with bytes, or with nothing at all."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if answer is None:
            await reader.read()
        else:
            writer.write(answer)
            await reader.read(100)
        writer.close()

    return await asyncio.start_server(talk, "127.0.0.1", 0)


@pytest.mark.parametrize(
    ("answer", "details"),
    [
        (None, {"timeout.connect"}),
        (b"", {"ssh.unreachable"}),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", {"ssh.unreachable", "ssh.protocol"}),
        (b"SSH-1.5-old\r\n", {"ssh.protocol"}),
        (b"SSH-2.0-x\r\n" + b"\x00\x01\x02\x03" * 64, {"ssh.protocol", "ssh.unreachable"}),
        (b"x" * 100_000, {"ssh.protocol"}),
        (b"Exceeded MaxStartups\r\n", {"ssh.unreachable", "ssh.protocol"}),
    ],
    ids=["silent", "hangs up", "http", "ssh 1", "noise", "endless line", "too many startups"],
)
async def test_a_peer_that_is_no_ssh_server(start_host, open_transport, answer, details):
    host = await start_host({})
    server = await _peer(answer)
    async with server:
        elsewhere = host.as_host(port=server.sockets[0].getsockname()[1])
        ran = await run(open_transport(elsewhere, limits=PoolLimits(connect_seconds=0.5)), elsewhere, "facts")
    assert ran.detail in details
    assert answer is None or not answer or answer[:8].decode(errors="replace") not in str(ran.where)


async def test_max_sessions_is_busy_after_three_more_tries(start_host, open_transport):
    host = await start_host({"facts": Script()})
    host.faults.refuse_opens = 1000
    ran = await run(open_transport(host.as_host()), host.as_host(), "facts")
    assert (ran.detail, ran.details) == ("busy.host", ["busy.host"] * 4)
    assert (ran.evidence.started_at, host.seen.commands) == (None, [])


async def test_a_host_that_opens_no_session_is_not_logged_in_to_for_each_call(start_host, open_transport):
    host = await start_host({"facts": Script()})
    host.faults.max_sessions = 0
    transport = open_transport(host.as_host())
    several = await asyncio.gather(*(run(transport, host.as_host(), "facts") for _ in range(50)))
    assert {ran.detail for ran in several} == {"busy.host"}
    assert host.seen.connections <= 4


async def test_a_host_that_hangs_up_after_each_login_is_not_logged_in_to_for_each_call(start_host, open_transport):
    host = await start_host({"facts": Script()})
    host.faults.drop_after_login = True
    transport = open_transport(host.as_host())
    several = await asyncio.gather(*(run(transport, host.as_host(), "facts") for _ in range(50)))
    assert {ran.detail for ran in several} == {"ssh.unreachable"}
    assert host.seen.connections <= 6


@pytest.mark.parametrize("most", [1, 2, 3])
async def test_the_number_of_sessions_that_a_host_takes_is_learnt(start_host, open_transport, most):
    host = await start_host({"facts": Script(start_seconds=0.002)})
    host.faults.max_sessions = most
    transport = open_transport(host.as_host())
    for _ in range(2):
        several = await asyncio.gather(*(run(transport, host.as_host(), "facts") for _ in range(30)))
        assert {ran.status for ran in several} == {0}
    assert {detail for ran in several for detail in ran.details} == {None}  # by now no open fails any more


async def test_opens_that_fail_for_a_while_are_made_good(start_host, open_transport):
    host = await start_host({"facts": Script(out=b"{}")})
    host.faults.refuse_opens = 2
    ran = await run(open_transport(host.as_host()), host.as_host(), command("facts", idempotent=False))
    assert (ran.status, ran.stdout) == (0, b"{}")
    assert ran.details == ["busy.host", "busy.host", None]
    assert ran.sink.restarts == 3


@pytest.mark.parametrize("code", [1, 3, 4])
async def test_a_host_that_refuses_channels_for_good(start_host, open_transport, code):
    host = await start_host({"facts": Script()})
    host.faults.refuse_opens, host.faults.open_code = 1, code
    ran = await run(open_transport(host.as_host()), host.as_host(), "facts")
    assert (ran.detail, ran.details, ran.evidence.started_at) == ("ssh.channel", ["ssh.channel"], None)


async def test_a_host_that_refuses_exec(start_host, open_transport):
    host = await start_host({"facts": Script()})
    host.faults.refuse_exec = True
    ran = await run(open_transport(host.as_host()), host.as_host(), "facts")
    assert (ran.detail, ran.where) == ("ssh.channel", "exec refused")
    assert (ran.evidence.started_at, ran.evidence.end_unconfirmed) == (None, False)


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


async def test_a_connection_that_died_while_idle_is_replaced_unseen(start_host, open_transport):
    host = await start_host({"facts": Script()})
    transport = open_transport(host.as_host())
    assert (await run(transport, host.as_host(), "facts")).status == 0
    host.cut()
    ran = await run(transport, host.as_host(), command("facts", idempotent=False))
    assert ran.status == 0
    assert host.seen.commands == ["facts", "facts"]


async def test_a_host_that_came_back_is_used_again(start_host, open_transport):
    host = await start_host({"facts": Script()})
    transport = open_transport(host.as_host())
    assert (await run(transport, host.as_host(), "facts")).status == 0
    await host.stop()
    assert (await run(transport, host.as_host(), "facts")).detail == "ssh.unreachable"
    await host.start()
    await asyncio.sleep(0.3)  # longer than the longest pause of these limits
    assert (await run(transport, host.as_host(), "facts")).status == 0


@pytest.mark.parametrize(
    "text", ["", "a\0b", "a\nb", "a\rb", "a\x1bb", "a\x7fb", "a\udcffb", "x" * (COMMAND_BYTES + 1)]
)
async def test_a_command_that_must_not_be_sent_is_not_sent(start_host, open_transport, text):
    host = await start_host({})
    ran = await run(open_transport(host.as_host()), host.as_host(), text)
    assert (ran.detail, ran.details, host.seen.connections) == ("internal", [], 0)


async def test_the_longest_command_is_sent(start_host, open_transport):
    text = "x" * COMMAND_BYTES
    host = await start_host({text: Script()})
    assert (await run(open_transport(host.as_host()), host.as_host(), text)).status == 0


async def test_a_sink_that_breaks_ends_its_own_run_only(start_host, open_transport):
    host = await start_host({"facts": Script(out=b"x"), "other": Script(out=b"ok", start_seconds=0.1)})
    transport = open_transport(host.as_host())
    assert (await run(transport, host.as_host(), "facts")).status == 0

    class Broken:
        def restart(self) -> None:
            pass

        def write(self, chunk: bytes) -> None:  # noqa: ARG002 - the sink's signature
            raise ZeroDivisionError

    other = asyncio.ensure_future(run(transport, host.as_host(), "other"))
    broken = await run(transport, host.as_host(), "facts")
    with pytest.raises(ZeroDivisionError):
        await transport.run(host.as_host(), command("facts"), Broken(), broken.evidence)
    assert (await other).stdout == b"ok"
    assert host.seen.connections == 1


async def test_before_exec_comes_once_and_before_the_command(start_host, open_transport):
    host = await start_host({"facts": Script()})
    host.faults.refuse_opens = 1
    seen: list[list[str]] = []

    async def before_exec() -> None:
        seen.append(list(host.seen.commands))

    ran = await run(open_transport(host.as_host()), host.as_host(), "facts", before_exec=before_exec)
    assert (ran.status, seen) == (0, [[]])


async def test_what_before_exec_raises_is_raised_and_nothing_runs(start_host, open_transport):
    host = await start_host({"facts": Script()})
    transport = open_transport(host.as_host())

    async def before_exec() -> None:
        raise Refusal("audit.intent")

    ran = await run(transport, host.as_host(), "facts", before_exec=before_exec)
    assert (ran.detail, ran.evidence.started_at, host.seen.commands) == ("audit.intent", None, [])
    assert (await run(transport, host.as_host(), "facts")).status == 0


async def test_a_slow_before_exec_is_within_the_deadline(start_host, open_transport):
    host = await start_host({"facts": Script()})
    transport = open_transport(host.as_host())
    await transport.log_in(host.as_host())
    ran = await run(transport, host.as_host(), command("facts", seconds=AT_ONCE), before_exec=lambda: asyncio.sleep(5))
    assert (ran.detail, ran.evidence.started_at, host.seen.commands) == ("timeout.queue", None, ["true"])


async def test_a_timeout_inside_before_exec_is_not_ours(start_host, open_transport):
    host = await start_host({"facts": Script()})

    async def before_exec() -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        await run(open_transport(host.as_host()), host.as_host(), "facts", before_exec=before_exec)


async def test_aliases_of_one_login_share_connections(start_host, open_transport):
    host = await start_host({"facts": Script()})
    one, two = host.as_host("one", groups=frozenset({"a"})), host.as_host("two")
    other_user = host.as_host("three", user="else")
    transport = open_transport(one, two, other_user)
    for alias in (one, two, other_user):
        assert (await run(transport, alias, "facts")).status == 0
    assert host.seen.connections == 2


async def test_calls_are_refused_after_close(start_host, open_transport):
    host = await start_host({"facts": Script()})
    transport = open_transport(host.as_host())
    assert (await run(transport, host.as_host(), "facts")).status == 0
    await transport.close()
    assert (await run(transport, host.as_host(), "facts")).detail == "ssh.unreachable"
    assert not host.connections


async def test_close_lets_running_commands_end(start_host, open_transport):
    host = await start_host({"facts": Script(out=b"{}", start_seconds=0.2)})
    transport = open_transport(host.as_host())
    running = asyncio.ensure_future(run(transport, host.as_host(), "facts"))
    await asyncio.sleep(0.1)
    await transport.close()
    assert (await running).stdout == b"{}"


async def test_a_run_cut_by_close_is_no_success(start_host, open_transport, monkeypatch):
    monkeypatch.setattr("sshfacts.ssh.transport.CLOSE_SECONDS", 0.05)
    host = await start_host({"facts": Script(out=b"{}", end_seconds=3)})
    transport = open_transport(host.as_host())
    running = asyncio.ensure_future(run(transport, host.as_host(), command("facts", idempotent=False)))
    await asyncio.sleep(0.1)
    await transport.close()
    assert (await running).detail == "ssh.lost"


async def test_commands_and_remote_text_are_not_logged(start_host, open_transport, caplog):
    caplog.set_level(logging.DEBUG)
    logging.getLogger("asyncssh").setLevel(logging.DEBUG)
    host = await start_host({"secret-command": Script(out=b"secret-out", err=b"secret-err", signal="secret-signal")})
    transport = open_transport(host.as_host())
    await run(transport, host.as_host(), "secret-command")
    assert "secret" not in caplog.text


def test_a_host_without_a_pin_stops_the_start(key_file, client_key):
    host = FaultHost({}, client_key).as_host(host_keys=())
    with pytest.raises(SiteError) as caught:
        SshTransport(Settings(key_file, "test", "sqlite://", hosts={"web-1": host}))
    [finding] = caught.value.findings
    assert finding.code == "settings.host_keys"
    assert "web-1" in finding.what


async def test_a_log_in_ahead_takes_the_first_exec_upon_itself(start_host, open_transport):
    host = await start_host({"true": Script()})
    transport = open_transport(host.as_host())
    assert await transport.log_in(host.as_host()) == host.host_key.get_fingerprint()
    assert (host.seen.commands, host.seen.connections) == (["true"], 1)


async def test_a_log_in_ahead_that_is_refused(start_host, open_transport):
    host = await start_host({})
    host.faults.deny_login = True
    with pytest.raises(Refusal, match=r"ssh\.login"):
        await open_transport(host.as_host()).log_in(host.as_host())


async def test_a_connection_that_nobody_waits_for_any_more_is_warmed_up(start_host, open_transport):
    host = await start_host({"true": Script(), "facts": Script()})
    host.faults.login_seconds = 0.1
    transport = open_transport(host.as_host())
    assert (await run(transport, host.as_host(), command("facts", seconds=AT_ONCE))).detail == "timeout.connect"
    await asyncio.sleep(0.3)
    assert host.seen.commands == ["true"]


async def test_a_refused_connection_is_logged_for_operators(start_host, open_transport, caplog):
    host, other = await start_host({}), await start_host({})
    pinned = host.as_host("web-7", host_keys=(other.public_line(),))
    await run(open_transport(pinned), pinned, "facts")
    [record] = [one for one in caplog.records if one.name.startswith("sshfacts")]
    assert record.levelname == "WARNING"
    assert "web-7" in record.message
    assert "ssh.host_key" in record.message
    assert host.host_key.get_fingerprint() in record.message


async def test_hosts_that_are_down_keep_no_other_host_waiting(start_host, open_transport, monkeypatch):
    """The gate is held while there is work, and not while the network is silent."""
    monkeypatch.setattr("sshfacts.ssh.transport.CONNECTS_AT_ONCE", 1)
    host = await start_host({"facts": Script()})

    async def never(_: str, __: int) -> None:
        await asyncio.sleep(30)

    down = [host.as_host(f"down-{number}", user=f"u{number}") for number in range(5)]
    transport = open_transport(host.as_host(), *down)
    with monkeypatch.context() as patch:
        patch.setattr("sshfacts.ssh.dial.open_socket", never)
        waiting = [asyncio.ensure_future(run(transport, one, "facts")) for one in down]
        await asyncio.sleep(0.05)
    assert (await asyncio.wait_for(run(transport, host.as_host(), "facts"), 0.8)).status == 0
    assert {ran.detail for ran in await asyncio.gather(*waiting)} == {"timeout.connect"}
