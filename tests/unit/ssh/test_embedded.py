"""The host of the demo, over the real transport."""

import asyncio
from pathlib import Path

import asyncssh
import pytest

from sshfacts.commands.settings import Host
from sshfacts.ssh.embedded import EmbeddedHost, new_key
from tests.support.runs import command, run


def _as_host(embedded: EmbeddedHost) -> Host:
    return Host(
        alias="demo",
        address="127.0.0.1",
        port=embedded.port,
        user="anybody",
        credential="key",
        host_keys=(embedded.host_key,),
    )


@pytest.fixture
async def embedded(stack, client_key):
    return await stack.enter_async_context(EmbeddedHost(client_key.export_public_key("openssh").decode()))


@pytest.fixture
def host(embedded) -> Host:
    return _as_host(embedded)


@pytest.mark.parametrize(
    ("text", "status", "stdout", "stderr"),
    [
        ("printf '{}'", 0, b"{}", b""),
        ("exec /usr/bin/env -i LC_ALL=C /bin/echo hi; exit 9", 0, b"hi\n", b""),
        ("echo out; echo err >&2; exit 7", 7, b"out\n", b"err\n"),
        ("cat", 0, b"", b""),
        ("no-such-program-here", 127, b"", None),
        ("head -c 100000 /dev/zero", 0, bytes(100_000), b""),
    ],
)
async def test_commands_are_really_run(open_transport, host, text, status, stdout, stderr):
    ran = await run(open_transport(host), host, command(text, stdout_bytes=200_000))
    assert (ran.status, ran.stdout) == (status, stdout)
    assert stderr is None or ran.evidence.stderr_head == stderr


async def test_a_command_that_dies_by_a_signal(open_transport, host):
    ran = await run(open_transport(host), host, "kill -KILL $$")
    assert (ran.detail, ran.evidence.exit_signal) == ("command.signal", "KILL")


async def test_a_command_ends_with_its_channel(open_transport, host, tmp_path):
    beat = tmp_path / "beat"
    text = f"(while sleep 0.05; do date +%N > {beat}; done) & wait"
    ran = await run(open_transport(host), host, command(text, seconds=0))
    assert ran.detail == "timeout.run"
    await asyncio.sleep(0.2)
    last = beat.read_text()
    await asyncio.sleep(0.2)
    assert beat.read_text() == last


async def test_a_host_that_lies(stack, open_transport, client_key):
    def answer(text: str) -> bytes | None:
        return b"lie" if text == "facts" else None

    line = client_key.export_public_key("openssh").decode()
    host = _as_host(await stack.enter_async_context(EmbeddedHost(line, answer)))
    transport = open_transport(host)
    assert (await run(transport, host, "facts")).stdout == b"lie"
    assert (await run(transport, host, "printf true")).stdout == b"true"


async def test_only_its_key_is_let_in(stack, open_transport, tmp_path):
    host = _as_host(await stack.enter_async_context(EmbeddedHost(new_key(tmp_path / "other"))))
    assert (await run(open_transport(host), host, "true")).detail == "ssh.login"


async def test_there_is_no_shell_no_terminal_and_no_forwarding(embedded, client_key):
    known = ([asyncssh.import_public_key(embedded.host_key)], [], [])
    options = {"client_keys": [client_key], "known_hosts": known, "config": None, "agent_path": None}
    async with asyncssh.connect("127.0.0.1", embedded.port, username="x", **options) as connection:
        assert (await connection.run(encoding=None)).exit_status == 1
        with pytest.raises(asyncssh.ChannelOpenError):
            await connection.run("true", term_type="xterm", request_pty="force")
        with pytest.raises(asyncssh.ChannelOpenError):
            await connection.open_connection("127.0.0.1", embedded.port)


async def test_stop_hangs_up_and_frees_the_port(client_key):
    embedded = EmbeddedHost(client_key.export_public_key("openssh").decode())
    await embedded.start()
    await embedded.stop()
    await embedded.stop()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", embedded.port)


def test_a_new_key_is_ours_alone_and_replaces_nothing(tmp_path: Path):
    path = tmp_path / "id"
    line = new_key(path)
    assert (path.stat().st_mode & 0o777, line.split()[0]) == (0o600, "ssh-ed25519")
    with pytest.raises(FileExistsError):
        new_key(path)
    assert asyncssh.import_private_key(path.read_bytes()).export_public_key("openssh").decode().strip() == line


async def test_many_commands_at_once(open_transport, host):
    transport = open_transport(host)
    several = await asyncio.gather(*(run(transport, host, f"echo {n}") for n in range(20)))
    assert [ran.stdout for ran in several] == [f"{n}\n".encode() for n in range(20)]
