"""Memory and time that an answer of 1 MiB can cost, whatever is in it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from time import process_time

import pytest

import sshfacts
from sshfacts.adapters.json_reader import JsonReader
from sshfacts.limits import CEILINGS, KIB, MIB, ReadLimits

PROBE = Path(__file__).with_name("memory_probe.py")
SOURCE = Path(sshfacts.__file__).parents[1]
MOST = 4 * CEILINGS.bytes + 8 * MIB

CASES = {
    "open arrays": "output.depth",
    "open objects": "output.depth",
    "digits": "output.number",
    "fraction digits": "output.number",
    "one string": "output.string",
    "one string of escapes": "output.string",
    "one string of escaped pairs": "output.string",
    "one string outside ASCII": "output.string",
    "one name": "output.string",
    "letters": "output.syntax",
    "spaces": "output.leading_data",
    "spaces inside": "output.truncated",
    "spaces behind": "output.trailing_data",
    "members": "output.items",
    "items": "output.items",
    "empty arrays": "output.items",
    "arrays of empty arrays": "output.items",
    "arrays of empty objects": "output.items",
    "lines": "output.items",
    "one line": "output.string",
    "pairs": "output.items",
    "one pair": "output.string",
    "rows": "output.items",
    "one row": "output.string",
    "NUL rows": "output.items",
    "one NUL field": "output.string",
}


@pytest.mark.parametrize(("case", "detail"), CASES.items(), ids=CASES)
def test_a_flood_is_refused_within_its_memory(case, detail):
    result = subprocess.run(
        [sys.executable, PROBE, case],
        env={"PYTHONPATH": os.pathsep.join((str(SOURCE), *sys.path))},
        capture_output=True,
        check=True,
        timeout=60,
    )
    found = json.loads(result.stdout)

    assert found["details"] == [detail, detail]
    assert found["peak"] <= MOST
    assert found["grown"] <= MOST


def _seconds(characters: int) -> float:
    """The best CPU time for one string in chunks of one byte."""
    best = float("inf")
    for _ in range(3):
        reader = JsonReader(ReadLimits(bytes=MIB, string=MIB))
        start = process_time()
        reader.feed(b"[")
        reader.feed(b'"')
        for _ in range(characters):
            reader.feed(b"x")
        reader.feed(b'"')
        reader.feed(b"]")
        reader.close()
        best = min(best, process_time() - start)
    return best


def test_time_is_linear_in_chunks_of_one_byte():
    # Fed to yajl directly, the longer string takes 16 times as long as the shorter one, and 21 seconds.
    assert _seconds(256 * KIB) < 8 * _seconds(64 * KIB)
