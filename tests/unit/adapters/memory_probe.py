"""Read one hostile answer of 1 MiB in a process of its own, and print what that took; see test_memory.py.

    python memory_probe.py CASE

It comes in packets of 32 KiB, and then as one chunk. The answer is made while it is read, so that only
the reader's memory is counted.
"""

import json
import resource
import sys
import tracemalloc
from collections.abc import Iterator
from itertools import chain, count, repeat

from sshfacts.adapters.formats import Fields, Format, Json, JsonLines, KeyValue
from sshfacts.adapters.reader import open_reader
from sshfacts.errors import Refusal
from sshfacts.limits import CEILINGS, KIB, MIB

JSON, PAIRS, TABS, NULS = Json(), KeyValue("="), Fields("tab", ("a", "b")), Fields("nul", ("a", "b"))


def pieces(case: str) -> tuple[Format, Iterator[bytes]]:
    """Return an endless answer in small pieces."""
    numbers = (b"%d" % number for number in count())
    cases: dict[str, tuple[Format, Iterator[bytes]]] = {
        "open arrays": (JSON, repeat(b"[" * KIB)),
        "open objects": (JSON, repeat(b'{"":[' * KIB)),
        "digits": (JSON, chain([b"["], repeat(b"9" * KIB))),
        "fraction digits": (JSON, chain([b"[0."], repeat(b"9" * KIB))),
        "one string": (JSON, chain([b'["'], repeat(b"x" * KIB))),
        "one string of escapes": (JSON, chain([b'["'], repeat(rb"\n" * KIB))),
        "one string of escaped pairs": (JSON, chain([b'["'], repeat(rb"\ud83d\ude00" * KIB))),
        "one string outside ASCII": (JSON, chain([b'["'], repeat("\U0001f600".encode() * KIB))),
        "one name": (JSON, chain([b'{"'], repeat(b"x" * KIB))),
        "letters": (JSON, chain([b"["], repeat(b"a" * KIB))),
        "spaces": (JSON, repeat(b" " * KIB)),
        "spaces inside": (JSON, chain([b"["], repeat(b" " * KIB))),
        "spaces behind": (JSON, chain([b"{}"], repeat(b" " * KIB))),
        "members": (JSON, chain([b"{"], (b'"' + number + b'":1,' for number in numbers))),
        "items": (JSON, chain([b"["], repeat(b"1," * KIB))),
        "empty arrays": (JSON, chain([b"["], repeat(b"[]," * KIB))),
        "arrays of empty arrays": (JSON, chain([b"["], repeat(b"[" + b"[]," * 9000 + b"[]],"))),
        "arrays of empty objects": (JSON, chain([b"["], repeat(b"[" + b"{}," * 9000 + b"{}],"))),
        "lines": (JsonLines(), repeat(b"[]\n" * KIB)),
        "one line": (JsonLines(), chain([b'["'], repeat(b"x" * KIB))),
        "pairs": (PAIRS, (b"k" + number + b"=1\n" for number in numbers)),
        "one pair": (PAIRS, chain([b"k="], repeat(b"x" * KIB))),
        "rows": (TABS, repeat(b"\t\n" * KIB)),
        "one row": (TABS, repeat(b"x" * KIB)),
        "NUL rows": (NULS, repeat(b"\0" * KIB)),
        "one NUL field": (NULS, repeat(b"x" * KIB)),
    }
    return cases[case]


def chunks(parts: Iterator[bytes], size: int) -> Iterator[bytes]:
    """Yield the answer up to its limit in chunks of one size."""
    waiting = bytearray()
    left = CEILINGS.bytes
    while left:
        while len(waiting) < size:
            waiting += next(parts)
        chunk = bytes(waiting[: min(size, left)])
        del waiting[: len(chunk)]
        left -= len(chunk)
        yield chunk


def verdict(case: str, size: int) -> str:
    """Read the answer and return the detail of its refusal."""
    output_format, parts = pieces(case)
    reader = open_reader(output_format, CEILINGS)
    try:
        for chunk in chunks(parts, size):
            reader.feed(chunk)
        reader.close()
    except Refusal as refusal:
        return refusal.detail
    return "accepted"


def main() -> None:
    """Print the details, the peak of Python's memory, and the growth of the process."""
    case = sys.argv[1]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    details = [verdict(case, size) for size in (32 * KIB, MIB)]
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * KIB
    tracemalloc.start()
    verdict(case, MIB)
    peak = tracemalloc.get_traced_memory()[1]
    sys.stdout.write(json.dumps({"details": details, "grown": grown, "peak": peak}))


if __name__ == "__main__":
    main()
