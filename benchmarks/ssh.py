"""What the pool costs and gains on a real sshd: `python benchmarks/ssh.py [--quick]`.

Two promises are measured, each as a ratio inside one run, since absolute figures depend on the machine:

* `pooled_over_bare`: one call over the pool, with its queue, deadline, counting, hashing and evidence, against
  asyncssh's bare `create_session` on one open connection, at p50. At most 1.1.
* `throughput_over_bare`: calls per second of 50 callers over the pool (3 connections, 4 sessions each) against 50
  callers who all open sessions on one connection, whose host allows that many. At least 0.9.

`mux_over_pooled` and `fresh_over_pooled` tell what others pay for one call: `ssh` with a warm ControlMaster, as a
process for each command, and a connection of its own for each command.

The variants take turns call by call, or second by second, so that a busy machine spoils them alike. The last line is
one JSON object. The exit status is 1 if a promise does not hold, and 2 without an sshd.
"""

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter

import asyncssh

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from sshfacts.commands.settings import Credential, Host, Settings
from sshfacts.limits import KIB
from sshfacts.ssh.credentials import load
from sshfacts.ssh.evidence import Evidence
from sshfacts.ssh.host_keys import trust
from sshfacts.ssh.options import connect_options
from sshfacts.ssh.transport import Command, SshTransport
from tests.support.sshd import SSHD, Sshd, keygen, public_line

ANSWER = json.dumps({"filesystems": [{"target": f"/srv/{number}", "size": 10**12} for number in range(40)]}).encode()
"""About 2 KB, as most operations answer."""
CALLERS = 50
TURNS_PER_SLOW_TURN = 10
"""Calls of the quick variants for each call of the slow ones."""
LARGEST_POOLED_OVER_BARE = 1.1
SMALLEST_THROUGHPUT_OVER_BARE = 0.9

Call = Callable[[], Awaitable[None]]


class BareSession(asyncssh.SSHClientSession[bytes]):
    """The least that is needed to know what a command printed and how it ended."""

    def __init__(self) -> None:
        self.out = bytearray()
        self.status: int | None = None
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def data_received(self, data: bytes, datatype: asyncssh.DataType) -> None:
        """Take stdout."""
        if datatype is None:
            self.out += data

    def exit_status_received(self, status: int) -> None:
        """Take the exit status."""
        self.status = status

    def connection_lost(self, exc: Exception | None) -> None:
        """Take note of the end."""
        if exc is None:
            self.closed.set_result(None)
        else:
            self.closed.set_exception(exc)


class Kept:
    """A sink that keeps an answer."""

    def __init__(self) -> None:
        self.out = bytearray()

    def restart(self) -> None:
        """Forget it."""
        self.out.clear()

    def write(self, chunk: bytes) -> None:
        """Keep more of it."""
        self.out += chunk


@dataclass(frozen=True)
class Variants:
    """Ways to run the command once; each raises if it does not get the answer."""

    bare: Call
    pooled: Call
    mux: Call
    fresh: Call


def check(out: bytes | bytearray, status: int | None) -> None:
    """Raise RuntimeError unless this is the answer."""
    if bytes(out) != ANSWER or status != 0:
        raise RuntimeError(f"{len(out)} bytes with status {status} are not the answer")


async def run_bare(connection: asyncssh.SSHClientConnection, text: str) -> None:
    """Run the command as asyncssh does it, on an open connection."""
    _, session = await connection.create_session(BareSession, text)
    await session.closed
    check(session.out, session.status)


async def run_program(*argv: str) -> None:
    """Run the command by a program on this machine."""
    process = await asyncio.create_subprocess_exec(
        *argv, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    out, _ = await process.communicate()
    check(out, process.returncode)


@asynccontextmanager
async def open_variants(folder: Path, host: Host, key: Path, text: str) -> AsyncIterator[Variants]:
    """Give all variants, with their connections open and warm."""
    credential = Credential("key", key_file=key)
    settings = Settings(folder, "benchmark", "sqlite://", hosts={host.alias: host}, credentials={"key": credential})
    command = Command(text, seconds=30, stdout_bytes=64 * KIB, stderr_bytes=64 * KIB, idempotent=False)
    transport = SshTransport(settings)

    async def connect() -> asyncssh.SSHClientConnection:
        async with load(credential).offer() as offer:
            options = connect_options(host, trust(host), offer.pair, 5.0, asyncssh.SSHClient)
            return await asyncssh.connect(host.address, host.port, config=None, options=options)

    async def pooled() -> None:
        kept = Kept()
        status = await transport.run(host, command, kept, Evidence())
        check(kept.out, status)

    async def fresh() -> None:
        async with await connect() as connection:
            await run_bare(connection, text)

    ssh = ssh_argv(folder, host, key)
    async with await connect() as connection:
        master = await asyncio.create_subprocess_exec(*ssh, "-M", "-N", "-f")
        await master.wait()
        variants = Variants(
            bare=lambda: run_bare(connection, text),
            pooled=pooled,
            mux=lambda: run_program(*ssh, text),
            fresh=fresh,
        )
        try:
            yield variants
        finally:
            await (await asyncio.create_subprocess_exec(*ssh, "-O", "exit", stderr=asyncio.subprocess.DEVNULL)).wait()
            await transport.close()


def ssh_argv(folder: Path, host: Host, key: Path) -> list[str]:
    """Return the command line of `ssh` with this host and key, and nothing of the user's own."""
    known = folder / "known_hosts"
    known.write_text(f"[{host.address}]:{host.port} {host.host_keys[0]}\n")
    options = {
        "BatchMode": "yes",
        "ControlPath": str(folder / "control"),
        "IdentitiesOnly": "yes",
        "IdentityFile": str(key),
        "LogLevel": "ERROR",
        "UserKnownHostsFile": str(known),
    }
    words = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    return ["ssh", "-F", "none", *words, "-p", str(host.port), f"{host.user}@{host.address}"]


async def seconds_of(call: Call) -> float:
    """Return the seconds that one call takes."""
    begin = perf_counter()
    await call()
    return perf_counter() - begin


async def measure_one_call(variants: Variants, turns: int) -> dict[str, float]:
    """Print and return the seconds of one call by each variant, at p50."""
    times: dict[str, list[float]] = {"bare": [], "pooled": [], "mux": [], "fresh": []}
    for turn in range(turns):
        names = ["bare", "pooled"] if turn % 2 else ["pooled", "bare"]
        if turn % TURNS_PER_SLOW_TURN == 0:
            names += ["mux", "fresh"]
        for name in names:
            times[name].append(await seconds_of(getattr(variants, name)))
    for name, taken in times.items():
        print(f"{name:7} one call            p50 {median(taken) * 1e3:7.2f} ms  of {len(taken)}")
    return {name: median(taken) for name, taken in times.items()}


async def calls_per_second(call: Call, seconds: float) -> float:
    """Return how many calls a second all callers together make."""
    begin = perf_counter()
    calls = 0

    async def caller() -> None:
        nonlocal calls
        while perf_counter() - begin < seconds:
            await call()
            calls += 1

    await asyncio.gather(*(caller() for _ in range(CALLERS)))
    return calls / (perf_counter() - begin)


async def measure_callers(variants: Variants, rounds: int, seconds: float) -> float:
    """Print the throughput of many callers, and return that of the pool over the bare one."""
    rates: dict[str, list[float]] = {"bare": [], "pooled": []}
    for turn in range(rounds):
        for name in ["bare", "pooled"] if turn % 2 else ["pooled", "bare"]:
            rates[name].append(await calls_per_second(getattr(variants, name), seconds))
    mux = await calls_per_second(variants.mux, seconds)
    for name, rate in [*((name, median(rate)) for name, rate in rates.items()), ("mux", mux)]:
        print(f"{name:7} {CALLERS} callers   {rate:8.0f} calls/s")
    return median(pooled / bare for pooled, bare in zip(rates["pooled"], rates["bare"], strict=True))


async def measure(folder: Path, turns: int, rounds: int, seconds: float) -> dict[str, float]:
    """Return all ratios."""
    key = keygen(folder / "id")
    (folder / "answer").write_bytes(ANSWER)
    (folder / "sshd").mkdir()
    # The bare variant opens a session for each caller; the pool keeps to what fits sshd's default of 10.
    with Sshd(folder / "sshd", public_line(key), f"MaxSessions {2 * CALLERS}") as sshd:
        async with open_variants(folder, sshd.as_host(), key, f"cat {folder}/answer") as variants:
            for call in (variants.bare, variants.pooled):
                await asyncio.gather(*(call() for _ in range(CALLERS)))
            one = await measure_one_call(variants, turns)
            throughput = await measure_callers(variants, rounds, seconds)
    return {
        "pooled_over_bare": one["pooled"] / one["bare"],
        "throughput_over_bare": throughput,
        "mux_over_pooled": one["mux"] / one["pooled"],
        "fresh_over_pooled": one["fresh"] / one["pooled"],
    }


def main() -> int:
    """Measure, print a table and the JSON line, and judge."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="half a minute instead of two")
    turns, rounds, seconds = (600, 5, 1.5) if parser.parse_args().quick else (1_500, 11, 3.0)
    if SSHD is None:
        print("this needs an sshd; Debian calls it openssh-server", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as name:
        ratios = asyncio.run(measure(Path(name), turns, rounds, seconds))
    print(json.dumps({"benchmark": "ssh", **{name: round(ratio, 3) for name, ratio in ratios.items()}}))
    kept = (
        ratios["pooled_over_bare"] <= LARGEST_POOLED_OVER_BARE
        and ratios["throughput_over_bare"] >= SMALLEST_THROUGHPUT_OVER_BARE
    )
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
