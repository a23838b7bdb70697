"""An exported file after anything that somebody between the exporter and the auditor may do to it."""

import io
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sshfacts.storage import export_format
from sshfacts.storage.canonical import dumps
from sshfacts.storage.checkpoint import unsigned_checkpoint
from sshfacts.storage.export_format import Head, Period, last_line
from sshfacts.storage.note import SigningKey
from sshfacts.storage.verify_file import verify_file
from tests.support.exports import call_time, exported, verified
from tests.support.sealed import KEY, ORIGIN, new_sqlite, rows_of_calls

RANGES = {
    "all of the log": Period(),
    "from its begin": Period(until=call_time(30)),
    "in the middle": Period(call_time(20), call_time(60)),
    "to its end": Period(since=call_time(60)),
}


@pytest.fixture(scope="module")
def exports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[bytes]]:
    record = new_sqlite(tmp_path_factory.mktemp("exported"))
    record.append(rows_of_calls(100))
    record.seal()
    return {name: exported(record, period) for name, period in RANGES.items()}


def head_with(lines: Sequence[bytes], **changes: object) -> list[bytes]:
    return [dumps({**json.loads(lines[0]), **changes}) + b"\n", *lines[1:]]


@pytest.mark.parametrize("name", RANGES)
def test_a_file_that_nobody_touched(exports: dict[str, list[bytes]], name: str):
    assert verified(exports[name]).ok


CHANGES = {
    "a record is dropped": lambda lines: [*lines[:5], *lines[6:]],
    "the first record is dropped": lambda lines: [lines[0], *lines[2:]],
    "the last record is dropped": lambda lines: [*lines[:-2], lines[-1]],
    "a record is doubled": lambda lines: [*lines[:6], *lines[5:]],
    "two records are swapped": lambda lines: [*lines[:5], lines[6], lines[5], *lines[7:]],
    "two bodies are swapped": lambda lines: [
        *lines[:5],
        lines[6].rsplit(b",", 1)[0] + b"," + lines[5].rsplit(b",", 1)[1],
        lines[5].rsplit(b",", 1)[0] + b"," + lines[6].rsplit(b",", 1)[1],
        *lines[7:],
    ],
    "a body is edited": lambda lines: [*lines[:5], lines[5].replace(b"2026", b"2025", 1), *lines[6:]],
    "a space is added": lambda lines: [*lines[:5], lines[5].replace(b'"kind":', b'"kind": ', 1), *lines[6:]],
    "a name is doubled": lambda lines: [*lines[:5], lines[5].replace(b'{"at"', b'{"at":"","at"', 1), *lines[6:]],
    "the end is cut": lambda lines: lines[:-1],
    "the last line is cut": lambda lines: [*lines[:-1], lines[-1][:-1]],
    "half of it is cut": lambda lines: lines[: len(lines) // 2],
    "a record is cut": lambda lines: [*lines[:5], lines[5][:-20]],
    "all records are cut": lambda lines: lines[:1],
    "the count is wrong": lambda lines: [*lines[:-1], b'{"records":1}\n'],
    "a line follows": lambda lines: [*lines, b"\n"],
    "a byte follows": lambda lines: [*lines, b" "],
    "lines end as on Windows": lambda lines: [line.replace(b"\n", b"\r\n") for line in lines],
    "an empty line is added": lambda lines: [*lines[:5], b"\n", *lines[5:]],
    "a byte order mark comes first": lambda lines: [b"\xef\xbb\xbf" + lines[0], *lines[1:]],
    "the file is empty": lambda _: [],
    "the head is missing": lambda lines: lines[1:],
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("name", RANGES)
def test_a_changed_file_is_refused(exports: dict[str, list[bytes]], name: str, change):
    report = verified(change(exports[name]))
    assert not report.ok
    assert report.violations.count


GOLDEN = Path(__file__).parents[2] / "data" / "golden"


def first_checkpoint_alone() -> bytes:
    """The same bytes in every run: the golden log as far as its first checkpoint, which one key has signed."""
    note = (GOLDEN / "trusted.checkpoint").read_text(encoding="utf-8")
    size = unsigned_checkpoint(note).size
    records = (GOLDEN / "whole.jsonl").read_bytes().splitlines(keepends=True)[1 : size + 1]
    head = Head(note, 0, size, Period(), (), (), None)
    return b"".join([head.line(), *records, last_line(size)])


CONTENT = first_checkpoint_alone()


def test_the_content_that_is_changed_below_is_right():
    assert verified([CONTENT]).ok


@given(at=st.integers(0, len(CONTENT) - 1), mask=st.integers(1, 255))
def test_no_changed_byte_passes(at: int, mask: int):
    assert not verified([CONTENT[:at], bytes([CONTENT[at] ^ mask]), CONTENT[at + 1 :]]).ok


@given(begin=st.integers(0, len(CONTENT) - 1), length=st.integers(1, len(CONTENT)))
def test_no_cut_passes(begin: int, length: int):
    assert not verified([CONTENT[:begin], CONTENT[begin + length :]]).ok


@given(content=st.binary(max_size=300))
def test_no_bytes_break_the_verifier(content: bytes):
    assert not verified([content]).ok


@pytest.mark.parametrize(
    "changes",
    [
        {"begin": -1},
        {"begin": "0"},
        {"begin": True},
        {"begin": 5},
        {"end": 3},
        {"end": 10**15},
        {"prefix": []},
        {"prefix": None},
        {"prefix": ["00" * 31]},
        {"prefix": ["0" * 63 + "g"]},
        {"prefix": [["00" * 32]]},
        {"suffix": ["AA" * 32]},
        {"suffix": ["00" * 32]},
        {"checkpoint": None},
        {"checkpoint": "none"},
        {"consistency": []},
        {"consistency": {"old_size": 1}},
        {"since": "yesterday"},
        {"since": 7},
        {"since": "2026-11-30T10:00:00"},
        {"since": "2026-11-30T10:00:10.000000Z"},
        {"until": "2026-11-30T10:01:10.000000Z"},
        {"another": None},
        {"format": "another"},
        {"format": None},
    ],
)
def test_a_changed_head_is_refused(exports: dict[str, list[bytes]], changes: dict[str, object]):
    report = verified(head_with(exports["in the middle"], **changes))
    assert report.violations.count == 1


def test_a_later_version_is_not_judged(exports: dict[str, list[bytes]]):
    report = verified(head_with(exports["all of the log"], version=2))
    assert not report.ok
    assert (report.violations.count, report.unjudged.count) == (0, 1)


def test_a_checkpoint_by_another_key_is_refused(exports: dict[str, list[bytes]]):
    other = SigningKey.generate(ORIGIN)
    report = verified(exports["all of the log"], keys=[other.public])
    assert report.violations.shown == ["head: the note is not signed by a key that was given"]
    head = json.loads(exports["all of the log"][0])
    forged = head["checkpoint"].split("\n\n")[0] + "\n"
    lines = head_with(exports["all of the log"], checkpoint=f"{forged}\n{other.signature_line(forged)}")
    assert verified(lines).violations.shown == ["head: the note is not signed by a key that was given"]
    assert verified(lines, keys=[KEY.public, other.public]).ok


def test_a_range_that_was_narrowed_does_not_cover_its_period(exports: dict[str, list[bytes]]):
    """Who exports cannot leave out the edges of a period: the records beside it would be missing."""
    report = verified(head_with(exports["from its begin"], since=None, until="2026-11-30T10:05:00.000000Z"))
    assert report.violations.shown == ["the records do not reach over both ends of the period"]


def test_a_line_has_a_bound(exports: dict[str, list[bytes]], monkeypatch):
    monkeypatch.setattr("sshfacts.storage.verify_file.LINE_BYTES", 1_000)
    assert not verified(exports["all of the log"]).ok
    assert export_format.LINE_BYTES > 1_000_000


def test_progress_is_told(exports: dict[str, list[bytes]], monkeypatch):
    monkeypatch.setattr("sshfacts.storage.verify_file.STEP", 50)
    told: list[tuple[int, int]] = []
    content = b"".join(exports["all of the log"])
    verify_file(io.BytesIO(content), [KEY.public], progress=lambda done, total: told.append((done, total)))
    count = len(exports["all of the log"]) - 2
    assert told == [(done, count) for done in [*range(0, count, 50), count]]


def test_the_verifier_needs_no_database_toolkit(exports: dict[str, list[bytes]], tmp_path: Path):
    file = tmp_path / "export.jsonl"
    file.write_bytes(b"".join(exports["all of the log"]))
    words = ["audit", "verify", str(file), "--key", str(KEY.public)]
    code = (
        "import sys; from sshfacts.cli.main import main; sys.argv = ['sshfacts', *sys.argv[1:]]\n"
        "try: main()\n"
        "except SystemExit as end: print(end.code, [name for name in ('sqlalchemy', 'cel') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout.splitlines()[-2:] == ["the record is what was written", "0 []"]
