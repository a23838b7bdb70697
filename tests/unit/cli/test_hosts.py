"""`sshfacts hosts`: what it prints, what it ends with, and that it changes nothing."""

import asyncio
import re
import tomllib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from subprocess import CompletedProcess

import asyncssh
import pytest

from tests.support.command_line import sshfacts
from tests.support.fault_host import FaultHost, Script, write_key

StartHost = Callable[..., Awaitable[FaultHost]]
SETTINGS = 'version = 1\n[credentials.main]\nkey_file = "key"\n'
KEYS = ("ssh-ed25519", "ecdsa-sha2-nistp256")


@pytest.fixture(scope="module")
def key() -> asyncssh.SSHKey:
    return asyncssh.generate_private_key("ssh-ed25519")


@pytest.fixture
async def start_host(key: asyncssh.SSHKey) -> AsyncIterator[StartHost]:
    async with AsyncExitStack() as stack:

        async def start(*, forwards: bool = False) -> FaultHost:
            more = [asyncssh.generate_private_key(KEYS[1])]
            host = FaultHost({"true": Script()}, key, forwards=forwards, more_host_keys=more)
            return await stack.enter_async_context(host)

        yield start


@pytest.fixture
def root(tmp_path: Path, key: asyncssh.SSHKey) -> Path:
    """A site that has no hosts yet."""
    root = tmp_path / "site"
    (root / "commands").mkdir(parents=True)
    (root / "commands" / "site.toml").write_text('name = "test"\nformat = 1\n')
    (root / "sshfacts.toml").write_text(SETTINGS)
    write_key(root, key, "key")
    return root


def _add(root: Path, alias: str, host: FaultHost, *lines: str, pin: FaultHost | None = None) -> None:
    """Write a host into the settings; without `lines` its own key is pinned, or that of another one."""
    place = f'[hosts.{alias}]\naddress = "127.0.0.1"\nport = {host.port}\nuser = "facts"\ncredential = "main"\n'
    pins = "" if any("host_keys" in line for line in lines) else f'host_keys = ["{(pin or host).public_line()}"]\n'
    with (root / "sshfacts.toml").open("a") as file:
        file.write(place + pins + "".join(f"{line}\n" for line in lines))


def _times(root: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in root.rglob("*")}


async def _hosts(root: Path, *words: str) -> CompletedProcess[str]:
    before = _times(root)
    done = await asyncio.to_thread(sshfacts, "hosts", *words, "--site", str(root))
    assert _times(root) == before
    return done


def _rows(done: CompletedProcess[str]) -> list[list[str]]:
    """Return the cells of the table."""
    lines = [line for line in done.stdout.splitlines() if "│" in line]
    return [[cell.strip() for cell in line.split("│")] for line in lines]


async def test_list_names_hosts_and_no_address(root, start_host):
    host = await start_host()
    _add(root, "bastion", host, 'groups = ["gates", "a"]')
    _add(root, "web-1", host, 'via = "bastion"')
    done = await _hosts(root, "list")
    assert done.returncode == 0
    assert _rows(done) == [["bastion", "a gates", "-", "main"], ["web-1", "-", "bastion", "main"]]
    assert "127.0.0.1" not in done.stdout


async def test_check_of_hosts_that_can_be_used_and_of_others(root, start_host):
    good, other, down = await start_host(), await start_host(), await start_host()
    _add(root, "good", good)
    _add(root, "other", other, pin=good)
    _add(root, "down", down)
    await down.stop()
    done = await _hosts(root, "check")
    good_key, other_key = good.host_key.get_fingerprint(), other.host_key.get_fingerprint()
    assert _rows(done) == [
        ["good", "yes", f"yes {good_key}", "yes", "ok"],
        ["other", "yes", f"NO {other_key}", "-", "ssh.host_key"],
        ["down", "NO", "-", "-", "ssh.unreachable"],
    ]
    assert done.returncode == 1
    assert re.findall(r"^(\w+): error\[([\w.]+)\]", done.stderr, re.MULTILINE) == [
        ("other", "ssh.host_key"),
        ("down", "ssh.unreachable"),
    ]
    assert done.stderr.count("\n  fix: ") == 2
    assert "no connection to" not in done.stderr  # the log says the same, and is quiet here
    assert (good.seen.commands, other.seen.logins) == (["true"], 0)


async def test_check_of_some_hosts_and_through_a_jump_host(root, start_host):
    jump, target, other = await start_host(forwards=True), await start_host(), await start_host()
    _add(root, "bastion", jump)
    _add(root, "web-1", target, 'via = "bastion"')
    _add(root, "other", other)
    done = await _hosts(root, "check", "web-1")
    assert (done.returncode, done.stderr, [row[0] for row in _rows(done)]) == (0, "", ["web-1"])
    assert (jump.seen.commands, target.seen.commands, other.seen.connections) == ([], ["true"], 0)


async def test_the_lines_of_a_scan_are_what_a_check_needs(root, start_host):
    host = await start_host()
    scanned = await _hosts(root, "scan", f"127.0.0.1:{host.port}")
    assert (scanned.returncode, scanned.stderr) == (0, "")
    assert [(row[0], row[2]) for row in _rows(scanned)] == [(kind, "not pinned") for kind in KEYS]
    assert "Nothing is trusted yet" in scanned.stdout
    lines = scanned.stdout[scanned.stdout.index("host_keys = [") :]
    assert len(tomllib.loads(lines)["host_keys"]) == 2
    assert lines.count("# SHA256:") == 2
    assert host.seen.logins == 0
    _add(root, "web-1", host, lines)
    assert (await _hosts(root, "check", "web-1")).returncode == 0


@pytest.mark.parametrize("by", ["alias", "address"])
async def test_a_scan_of_a_host_whose_key_is_pinned(root, start_host, by):
    host = await start_host()
    _add(root, "web-1", host)
    done = await _hosts(root, "scan", "web-1" if by == "alias" else f"127.0.0.1:{host.port}")
    assert done.returncode == 0
    assert "beside the pins of web-1" in done.stdout
    assert [row[2] for row in _rows(done)] == ["pinned", "not pinned"]
    assert host.public_line() in done.stdout  # the lines replace those that there are


async def test_a_scan_that_finds_another_key_gives_nothing_to_paste(root, start_host):
    host, other = await start_host(), await start_host()
    _add(root, "web-1", host, pin=other)
    done = await _hosts(root, "scan", "web-1")
    assert done.returncode == 1
    assert [row[2] for row in _rows(done)] == ["NOT the pinned one of this type", "not pinned", "pinned, and not shown"]
    assert "somebody may stand in between" in done.stderr
    assert "ssh-ed25519 AAAA" not in done.stdout


async def test_a_scan_that_finds_no_pinned_key(root, start_host):
    host = await start_host()
    rsa = asyncssh.generate_private_key("ssh-rsa").export_public_key("openssh").decode().strip()
    _add(root, "web-1", host, f'host_keys = ["{rsa}"]')
    done = await _hosts(root, "scan", "web-1")
    assert (done.returncode, done.stderr) == (1, "error: web-1 shows none of the keys that are pinned\n")
    assert host.public_line() in done.stdout


async def test_a_scan_through_a_jump_host(root, start_host):
    jump, target = await start_host(forwards=True), await start_host()
    _add(root, "bastion", jump)
    done = await _hosts(root, "scan", f"127.0.0.1:{target.port}", "--via", "bastion")
    assert (done.returncode, [row[2] for row in _rows(done)]) == (0, ["not pinned"] * 2)
    assert (jump.seen.connections, target.seen.logins) == (1, 0)


async def test_a_scan_of_a_host_that_does_not_answer(root, start_host):
    host = await start_host()
    await host.stop()
    done = await _hosts(root, "scan", f"127.0.0.1:{host.port}")
    assert (done.returncode, done.stdout) == (1, "")
    assert "error[ssh.unreachable]: No connection to the host (ECONNREFUSED)\n  fix: " in done.stderr


async def test_a_scan_needs_no_site(tmp_path, start_host):
    host = await start_host()
    done = await asyncio.to_thread(sshfacts, "hosts", "scan", f"127.0.0.1:{host.port}", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


async def test_a_scan_in_a_site_that_is_not_finished(root, start_host):
    host = await start_host()
    (root / "sshfacts.toml").write_text(SETTINGS + "[hosts.web-1]\n")
    done = await asyncio.to_thread(sshfacts, "hosts", "scan", f"127.0.0.1:{host.port}", cwd=root)
    assert done.returncode == 0
    assert done.stderr.startswith("note: the site of this folder cannot be loaded")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("check", "web-9"), "no host 'web-9' in sshfacts.toml"),
        (("scan", "web-1", "--via", "web-1"), "--via is for addresses"),
        (("scan", "192.0.2.1", "--via", "web-9"), "no host 'web-9' to jump through"),
        (("scan", "192.0.2.1:0"), "'192.0.2.1:0' is no host of this site, and neither a name"),
    ],
)
async def test_a_usage_error_ends_with_2(root, start_host, words, reason):
    host = await start_host()
    _add(root, "web-1", host)
    done = await _hosts(root, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert reason in done.stderr
    assert host.seen.connections == 0
