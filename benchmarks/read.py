"""How fast the strict JSON reader is, next to the parser it stands on: `python benchmarks/read.py [--quick]`.

`reader_over_ijson` is the reader's throughput divided by that of plain ijson (yajl2_c `basic_parse_coro`)
fed the same 32 KiB chunks into one list: what strictness and building the document cost together. It must
be at least 0.30. All cases are timed in one run, in turns, and each counts with its best CPU time, so that
a busy machine spoils them alike.

The last line is one JSON object. The exit status is 1 if the promise does not hold.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import process_time

from ijson.backends import yajl2_c
from ijson.utils import sendable_list

# The checkout is measured, whatever is installed.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from sshfacts.adapters.json_reader import JsonReader
from sshfacts.limits import KIB, MIB, ReadLimits
from sshfacts.values import JsonValue

CHUNK = 32 * KIB
"""What asyncssh hands on at a time."""
LIMITS = ReadLimits(bytes=2 * MIB, items=20_000)
SMALLEST_READER_OVER_IJSON = 0.30


@dataclass(frozen=True, slots=True)
class Case:
    """One thing to time, with the bytes it reads."""

    name: str
    document: bytes
    read: Callable[[bytes], object]


def document(size: int, state: str = "active") -> bytes:
    """Return an array of about `size` bytes; with the usual state, 1 MiB holds about 11,400 objects of 6 members."""
    rows: list[str] = []
    length = len("[]")
    while True:
        number = len(rows)
        row = {
            "unit": f"demo-{number:05}",
            "state": state,
            "pid": 1000 + number,
            "load": number % 700 / 100,
            "enabled": number % 3 == 0,
            "result": None,
        }
        text = json.dumps(row, ensure_ascii=state.isascii(), separators=(",", ":"))
        length += len(text.encode()) + len(",")
        if length > size:
            return f"[{','.join(rows)}]".encode()
        rows.append(text)


def chunks(data: bytes, size: int) -> Iterator[bytes]:
    """Yield the bytes as they would arrive."""
    for start in range(0, len(data), size):
        yield data[start : start + size]


def plain_ijson(data: bytes) -> object:
    """Return the events of plain ijson."""
    events = sendable_list()
    parser = yajl2_c.basic_parse_coro(events)
    for chunk in chunks(data, CHUNK):
        parser.send(chunk)
    parser.close()
    return events


def reader(size: int) -> Callable[[bytes], JsonValue]:
    """Return a function that reads a document in chunks of one size."""

    def read(data: bytes) -> JsonValue:
        strict = JsonReader(LIMITS)
        for chunk in chunks(data, size):
            strict.feed(chunk)
        return strict.close()

    return read


def cases() -> list[Case]:
    """Return everything that is timed."""
    found = []
    documents = {"64 KiB": document(64 * KIB), "1 MiB": document(MIB), "1 MiB, not ASCII": document(MIB, "läuft-€😀")}
    for label, data in documents.items():
        found += [
            Case(f"{label}: json.loads", data, json.loads),
            Case(f"{label}: plain ijson", data, plain_ijson),
            Case(f"{label}: reader", data, reader(CHUNK)),
            Case(f"{label}: reader, 1400 byte chunks", data, reader(1400)),
        ]
    return [*found, Case("64 KiB: reader, 1 byte chunks", documents["64 KiB"], reader(1))]


def measure(found: list[Case], seconds: float) -> dict[str, float]:
    """Return the throughput of each case in MB/s: its best of as many rounds as fit."""
    best = dict.fromkeys((case.name for case in found), float("inf"))
    end = process_time() + seconds
    while process_time() < end:
        for case in found:
            # A short document is read more often, so that both have as good a chance of a quiet moment.
            for _ in range(max(1, MIB // len(case.document) // 2)):
                start = process_time()
                case.read(case.document)
                best[case.name] = min(best[case.name], process_time() - start)
    return {case.name: len(case.document) / best[case.name] / 1e6 for case in found}


def main() -> int:
    """Print a table, and the ratios as JSON; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="15 seconds, and less exact")
    speed = measure(cases(), 12 if parser.parse_args().quick else 60)
    for name, value in speed.items():
        print(f"{name:44} {value:8.1f} MB/s")
    ratios = {
        "reader_over_ijson_64k": speed["64 KiB: reader"] / speed["64 KiB: plain ijson"],
        "reader_over_ijson_1m": speed["1 MiB: reader"] / speed["1 MiB: plain ijson"],
    }
    worst = ratios["reader_over_ijson"] = min(ratios.values())
    print(json.dumps({name: round(value, 3) for name, value in ratios.items()}))
    return worst < SMALLEST_READER_OVER_IJSON


if __name__ == "__main__":
    sys.exit(main())
