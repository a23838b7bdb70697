"""Each way in which a host lets us in or not, and what it costs the other calls, on a host that plays it."""

import asyncio
import socket
import struct

import pytest

from sshfacts.ssh.limits import BackoffLimits, PoolLimits
from tests.support.fault_host import Script
from tests.support.runs import command, run

PATIENT = PoolLimits(backoff=BackoffLimits(first=20.0))
AT_ONCE = -1
"""Seconds of a command whose deadline, one second later, is now."""


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
    assert again.evidence.host_key == host.host_key.get_fingerprint()


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
        (b"Welcome to this host\r\n" * 10_000, {"ssh.protocol"}),
        (b"Exceeded MaxStartups\r\n", {"ssh.unreachable", "ssh.protocol"}),
    ],
    ids=["silent", "hangs up", "http", "ssh 1", "noise", "endless line", "endless preamble", "too many startups"],
)
async def test_a_peer_that_is_no_ssh_server(start_host, open_transport, answer, details):
    host = await start_host({})
    server = await _peer(answer)
    async with server:
        elsewhere = host.as_host(port=server.sockets[0].getsockname()[1])
        ran = await run(open_transport(elsewhere, limits=PoolLimits(connect_seconds=0.5)), elsewhere, "facts")
    assert ran.detail in details
    assert answer is None or not answer or answer[:8].decode(errors="replace") not in str(ran.where)


async def test_a_peer_that_falls_silent_after_its_banner(start_host, open_transport):
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-x\r\n")
        while await reader.read(4096):
            pass
        writer.close()

    host = await start_host({})
    async with await asyncio.start_server(talk, "127.0.0.1", 0) as server:
        elsewhere = host.as_host(port=server.sockets[0].getsockname()[1])
        ran = await run(open_transport(elsewhere, limits=PoolLimits(connect_seconds=0.3)), elsewhere, "facts")
    assert (ran.detail, ran.where, ran.evidence.started_at) == ("timeout.connect", "no login in time", None)


async def test_a_peer_that_resets_the_connection(start_host, open_transport):
    async def talk(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reset = struct.pack("ii", 1, 0)  # SO_LINGER of no seconds: the close is a reset
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
        writer.close()

    host = await start_host({})
    async with await asyncio.start_server(talk, "127.0.0.1", 0) as server:
        elsewhere = host.as_host(port=server.sockets[0].getsockname()[1])
        ran = await run(open_transport(elsewhere), elsewhere, "facts")
    assert ran.detail == "ssh.unreachable"


async def test_a_connect_that_nobody_answers(start_host, open_transport):
    """A listener whose queue is full drops further requests, as a firewall does."""
    host = await start_host({})
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        with socket.create_connection(full.getsockname()):
            elsewhere = host.as_host(port=full.getsockname()[1])
            ran = await run(open_transport(elsewhere, limits=PoolLimits(connect_seconds=0.3)), elsewhere, "facts")
    assert (ran.detail, ran.evidence.host_key) == ("timeout.connect", None)


async def test_max_sessions_is_busy_after_three_more_tries(start_host, open_transport):
    host = await start_host({"facts": Script()})
    host.faults.refuse_opens = 1000
    ran = await run(open_transport(host.as_host()), host.as_host(), "facts")
    assert (ran.detail, ran.details) == ("busy.host", ["busy.host"] * 4)
    assert (ran.evidence.started_at, host.seen.commands) == (None, [])


async def test_a_host_that_opens_no_session_is_not_logged_in_to_for_each_call(start_host, open_transport):
    host = await start_host({"facts": Script()})
    host.faults.max_sessions = 0
    transport = open_transport(host.as_host(), limits=PATIENT)
    several = await asyncio.gather(*(run(transport, host.as_host(), "facts") for _ in range(50)))
    assert {ran.detail for ran in several} == {"busy.host"}
    assert host.seen.connections <= 3


async def test_a_host_that_hangs_up_after_each_login_is_not_logged_in_to_for_each_call(start_host, open_transport):
    host = await start_host({"facts": Script()})
    host.faults.drop_after_login = True
    transport = open_transport(host.as_host(), limits=PATIENT)
    several = await asyncio.gather(*(run(transport, host.as_host(), "facts") for _ in range(50)))
    assert {ran.detail for ran in several} == {"ssh.unreachable"}
    assert host.seen.connections <= 3


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
        patch.setattr("sshfacts.ssh.way.open_socket", never)
        waiting = [asyncio.ensure_future(run(transport, one, "facts")) for one in down]
        await asyncio.sleep(0.05)
    assert (await asyncio.wait_for(run(transport, host.as_host(), "facts"), 0.8)).status == 0
    assert {ran.detail for ran in await asyncio.gather(*waiting)} == {"timeout.connect"}
