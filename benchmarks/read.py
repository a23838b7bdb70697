"""How fast an answer is read and judged, next to the parts it stands on: `python benchmarks/read.py [--quick]`.

`reader_over_ijson` is the reader's throughput divided by that of plain ijson (yajl2_c `basic_parse_coro`)
fed the same 32 KiB chunks into one list: what strictness and building the document cost together. It must
be at least 0.30.

`facts_over_stock` is the CPU time from bytes to facts for 200 file systems of `disk_usage`, with both contracts,
the check over every row and the selection, divided by that of `json.loads` and stock jsonschema on the same two
contracts, which neither check nor select. It must be at most 1.3.

All cases are timed in one run, in turns, and each counts with its best CPU time, so that a busy machine spoils
them alike.

The last line is one JSON object. The exit status is 1 if a promise does not hold.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import process_time

from ijson.backends import yajl2_c
from ijson.utils import sendable_list
from jsonschema import Draft202012Validator

# The checkout is measured, whatever is installed.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from sshfacts.adapters.json_reader import JsonReader
from sshfacts.builtin import builtin_site
from sshfacts.commands.captured import Captured, facts_of
from sshfacts.commands.site import load_site
from sshfacts.limits import KIB, MIB, ReadLimits
from sshfacts.values import JsonValue

CHUNK = 32 * KIB
"""What asyncssh hands on at a time."""
LIMITS = ReadLimits(bytes=2 * MIB, items=20_000)
SMALLEST_READER_OVER_IJSON = 0.30
LARGEST_FACTS_OVER_STOCK = 1.3
ROWS = 200
FACTS = f"{ROWS} rows: bytes to facts"
STOCK = f"{ROWS} rows: json.loads and stock jsonschema"


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


def judged_cases() -> list[Case]:
    """Return the way from bytes to facts, and the same contracts in stock jsonschema."""
    operation = load_site(builtin_site(), need_settings=False).operations["disk_usage"]
    rows = [
        {
            "target": f"/srv/data-{number:03}",
            "source": f"/dev/mapper/vg-data{number:03}",
            "fstype": "ext4",
            "size": 10**12,
            "used": 10**11,
            "avail": 9 * 10**11,
        }
        for number in range(ROWS)
    ]
    data = json.dumps({"filesystems": rows}).encode() + b"\n"

    def ours(stdout: bytes) -> JsonValue:
        return facts_of(operation, Captured(stdout, 0, {}, "web-1", datetime.now(UTC)))

    facts = ours(data)
    document_contract = Draft202012Validator(operation.output.contract.schema)
    facts_contract = Draft202012Validator(operation.facts_contract.schema)

    def stock(stdout: bytes) -> None:
        document_contract.validate(json.loads(stdout))
        facts_contract.validate(facts)

    return [Case(FACTS, data, ours), Case(STOCK, data, stock)]


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
    found.append(Case("64 KiB: reader, 1 byte chunks", documents["64 KiB"], reader(1)))
    return [*found, *judged_cases()]


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
    ratios["facts_over_stock"] = speed[STOCK] / speed[FACTS]
    print(json.dumps({name: round(value, 3) for name, value in ratios.items()}))
    return worst < SMALLEST_READER_OVER_IJSON or ratios["facts_over_stock"] > LARGEST_FACTS_OVER_STOCK


if __name__ == "__main__":
    sys.exit(main())
