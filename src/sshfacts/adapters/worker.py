"""Runs one adapter on one output, in a process of its own.

Each call gets a fresh process, started in about 20 ms, which ends with it: nothing that one host's output did to it can
meet the next one. It is started without environment, without descriptors but the request and the reply, and with the
code that was digested, so that no file can change between vetting and running.
"""

import builtins
import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from select import POLLIN, poll
from time import monotonic

from sshfacts.adapters.imports import needed
from sshfacts.adapters.syscall_filter import system_call_filter
from sshfacts.adapters.worker_process import (
    CPU_SECONDS,
    NAME_BYTES,
    RAISED,
    REPLY,
    REQUEST,
    Outcome,
    Protection,
)
from sshfacts.errors import Refusal
from sshfacts.limits import KIB, MIB

WALL_SECONDS = 10.0
"""From start to reply; CPU time has a limit of its own, so this one is for a machine that is busy."""
MEMORY_BASE = 48 * MIB
"""Address space of the process itself: 15 MiB were measured, and some builds of Python map twice as much."""
MEMORY_GROWTH = 32
"""Address space for each byte that the document may have: its text, its objects, and its JSON twice."""
_PROGRAM = Path(__file__).with_name("worker_process.py")
_PIECE = 64 * KIB


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back from the process, with nothing believed but its form."""

    outcome: Outcome
    protections: Protection
    payload: bytes


def run_adapter(source: bytes, stdout: bytes, most: int) -> bytes:
    """Return the adapter's document as the bytes of a JSON text, which is as untrusted as `stdout` is.

    Blocks for up to `WALL_SECONDS`.

    Args:
        source: the code, as it was digested.
        most: bytes of the document.

    Raises:
        Refusal: `adapter.failed` with the class of the exception and the line of the adapter, or `adapter.limit`.
    """
    reply = exchange(source, stdout, most)
    match reply.outcome:
        case Outcome.DOCUMENT:
            return reply.payload
        case Outcome.RAISED:
            raise Refusal("adapter.failed", _told(reply.payload, source))
        case Outcome.MEMORY:
            raise Refusal("adapter.limit", f"more than {memory_for(most) // MIB} MiB of memory")
        case Outcome.TOO_LARGE:
            raise Refusal("adapter.limit", f"a document of more than {most} bytes")
        case Outcome.UNCONFINED:
            raise Refusal("adapter.failed", "the worker could not be confined; see `sshfacts doctor`")


def memory_for(most: int) -> int:
    """Return the address space for a document of at most `most` bytes."""
    return MEMORY_BASE + MEMORY_GROWTH * most


def exchange(source: bytes, stdout: bytes, most: int) -> Reply:
    """Start a process, give it its request and return its reply; afterwards the process is gone.

    Raises:
        Refusal: `adapter.failed` or `adapter.limit`; there was no reply.
    """
    deadline = monotonic() + WALL_SECONDS
    process = _start(source, stdout, most)
    try:
        reply = _receive(process, REPLY.size + most, deadline)
    finally:
        # Not waited for yet, so its number is still its own, and so is that of its group.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return _parse(reply, process.returncode)


def _start(source: bytes, stdout: bytes, most: int) -> subprocess.Popen[bytes]:
    parts = (system_call_filter(), " ".join(needed(source)).encode(), source, stdout)
    # A file in memory and not a pipe: it is finite, and whoever is slow to read it makes nobody wait.
    with os.fdopen(os.memfd_create("request"), "w+b") as request:
        request.write(REQUEST.pack(memory_for(most), most, *map(len, parts)) + b"".join(parts))
        request.seek(0)
        try:
            return subprocess.Popen(  # noqa: S603  # this interpreter and our own file
                [sys.executable, "-I", "-S", "-B", str(_PROGRAM)],
                stdin=request,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                close_fds=True,
                cwd="/",
                env={},
                start_new_session=True,
            )
        except OSError as error:
            raise Refusal("adapter.failed", f"the worker did not start: {type(error).__name__}") from None


def _receive(process: subprocess.Popen[bytes], most: int, deadline: float) -> bytes:
    """Return everything up to the end of the reply, and never more than `most` bytes."""
    stream = process.stdout
    assert stream is not None  # noqa: S101  # asked for in _start; for the type checker
    with stream:
        ready = poll()
        ready.register(stream, POLLIN)
        reply = bytearray()
        while len(reply) <= most:
            left = deadline - monotonic()
            if left <= 0 or not ready.poll(left * 1000):
                raise Refusal("adapter.limit", f"no answer within {WALL_SECONDS:g} seconds")
            piece = os.read(stream.fileno(), _PIECE)
            if not piece:
                return bytes(reply)
            reply += piece
        raise Refusal("adapter.limit", "more than the answer may have")


def _parse(reply: bytes, status: int) -> Reply:
    """Return a whole and well-formed reply."""
    if len(reply) >= REPLY.size:
        outcome, protections, size = REPLY.unpack_from(reply)
        payload = reply[REPLY.size :]
        if len(payload) == size and outcome in set(Outcome):
            return Reply(Outcome(outcome), Protection(protections & 3), payload)
    if not reply and status in (-signal.SIGKILL, -signal.SIGXCPU):
        raise Refusal("adapter.limit", f"more than {CPU_SECONDS} seconds of CPU time, or killed by the kernel")
    raise Refusal("adapter.failed", "the worker ended without an answer")


def _told(payload: bytes, source: bytes) -> str:
    """Say where the adapter raised what.

    The name of a class could be made of remote data; so it is shown only if it is Python's, or a word of the code.
    """
    if len(payload) < RAISED.size:
        return "an exception"
    (line,) = RAISED.unpack_from(payload)
    name = payload[RAISED.size : RAISED.size + NAME_BYTES]
    known = name.decode("ascii", "replace") in vars(builtins) or name in re.findall(rb"\w+", source)
    shown = name.decode("ascii", "replace") if known else "an exception"
    return (
        f"{shown} at line {line} of the adapter" if 0 < line <= source.count(b"\n") + 1 else f"{shown} in its document"
    )
