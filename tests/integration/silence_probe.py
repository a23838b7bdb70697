"""Take the network away under a command, in a network namespace of its own; see test_ssh_catalogue.py.

    unshare --net python silence_probe.py EMPTY_FOLDER

It prints how the first attempt ended, and after how many seconds.
"""

import asyncio
import subprocess
import sys
from pathlib import Path

from sshfacts.commands.settings import Credential, Settings
from sshfacts.ssh import tcp
from sshfacts.ssh.transport import SshTransport
from tests.support.runs import command, run
from tests.support.sshd import Sshd, keygen, public_line

TCP_USER_TIMEOUT_MS = 2_000
"""Keepalive would take 30 s, so it is this that ends the wait."""


def _loopback(state: str) -> None:
    subprocess.run(["ip", "link", "set", "dev", "lo", state], check=True)


async def _first_attempt(sshd: Sshd, key: Path) -> tuple[str | None, float]:
    host = sshd.as_host()
    settings = Settings(key, "test", "sqlite://", hosts={"web-1": host}, credentials={"key": Credential("key", key)})
    transport = SshTransport(settings)
    first = await run(transport, host, "true")
    if first.status != 0:
        raise RuntimeError(str(first.detail))
    _loopback("down")
    ran = await run(transport, host, command("true", seconds=30, idempotent=False))
    _loopback("up")
    await transport.close()
    attempt = ran.evidence.attempts[0]
    return attempt.detail, attempt.duration_us / 1e6


def main(folder: Path) -> None:
    """Print the detail and the seconds."""
    tcp.TCP_USER_TIMEOUT_MS = TCP_USER_TIMEOUT_MS
    _loopback("up")
    key = keygen(folder / "id")
    (folder / "sshd").mkdir()
    with Sshd(folder / "sshd", public_line(key)) as sshd:
        detail, seconds = asyncio.run(_first_attempt(sshd, key))
    sys.stdout.write(f"{detail} {seconds}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
