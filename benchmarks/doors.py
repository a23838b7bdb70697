"""What the doors cost: `python benchmarks/doors.py [--quick]`.

Everything is processor time per call, in all threads of the process that serves, and is told as a ratio to the
same call made by the pipeline alone: with its decision, its two durable records and its contracts, but without SSH,
whose part is played by a transport that answers at once. A call over SSH takes tens of milliseconds more, so these
ratios are the worst case. The clients are processes of their own, and are not counted.

* `http`: `POST /v1/operations/NAME`
* `mcp_2026`: MCP without a handshake, revision 2026-07-28
* `mcp_2025`: MCP as the clients of before speak it, each request for itself
* `operations_200_over_5`: the same call by MCP on a site of 200 operations over one of 5. At most 1.2.

The last line is one JSON object. The exit status is 1 if a promise does not hold.
"""

import argparse
import asyncio
import http.client
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import process_time
from typing import Self

import psutil

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from sshfacts.call import Pipeline
from sshfacts.commands.site import Site, load_site
from sshfacts.permission.request import Request
from sshfacts.storage.recorder import open_recorder
from tests.support.doors import listening, served
from tests.support.many import ANSWER, http_call, mcp_call, site_with
from tests.support.transports import CannedTransport

FEW, MANY = 5, 200
LARGEST_GROWTH = 1.2
DOORS = ("http", "mcp_2026", "mcp_2025")


async def serve(folder: Path) -> None:
    """Serve the site in `folder` until stdin ends, after saying where, and with which token."""
    site = load_site(folder, need_settings=True)
    async with served(site, CannedTransport(ANSWER)) as doors, listening(doors.app) as url:
        print(json.dumps({"url": url, "token": doors.tokens["agent"]}), flush=True)
        await asyncio.to_thread(sys.stdin.read)


class Server:
    """A process that serves one site, and a client that keeps its connection."""

    def __init__(self, folder: Path) -> None:
        argv = [sys.executable, __file__, "--serve", str(folder)]
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: S603 - our own program

    def __enter__(self) -> Self:
        assert self._process.stdout is not None  # noqa: S101 - asked for above; for the type checker
        told = json.loads(self._process.stdout.readline())
        self._token = str(told["token"])
        self._connection = http.client.HTTPConnection(str(told["url"]).removeprefix("http://"))
        self._usage = psutil.Process(self._process.pid)
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        self._process.communicate()

    def cost(self, door: str, calls: int) -> float:
        """Return the processor seconds of one call, over so many."""
        path, headers, body = (
            http_call(self._token) if door == "http" else mcp_call(self._token, modern=door == "mcp_2026")
        )
        begun = self._seconds()
        for _ in range(calls):
            self._connection.request("POST", path, body, headers)
            answer = self._connection.getresponse().read()
            if b"free_bytes" not in answer:
                raise RuntimeError(answer.decode())
        return (self._seconds() - begun) / calls

    def _seconds(self) -> float:
        times = self._usage.cpu_times()
        return float(times.user + times.system)


async def pipeline_cost(site: Site, calls: int) -> float:
    """Return the processor seconds of one call by the pipeline alone."""
    caller = site.require_settings().callers["agent"]
    async with open_recorder(site.require_settings().database_url) as recorder:
        pipeline = Pipeline(site, CannedTransport(ANSWER), recorder)
        begun = process_time()
        for _ in range(calls):
            envelope = await pipeline.call(caller, Request("disk_000", "web-1", {}), "benchmark")
            if envelope["outcome"] != "success":
                raise RuntimeError(str(envelope))
        cost = (process_time() - begun) / calls
        await pipeline.close()
    return cost


def measure(folder: Path, rounds: int, calls: int) -> dict[str, float]:
    """Return the median of each ratio; in each round all are measured in turn."""
    few, many, alone = (
        site_with(count, folder / name) for count, name in ((FEW, "few"), (MANY, "many"), (FEW, "alone"))
    )
    site = alone.load()
    ratios: dict[str, list[float]] = {name: [] for name in (*DOORS, "operations_200_over_5")}
    with Server(few.write()) as small, Server(many.write()) as large:
        for number in range(rounds + 1):
            base = asyncio.run(pipeline_cost(site, calls))
            costs = {door: small.cost(door, calls) for door in DOORS}
            grown = large.cost("mcp_2026", calls)
            if number == 0:
                continue  # It pays for what is made once.
            for door, cost in costs.items():
                ratios[door].append(cost / base)
            ratios["operations_200_over_5"].append(grown / costs["mcp_2026"])
            print(f"pipeline {base * 1e3:6.2f} ms   " + "   ".join(f"{d} {c * 1e3:6.2f} ms" for d, c in costs.items()))
    return {name: round(median(found), 2) for name, found in ratios.items()}


def main() -> int:
    """Measure, print a table and the JSON line, and judge."""
    parser = argparse.ArgumentParser(description="Measure what the doors cost.")
    parser.add_argument("--quick", action="store_true", help="at most a minute, and less exact")
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve is not None:
        asyncio.run(serve(arguments.serve))
        return 0
    with tempfile.TemporaryDirectory() as name:
        ratios = measure(Path(name), *((5, 100) if arguments.quick else (15, 300)))
    print(json.dumps({"benchmark": "doors", **ratios}))
    return 0 if ratios["operations_200_over_5"] <= LARGEST_GROWTH else 1


if __name__ == "__main__":
    sys.exit(main())
