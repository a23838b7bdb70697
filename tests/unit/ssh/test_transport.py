"""What the transport promises over all runs: what is sent, what is shared, and how it starts and ends."""

import asyncio
import logging

import pytest

from sshfacts.commands.settings import Credential, Settings
from sshfacts.errors import Refusal, SiteError
from sshfacts.limits import COMMAND_BYTES
from sshfacts.ssh.transport import SshTransport
from tests.support.fault_host import FaultHost, Script
from tests.support.runs import command, run

AT_ONCE = -1
"""Seconds of a command whose deadline, one second later, is now."""


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
    [connection] = transport._pool(host.as_host()).connections
    assert connection.slots.taken == 0
    assert (await run(transport, host.as_host(), "facts")).status == 0


async def test_a_slow_before_exec_is_within_the_deadline(start_host, open_transport):
    host = await start_host({"facts": Script()})
    transport = open_transport(host.as_host())
    assert (await run(transport, host.as_host(), "facts")).status == 0
    ran = await run(transport, host.as_host(), command("facts", seconds=AT_ONCE), before_exec=lambda: asyncio.sleep(5))
    assert (ran.detail, ran.evidence.started_at, host.seen.commands) == ("timeout.queue", None, ["facts"])


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


def test_everything_that_is_wrong_with_keys_stops_the_start_at_once(key_file, client_key):
    unpinned = FaultHost({}, client_key).as_host(host_keys=())
    key_file.chmod(0o644)
    credentials = {"key": Credential("key", key_file=key_file)}
    with pytest.raises(SiteError) as caught:
        SshTransport(Settings(key_file, "test", "sqlite://", hosts={"web-1": unpinned}, credentials=credentials))
    assert [(finding.code, finding.path) for finding in caught.value.findings] == [
        ("settings.credential", str(key_file)),
        ("settings.host_keys", str(key_file)),
    ]
    assert "mode 0644" in str(caught.value)
    assert "web-1" in str(caught.value)


async def test_close_waits_for_all_hosts_at_once(start_host, open_transport, monkeypatch):
    monkeypatch.setattr("sshfacts.ssh.transport.CLOSE_SECONDS", 0.2)
    host = await start_host({"hang": Script(hang=True)})
    logins = [host.as_host(f"h{number}", user=f"u{number}") for number in range(5)]
    transport = open_transport(*logins)
    hanging = [asyncio.ensure_future(run(transport, one, command("hang", idempotent=False))) for one in logins]
    await asyncio.sleep(0.3)
    began = asyncio.get_running_loop().time()
    await transport.close()
    assert asyncio.get_running_loop().time() - began < 0.8
    assert {ran.detail for ran in await asyncio.gather(*hanging)} == {"ssh.lost"}


async def test_a_connection_that_nobody_waits_for_any_more_is_warmed_up(start_host, open_transport):
    host = await start_host({"true": Script(), "facts": Script()})
    host.faults.login_seconds = 0.1
    transport = open_transport(host.as_host())
    assert (await run(transport, host.as_host(), command("facts", seconds=AT_ONCE))).detail == "timeout.connect"
    await asyncio.sleep(0.3)
    assert host.seen.commands == ["true"]
