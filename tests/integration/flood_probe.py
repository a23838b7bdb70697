"""Meet 50 floods at once in a process of its own, and print what that took; see test_ssh_load.py.

    python flood_probe.py PORT USER HOST_KEY KEY_FILE COMMAND

Only the memory of one process can be told from that of the tests.
"""

import asyncio
import json
import sys
from pathlib import Path

from sshfacts.commands.settings import Credential, Host, Settings
from sshfacts.limits import KIB
from sshfacts.ssh.limits import PoolLimits
from sshfacts.ssh.transport import SshTransport
from tests.support.pools import leaves_nothing
from tests.support.runs import Ran, command, run

FLOODS = 50
BYTES = 64 * KIB
LIMITS = PoolLimits(connections=13)
"""Enough for all floods to run at the same time."""


def _peak() -> int:
    """Return the most bytes that were resident since the peak was last forgotten."""
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) * KIB


def _forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")  # proc(5): resets VmHWM to what is resident now


async def _all_at_once(transport: SshTransport, host: Host, text: str) -> list[Ran]:
    flood = command(f"sleep 0.5; {text}", seconds=30, stdout_bytes=BYTES, stderr_bytes=BYTES)
    return await asyncio.gather(*(run(transport, host, flood) for _ in range(FLOODS)))


async def main(port: str, user: str, host_key: str, key_file: str, text: str) -> None:
    """Print the growth in bytes, how the floods ended, how much was read, and whether all was given back."""
    host = Host("web-1", "127.0.0.1", user, "key", port=int(port), host_keys=(host_key,))
    credentials = {"key": Credential("key", key_file=Path(key_file))}
    settings = Settings(Path(key_file), "test", "sqlite://", hosts={"web-1": host}, credentials=credentials)
    transport = SshTransport(settings, LIMITS)
    first = await run(transport, host, "true")
    _forget_peak()
    before = _peak()
    quiet = await _all_at_once(transport, host, "sleep 1.5")  # so that no flood waits for a connection
    connections = len(transport._pool(host).connections)
    floods = await _all_at_once(transport, host, text)
    told = {
        "works": {ran.status for ran in (first, *quiet)} == {0},
        "grown": _peak() - before,
        "details": sorted({str(ran.detail) for ran in floods}),
        "attempts": sum(len(ran.details) for ran in floods),
        "most": max(ran.evidence.stdout_bytes + ran.evidence.stderr_bytes for ran in floods),
        "connections": connections,
        "leaves_nothing": await leaves_nothing(transport),
    }
    await transport.close()
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
