"""What the command file's own retry does, and what it never does."""

import asyncio

import pytest

from sshfacts.commands.operation import Retry
from sshfacts.errors import Code
from sshfacts.ssh.attempts import Command
from tests.support.fault_host import Script
from tests.support.runs import command, run

EVERY_CODE = frozenset(Code)


def _retry(attempts=3, seconds=30, codes=EVERY_CODE):
    return Retry(attempts, seconds, frozenset(codes))


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch):
    monkeypatch.setattr("sshfacts.ssh.attempts.FIRST_PAUSE", 0.01)


async def test_a_named_code_is_tried_again_until_it_works(start_host, open_transport):
    scripts = [Script(out=b"1", status=None), Script(out=b"2", status=None), Script(out=b"3")]
    host = await start_host({"facts": lambda: scripts.pop(0)})
    ran = await run(
        open_transport(host.as_host()),
        host.as_host(),
        command("facts", retry=_retry(codes={Code.UPSTREAM_UNAVAILABLE})),
    )
    assert (ran.status, ran.stdout) == (0, b"3")
    assert ran.details == ["ssh.no_exit_status", "ssh.no_exit_status", None]
    assert [attempt.n for attempt in ran.evidence.attempts] == [1, 2, 3]


async def test_attempts_are_counted_in_total(start_host, open_transport):
    host = await start_host({"facts": Script(status=None)})
    for attempts in (1, 2):
        ran = await run(
            open_transport(host.as_host()), host.as_host(), command("facts", retry=_retry(attempts=attempts))
        )
        assert ran.details == ["ssh.no_exit_status"] * attempts


async def test_an_outage_is_waited_out(start_host, open_transport, monkeypatch):
    monkeypatch.setattr("sshfacts.ssh.attempts.LONGEST_PAUSE", 0.01)
    host = await start_host({"facts": Script()})
    transport = open_transport(host.as_host())
    await host.stop()
    running = asyncio.ensure_future(run(transport, host.as_host(), command("facts", retry=_retry(attempts=8))))
    await asyncio.sleep(0.15)
    await host.start()
    ran = await running
    assert ran.status == 0
    assert set(ran.details) == {"ssh.unreachable", None}
    assert len(ran.details) <= 6  # each attempt waits for the pool's own pause, so none is wasted


@pytest.mark.parametrize(
    ("script", "detail"),
    [
        (Script(flood_out=True), "output.too_large"),
        (Script(status=None), "ssh.no_exit_status"),
        (Script(signal="SEGV"), "command.signal"),
    ],
)
async def test_other_codes_are_not_tried_again(start_host, open_transport, script, detail):
    host = await start_host({"facts": script})
    ran = await run(open_transport(host.as_host()), host.as_host(), command("facts", retry=_retry(codes={Code.BUSY})))
    assert ran.details == [detail]


async def test_a_wrong_answer_is_never_tried_again(start_host, open_transport):
    host = await start_host({"facts": Script(flood_out=True)})
    ran = await run(open_transport(host.as_host()), host.as_host(), command("facts", retry=_retry()))
    assert ran.details == ["output.too_large"]


async def test_a_refused_login_is_never_tried_again(start_host, open_transport):
    host = await start_host({})
    host.faults.deny_login = True
    ran = await run(open_transport(host.as_host()), host.as_host(), command("facts", retry=_retry()))
    assert ran.details == ["ssh.login"]


async def test_a_wrong_host_key_is_never_tried_again(start_host, open_transport):
    host, other = await start_host({}), await start_host({})
    pinned = host.as_host(host_keys=(other.public_line(),))
    ran = await run(open_transport(pinned), pinned, command("facts", retry=_retry()))
    assert ran.details == ["ssh.host_key"]


async def test_a_change_is_never_tried_again_after_it_may_have_run(start_host, open_transport):
    host = await start_host({"change": Script(status=None)})
    ran = await run(open_transport(host.as_host()), host.as_host(), command("change", idempotent=False, retry=_retry()))
    assert (ran.details, host.seen.commands) == (["ssh.no_exit_status"], ["change"])


async def test_no_attempt_begins_after_the_total_time(start_host, open_transport):
    host = await start_host({"facts": Script(status=None, start_seconds=0.3)})
    began = asyncio.get_running_loop().time()
    ran = await run(
        open_transport(host.as_host()),
        host.as_host(),
        command("facts", seconds=0, retry=_retry(attempts=50, seconds=1)),
    )
    assert asyncio.get_running_loop().time() - began < 1.3
    assert 2 <= len(ran.details) <= 4


def test_the_total_time_never_cuts_the_first_attempt():
    assert Command("x", 10, 1, 1, True).total_seconds == 11
    assert command("x", seconds=10, retry=_retry(seconds=5)).total_seconds == 11
    assert command("x", seconds=10, retry=_retry(seconds=40)).total_seconds == 40


async def test_a_later_attempt_forgets_the_earlier_one(start_host, open_transport):
    scripts = [Script(out=b"first", err=b"noise", status=None), Script(out=b"second")]
    host = await start_host({"facts": lambda: scripts.pop(0)})
    ran = await run(open_transport(host.as_host()), host.as_host(), command("facts", retry=_retry()))
    assert (ran.stdout, ran.evidence.stdout_bytes, ran.evidence.stderr_head) == (b"second", 6, b"")


async def test_an_attempt_that_never_started_leaves_no_start(start_host, open_transport):
    host = await start_host({"facts": Script(out=b"half", drop_connection=True)})
    transport = open_transport(host.as_host())

    async def stop_listening_after_the_first() -> None:
        host.faults.deny_login = True

    ran = await run(transport, host.as_host(), "facts", before_exec=stop_listening_after_the_first)
    assert ran.details == ["ssh.lost", "ssh.login"]
    assert (ran.evidence.started_at, ran.evidence.stdout_sha256) == (None, None)
