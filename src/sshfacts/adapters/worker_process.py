"""The process that runs one adapter on one output and then ends.

This file is a program of its own, started by `worker` in a fresh and isolated interpreter, so it imports the standard
library only. It reads one request, takes every right away from itself, runs the adapter and writes one reply:

    request   sizes as REQUEST | system call filter | names of modules | code of the adapter | stdout of the command
    reply     REPLY: outcome, protections, size | the document as JSON, or where the adapter raised

What protects the service is not that the adapter is trusted, but that this process holds nothing worth having: no key,
no environment, no open file but the reply, and limits that it cannot raise again.
"""

import ctypes
import json
import os
import resource
import struct
import sys
from contextlib import suppress
from enum import IntEnum, IntFlag

CPU_SECONDS = 2
"""CPU time of one process, its start of 0.02 s among it. A linear adapter reads 1 MiB in a tenth of that."""

REQUEST = struct.Struct("=6I")
"""Bytes of address space, bytes of the longest document, and the sizes of the four parts that follow."""
REPLY = struct.Struct("=BBI")
RAISED = struct.Struct("=I")
"""Line of the adapter, or 0; the name of the exception's class follows."""
NAME_BYTES = 64
"""The longest name of a class that is handed back."""

_ADAPTER = "<adapter>"
_RESERVE_BYTES = 1024 * 1024
_NOBODY = 65534
"""The user that owns nothing, on every Linux."""
_LIMITS = {
    resource.RLIMIT_CORE: 0,
    resource.RLIMIT_CPU: CPU_SECONDS,
    resource.RLIMIT_FSIZE: 0,
    # No further descriptor: no file and no socket can be opened, on any kernel and without any privilege.
    resource.RLIMIT_NOFILE: 0,
    resource.RLIMIT_NPROC: 0,
}
_PR_SET_PDEATHSIG = 1
_PR_SET_SECCOMP = 22
_PR_SET_NO_NEW_PRIVS = 38
_SECCOMP_MODE_FILTER = 2
_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000
_SIGKILL = 9


class Outcome(IntEnum):
    """How the run of an adapter ended."""

    DOCUMENT = 0
    RAISED = 1
    MEMORY = 2
    TOO_LARGE = 3
    UNCONFINED = 4
    """The process could not take its rights away, so the adapter was not run."""


class Protection(IntFlag):
    """What the kernel gave beyond the limits, which are compulsory."""

    NAMESPACES = 1
    """A user namespace without rights outside it, and a network namespace without a network."""
    SYSTEM_CALLS = 2
    """A filter that lets nothing through but memory and the reply."""


class _Filter(ctypes.Structure):
    """`struct sock_fprog` of linux/filter.h."""

    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]  # the form that ctypes asks for


def _confine(memory: int, system_calls: bytes) -> Protection | None:
    """Take every right away from this process; None if it could get one back.

    Args:
        memory: bytes of address space.
        system_calls: the filter, as instructions of classic BPF; empty where there is none for this machine.
    """
    libc = ctypes.CDLL(None)
    libc.prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
    protections = Protection(0)
    if os.geteuid() == 0:
        # Without the capability to do this the process has none to raise a limit with, which is tried below.
        with suppress(OSError):
            os.setgroups([])
            os.setgid(_NOBODY)
            os.setuid(_NOBODY)
    if libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET) == 0:
        protections |= Protection.NAMESPACES
    for limit, value in {**_LIMITS, resource.RLIMIT_AS: memory}.items():
        resource.setrlimit(limit, (value, value))
    if _is_raisable(resource.RLIMIT_NOFILE) or libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        return None
    # When the service dies, so does this; a change of user would have undone it.
    libc.prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)
    program = _Filter(len(system_calls) // 8, system_calls)
    if system_calls and libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(program), 0, 0) == 0:
        protections |= Protection.SYSTEM_CALLS
    return protections


def _is_raisable(limit: int) -> bool:
    try:
        resource.setrlimit(limit, (1, 1))
    except ValueError:
        return False
    return True


def _run(source: bytes, stdout: bytes) -> bytes:
    """Run the adapter and return its document as JSON, which is ASCII and holds no NaN."""
    # As text: for bytes, a line such as `# coding: utf-7` would make it other code than what was vetted.
    code = compile(source.decode(), _ADAPTER, "exec", dont_inherit=True)
    names: dict[str, object] = {"__name__": "adapter"}
    exec(code, names)  # noqa: S102  # running vetted code is what this process is for
    read = names["read"]
    if not callable(read):
        raise TypeError
    document = read(stdout)
    if not isinstance(document, dict | list):
        raise TypeError
    return json.dumps(document, allow_nan=False, separators=(",", ":")).encode("ascii")


def _answer(source: bytes, stdout: bytes, most: int) -> tuple[Outcome, bytes]:
    """Return what the reply holds; never a text of an exception, because those quote the output."""
    # So that there is memory left to say that there is none.
    reserve = [bytes(_RESERVE_BYTES)]
    try:
        document = _run(source, stdout)
    except MemoryError:
        reserve.clear()
        return Outcome.MEMORY, b""
    except BaseException as error:  # noqa: BLE001  # whatever it raises, also SystemExit, is the adapter's failure
        return Outcome.RAISED, RAISED.pack(_line_of(error)) + type(error).__name__.encode()[:NAME_BYTES]
    return (Outcome.DOCUMENT, document) if len(document) <= most else (Outcome.TOO_LARGE, b"")


def _line_of(error: BaseException) -> int:
    """Return the line of the adapter that an exception passed last; 0 if it passed none."""
    line = 0
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == _ADAPTER:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _keep_reply_only() -> int:
    """Point the standard streams nowhere, so that nothing the adapter prints can get into the reply."""
    reply = os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
    os.close(nowhere)
    return reply


def _send(reply: int, outcome: Outcome, protections: Protection, payload: bytes) -> None:
    left = memoryview(REPLY.pack(outcome, protections, len(payload)) + payload)
    while left:
        left = left[os.write(reply, left) :]


def main() -> None:
    """Serve the one request on stdin."""
    request = sys.stdin.buffer.read()
    memory, most, *sizes = REQUEST.unpack_from(request)
    start = REQUEST.size
    parts: list[bytes] = []
    for size in sizes:
        parts.append(request[start : start + size])
        start += size
    system_calls, modules, source, stdout = parts
    for module in modules.decode("ascii").split():
        __import__(module)
    # From here on an import finds what is loaded and nothing else, the same on every kernel.
    sys.meta_path.clear()
    reply = _keep_reply_only()
    protections = _confine(memory, system_calls)
    if protections is None:
        _send(reply, Outcome.UNCONFINED, Protection(0), b"")
    else:
        outcome, payload = _answer(source, stdout, most)
        _send(reply, outcome, protections, payload)
    # No finaliser, thread or exit handler of the adapter gets a turn.
    os._exit(0)


if __name__ == "__main__":
    main()
