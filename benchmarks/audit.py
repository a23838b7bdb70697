"""What the record costs: `python benchmarks/audit.py [--quick] [--folder DIR] [--records N [--postgresql URL]]`.

Two promises are measured, each as a ratio inside one run, since absolute figures depend on the disk:

* `call_over_two_commits`: one call's two durable records against two bare commits of the same rows, one after
  the other, at p50. At most 1.5. A bare commit is the driver's alone, with its row ready to bind, in a thread
  that the event loop awaits: waiting for the disk on the event loop would stop every other call.
* `group_over_single`: calls per second of 10 callers with group commit against one commit per record.
  At least 2.5.

Reported, and not judged, are the records per second that are sealed, verified in the database, and verified in an
exported file: `seal_per_second`, `verify_per_second`, `verify_file_per_second`.

`call_over_two_blocking_commits` leaves the thread out of the bare commits. It is shown and not judged: two
changes of thread cost about 80 µs, which is half of a commit on a disk that syncs in 100 µs.

With `--records` a record of that size is written, sealed, asked and verified on SQLite and PostgreSQL: see
`audit_questions`. One million take ten minutes, and 6 GB for a while.

The last line is one JSON object. The exit status is 1 if a promise does not hold.
"""

import argparse
import asyncio
import json
import sqlite3
import sys
import tempfile
from collections.abc import Awaitable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from sshfacts.storage.chain import Chain
from sshfacts.storage.engine import open_for_writing, prepare
from sshfacts.storage.recorder import Recorder, open_recorder
from sshfacts.storage.writer import BATCH
from tests.support.exports import exported, verified
from tests.support.records import intent, outcome, url_of
from tests.support.sealed import new_sqlite, rows_of_calls

CALLERS = (1, 10, 50)
TURN = 5
CALLS_AT_ONCE = 1_000
FEWEST_RECORDS = 10_000
"""Of a record whose questions are measured: one with fewer is hardly the record of a quarter."""
LARGEST_CALL_OVER_TWO_COMMITS = 1.5
SMALLEST_GROUP_OVER_SINGLE = 2.5


async def call(recorder: Recorder, request_id: str) -> None:
    """Make the two durable records of one call, with no command in between."""
    leaf = await recorder.append(intent(request_id))
    await recorder.append(outcome(leaf, request_id))


def bare_rows() -> Iterator[tuple[object, ...]]:
    """Yield the rows of calls, linked and ready to bind, so that only the database is measured."""
    chain = Chain()
    number = 0
    while True:
        first = chain.link(intent(f"req.bare{number:08}"))
        second = chain.link(outcome(first.leaf_hash, f"req.bare{number:08}"))
        for entry in (first, second):
            row = {**entry.row, "at": str(entry.row["at"])}
            yield tuple(row.values())
        number += 1


class BareCommits:
    """The driver alone on a database of the same schema: one row, one commit."""

    def __init__(self, path: Path) -> None:
        prepare(open_for_writing(url_of(path)))
        columns = list(Chain().link(intent()).row)
        self._insert = f"INSERT INTO audit_entry ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"  # noqa: S608 - names of columns
        self._rows = bare_rows()
        self._thread = ThreadPoolExecutor(1)
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._connection.execute("PRAGMA synchronous=FULL")

    def blocking(self) -> float:
        """Return the seconds of two commits, one after the other."""
        pair = list(islice(self._rows, 2))
        begin = perf_counter()
        for row in pair:
            self._commit(row)
        return perf_counter() - begin

    async def awaited(self) -> float:
        """Return the seconds of two commits that the event loop waits for."""
        loop = asyncio.get_running_loop()
        pair = list(islice(self._rows, 2))
        begin = perf_counter()
        for row in pair:
            await loop.run_in_executor(self._thread, self._commit, row)
        return perf_counter() - begin

    def close(self) -> None:
        """End the thread and the connection."""
        self._thread.shutdown()
        self._connection.close()

    def _commit(self, row: tuple[object, ...]) -> None:
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.execute(self._insert, row)
        self._connection.execute("COMMIT")


async def call_times(path: Path, callers: int, seconds: float, batch: int) -> tuple[float, list[float]]:
    """Return calls per second, and the seconds of each call, of so many callers at once."""
    times: list[float] = []
    async with open_recorder(url_of(path), batch=batch) as recorder:
        end = perf_counter() + seconds

        async def caller(number: int) -> None:
            for turn in range(1_000_000):
                begin = perf_counter()
                if begin >= end:
                    return
                await call(recorder, f"req.c{number:03}.{turn:07}")
                times.append(perf_counter() - begin)

        begin = perf_counter()
        await asyncio.gather(*(caller(number) for number in range(callers)))
        return len(times) / (perf_counter() - begin), times


def p99(times: list[float]) -> float:
    """Return the 99th percentile."""
    return quantiles(times, n=100)[98]


async def measure_one_call(folder: Path, seconds: float) -> tuple[float, float]:
    """Print and return one call's two records over two bare commits, awaited and blocking, at p50.

    The three take short turns, since the speed of a shared disk changes within a second.
    """
    ours: list[float] = []
    awaited: list[float] = []
    blocking: list[float] = []
    bare = BareCommits(folder / "bare.db")
    async with open_recorder(url_of(folder / "one.db")) as recorder:
        end = perf_counter() + seconds
        while perf_counter() < end:
            ours += [await timed(call(recorder, f"req.{len(ours):08}.{number}")) for number in range(TURN)]
            awaited += [await bare.awaited() for _ in range(TURN)]
            blocking += [bare.blocking() for _ in range(TURN)]
    bare.close()
    print(f"{'two bare commits, blocking':28} p50 {median(blocking) * 1e3:7.2f} ms")
    print(f"{'two bare commits, awaited':28} p50 {median(awaited) * 1e3:7.2f} ms")
    print(f"{'one call, two records':28} p50 {median(ours) * 1e3:7.2f} ms")
    return median(ours) / median(awaited), median(ours) / median(blocking)


async def timed(work: Awaitable[None]) -> float:
    """Return the seconds that `work` takes."""
    begin = perf_counter()
    await work
    return perf_counter() - begin


def measure_callers(folder: Path, callers: int, rounds: int, seconds: float) -> float:
    """Print both modes for so many callers, and return group commit over one commit per record."""
    ratios = []
    results: dict[int, list[tuple[float, list[float]]]] = {1: [], BATCH: []}
    for number in range(rounds):
        for batch, measured in results.items():
            path = folder / f"many-{callers}-{number}-{batch}.db"
            measured.append(asyncio.run(call_times(path, callers, seconds, batch)))
        ratios.append(results[BATCH][-1][0] / results[1][-1][0])
    for batch, name in ((1, "one commit per record"), (BATCH, "group commit")):
        rate = median(rate for rate, _ in results[batch])
        middle = median(median(times) for _, times in results[batch]) * 1e3
        worst = median(p99(times) for _, times in results[batch]) * 1e3
        print(f"{name:28} {callers:3} callers {rate:8.0f} calls/s   p50 {middle:7.2f} ms   p99 {worst:7.2f} ms")
    return median(ratios)


def measure_proof(folder: Path, calls: int) -> dict[str, int]:
    """Print and return how many records are sealed and verified in a second."""
    record = new_sqlite(folder / "proof")
    for first in range(0, calls, CALLS_AT_ONCE):
        record.append(rows_of_calls(CALLS_AT_ONCE, first=first))
    begin = perf_counter()
    sealed = record.seal()
    seconds = {"seal": perf_counter() - begin}
    begin = perf_counter()
    report = record.verify(sealed.checkpoint)
    seconds["verify"] = perf_counter() - begin
    lines = exported(record)
    begin = perf_counter()
    file_report = verified(lines, sealed.checkpoint)
    seconds["verify_file"] = perf_counter() - begin
    if not report.ok or not file_report.ok:
        raise SystemExit("the record does not verify")
    rates = {f"{name}_per_second": round(sealed.checkpoint.size / taken) for name, taken in seconds.items()}
    for name, rate in rates.items():
        print(f"{name:28} {sealed.checkpoint.size:7} records {rate:8} records/s")
    return rates


def main() -> int:
    """Measure, print a table and the JSON line, and judge."""
    parser = argparse.ArgumentParser(description="Measure what the record costs.")
    parser.add_argument("--quick", action="store_true", help="a few seconds instead of a minute")
    parser.add_argument("--folder", type=Path, help="where the databases are made; the disk is what is measured")
    parser.add_argument("--records", type=int, help="also ask and verify a record of this size, such as 1000000")
    parser.add_argument("--postgresql", metavar="URL", help="of an empty database, instead of a server started here")
    arguments = parser.parse_args()
    if arguments.records is not None and arguments.records < FEWEST_RECORDS:
        parser.error(f"--records is at least {FEWEST_RECORDS}")
    if arguments.postgresql is not None and arguments.records is None:
        parser.error("--postgresql goes with --records")
    rounds, seconds = (3, 0.5) if arguments.quick else (7, 2.0)
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        folder = Path(name)
        call_ratio, blocking_ratio = asyncio.run(measure_one_call(folder, 2 * rounds * seconds))
        ratios = {callers: measure_callers(folder, callers, rounds, seconds) for callers in CALLERS}
        rates: dict[str, float] = {**measure_proof(folder, 6_000 if arguments.quick else 60_000)}
        if arguments.records is not None:
            # Only this needs psycopg and pytest, which the server of the tests is made of.
            from benchmarks.audit_questions import measure_questions  # noqa: PLC0415 - brings psycopg, which only this needs

            rates |= measure_questions(arguments.records, folder, arguments.postgresql)
    result = {
        "benchmark": "audit",
        "call_over_two_commits": round(call_ratio, 2),
        "call_over_two_blocking_commits": round(blocking_ratio, 2),
        "group_over_single": round(ratios[10], 2),
        "group_over_single_50": round(ratios[50], 2),
        **rates,
    }
    print(json.dumps(result))
    kept = call_ratio <= LARGEST_CALL_OVER_TWO_COMMITS and ratios[10] >= SMALLEST_GROUP_OVER_SINGLE
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
