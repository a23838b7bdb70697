"""One adapter, one output, one process: what comes back, and what is left."""

import sys
import threading
from pathlib import Path

import psutil
import pytest

from sshfacts.adapters import worker
from sshfacts.adapters.worker import memory_for, run_adapter
from sshfacts.adapters.worker_process import CPU_SECONDS, REPLY, Outcome
from sshfacts.errors import Refusal, Stage
from sshfacts.limits import CEILINGS, KIB, MIB

MOST = 64 * KIB
ECHO = b"def read(stdout):\n    return [stdout.decode()]\n"


def refusal(source: bytes, stdout: bytes = b"x", most: int = MOST) -> tuple[str, str | None]:
    with pytest.raises(Refusal) as caught:
        run_adapter(source, stdout, most)
    assert caught.value.stage is Stage.READ
    return caught.value.detail, caught.value.where


@pytest.fixture(autouse=True)
def _no_process_is_left():
    yield
    left = [one.cmdline() for one in psutil.Process().children(recursive=True)]
    assert [words for words in left if any(word.endswith("worker_process.py") for word in words)] == []


def test_the_document_comes_back_as_json():
    assert run_adapter(ECHO, "é\n".encode(), MOST) == b'["\\u00e9\\n"]'


def test_every_byte_arrives():
    stdout = bytes(range(256)) * 4096
    code = b"def read(stdout):\n    return {str(b): stdout.count(b) for b in range(256)} | {'size': len(stdout)}\n"
    assert run_adapter(code, stdout, MOST).endswith(b'"255":4096,"size":1048576}')


def test_the_bytes_that_are_given_are_run_and_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "json.py").write_text("raise SystemExit")
    (tmp_path / "adapter.py").write_text("raise SystemExit")
    assert run_adapter(ECHO, b"x", MOST) == b'["x"]'


def test_a_line_that_names_a_coding_does_not_make_other_code_of_it():
    # In UTF-7 the comment would end, and a second function would stand there.
    code = b"# coding: utf-7\n#+AAo-read = lambda stdout: ['other']\n" + ECHO
    assert run_adapter(code, b"x", MOST) == b'["x"]'


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (b"    return [1 / 0]\n", "ZeroDivisionError at line 2 of the adapter"),
        (b"    raise ValueError\n", "ValueError at line 2 of the adapter"),
        (b"    return stdout.decode('ascii')[:]\n", "TypeError in its document"),
        (b"    int('x')\n", "ValueError at line 2 of the adapter"),
        (b"    class Unread(Exception): pass\n    raise Unread\n", "Unread at line 3 of the adapter"),
        (b"    return read(stdout)\n", "RecursionError at line 2 of the adapter"),
        (b"    import sys\n    sys.exit(0)\n", "SystemExit at line 3 of the adapter"),
        (b"    import json\n    json.loads('{')\n", "JSONDecodeError at line 3 of the adapter"),
        (b"    import socket\n", "ModuleNotFoundError at line 2 of the adapter"),
        (b"    raise KeyboardInterrupt\n", "KeyboardInterrupt at line 2 of the adapter"),
    ],
)
def test_an_exception_is_told_by_its_class_and_line(body: bytes, shown: str):
    detail, where = refusal(b"def read(stdout):\n" + body)
    # The name of a class that is neither Python's nor in the code is not shown.
    assert (detail, where) == ("adapter.failed", shown.replace("JSONDecodeError", "an exception"))


@pytest.mark.parametrize(
    "code",
    [
        b"",
        b"def reads(stdout):\n    return []\n",
        b"read = []\n",
        b"def read():\n    return []\n",
        b"def read(\n",
        b"\xff",
        b"\0",
        b"raise ValueError\n",
        b"import nothing\n",
    ],
)
def test_code_without_a_function_is_a_failure(code: bytes):
    detail, where = refusal(code)
    assert detail == "adapter.failed"
    assert where is not None


@pytest.mark.parametrize(
    "value",
    [
        b"None",
        b"'text'",
        b"1",
        b"stdout",
        b"[stdout]",
        b"[{1, 2}]",
        b"[float('nan')]",
        b"[float('inf')]",
        b"{'a': 1j}",
        b"[object()]",
        b"{(1, 2): 3}",
        b"(x for x in [1])",
        b"[10 ** 5000]",
    ],
)
def test_what_json_does_not_know_is_no_document(value: bytes):
    detail, where = refusal(b"def read(stdout):\n    return " + value + b"\n")
    assert detail == "adapter.failed"
    assert where is not None
    assert where.endswith("in its document")


def test_a_document_of_endless_depth_is_no_document():
    code = b"def read(stdout):\n    top = []\n    top.append(top)\n    return top\n"
    assert refusal(code) == ("adapter.failed", "ValueError in its document")
    code = b"def read(stdout):\n    top = []\n    for _ in range(100000): top = [top]\n    return top\n"
    assert refusal(code) == ("adapter.failed", "RecursionError in its document")


def test_a_document_has_a_size():
    code = b"def read(stdout):\n    return ['x' * int(stdout)]\n"
    assert len(run_adapter(code, b"996", 1000)) == 1000
    assert refusal(code, b"997", 1000) == ("adapter.limit", "a document of more than 1000 bytes")


def test_an_endless_loop_ends(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(worker, "WALL_SECONDS", 60)
    assert refusal(b"def read(stdout):\n    while True: pass\n") == (
        "adapter.limit",
        f"more than {CPU_SECONDS} seconds of CPU time, or killed by the kernel",
    )


@pytest.mark.parametrize(
    "body",
    [
        b"    return [bytearray(2**40)]\n",
        b"    rows = []\n    while True: rows.append('x' * 1000)\n",
        b"    rows = []\n    while True: rows = [rows]\n",
        b"    return ['x' * 10**9]\n",
        b"    return {str(number): {} for number in range(10**7)}\n",
    ],
)
def test_a_memory_bomb_ends(body: bytes):
    detail, where = refusal(b"def read(stdout):\n" + body)
    assert (detail, where) == ("adapter.limit", f"more than {memory_for(MOST) // MIB} MiB of memory")


def test_memory_follows_the_limits_of_the_operation():
    assert memory_for(4 * CEILINGS.bytes) < 200 * MIB
    code = b"def read(stdout):\n    return [{'key': word} for word in stdout.decode().split()]\n"
    stdout = b"abcdefg " * (MIB // 8)
    assert len(run_adapter(code, stdout, 4 * MIB)) > 2 * MIB


def test_a_worker_that_waits_for_ever_is_ended(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(worker, "WALL_SECONDS", 0.5)
    code = (
        b"def read(stdout):\n    import _thread\n    lock = _thread.allocate_lock()\n    while True: lock.acquire()\n"
    )
    assert refusal(code) == ("adapter.limit", "no answer within 0.5 seconds")


def test_a_worker_that_answers_without_end_is_cut(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(worker, "_PROGRAM", program(tmp_path, "while True: os.write(1, bytes(4096))"))
    assert refusal(ECHO) == ("adapter.limit", "more than the answer may have")


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b"\0",
        REPLY.pack(0, 0, 2),
        REPLY.pack(0, 0, 2) + b"[",
        REPLY.pack(0, 0, 2) + b"[]x",
        REPLY.pack(0, 0, 2**32 - 1) + b"[]",
        REPLY.pack(99, 0, 2) + b"[]",
    ],
)
def test_half_an_answer_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, reply: bytes):
    monkeypatch.setattr(worker, "_PROGRAM", program(tmp_path, f"os.write(1, {reply!r})"))
    assert refusal(ECHO) == ("adapter.failed", "the worker ended without an answer")


@pytest.mark.parametrize("payload", [b"", b"\1", bytes(4), b"\xff\xff\xff\xffevil", b"\1\0\0\0zz\xff"])
def test_a_worker_is_not_believed_about_what_it_raised(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, payload: bytes):
    reply = REPLY.pack(Outcome.RAISED, 0, len(payload)) + payload
    monkeypatch.setattr(worker, "_PROGRAM", program(tmp_path, f"os.write(1, {reply!r})"))
    detail, where = refusal(ECHO)
    assert detail == "adapter.failed"
    assert where is not None
    assert where.startswith("an exception")


def test_a_worker_that_cannot_be_confined_runs_no_adapter(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    reply = REPLY.pack(Outcome.UNCONFINED, 0, 0)
    monkeypatch.setattr(worker, "_PROGRAM", program(tmp_path, f"os.write(1, {reply!r})"))
    assert refusal(ECHO) == ("adapter.failed", "the worker could not be confined; see `sshfacts doctor`")


def test_an_interpreter_that_is_not_there(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert refusal(ECHO) == ("adapter.failed", "the worker did not start: FileNotFoundError")


def test_no_state_goes_from_one_output_to_the_next():
    code = b"seen = []\n\ndef read(stdout):\n    seen.append(stdout.decode())\n    return seen\n"
    assert [run_adapter(code, word, MOST) for word in (b"a", b"b")] == [b'["a"]', b'["b"]']


def test_workers_run_side_by_side():
    found: list[bytes] = []
    threads = [
        threading.Thread(target=lambda word=word: found.append(run_adapter(ECHO, word, MOST)))
        for word in (b"a", b"b", b"c")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [b'["a"]', b'["b"]', b'["c"]']


def test_no_descriptor_is_left():
    run_adapter(ECHO, b"x", MOST)
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        run_adapter(ECHO, b"x", MOST)
        refusal(b"")
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def program(folder: Path, line: str) -> Path:
    """Write a program that stands in for the worker's."""
    path = folder / "program.py"
    path.write_text(f"import os\n{line}\n")
    return path
