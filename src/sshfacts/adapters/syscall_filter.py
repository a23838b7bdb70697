"""The filter of system calls for the worker: a short list is allowed, everything else fails with EPERM.

It is written as classic BPF because no maintained package does it, and because it is the only protection against
signals, tracing and new processes that works inside a container, where namespaces are usually refused. Numbers are
those of asm/unistd.h; a machine that is not listed here runs without the filter, and `sshfacts doctor` says so.
"""

import os
import struct
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

_INSTRUCTION = struct.Struct("=HBBI")
"""`struct sock_filter`: code, jump if true, jump if false, operand."""
_LOAD_WORD = 0x20
_JUMP_IF_EQUAL = 0x15
_RETURN = 0x06
_NUMBER_OFFSET = 0
_ARCHITECTURE_OFFSET = 4
"""Places in `struct seccomp_data`."""
_ALLOW = 0x7FFF0000
_DENY = 0x00050001
"""SECCOMP_RET_ERRNO with EPERM: what is refused becomes an exception in the adapter, with a line number."""


@dataclass(frozen=True, slots=True)
class _Machine:
    """What the kernel calls an architecture, and the numbers of what an adapter may ask of it."""

    audit: int
    calls: Mapping[str, int]


_MACHINES: Mapping[str, _Machine] = MappingProxyType(
    {
        "x86_64": _Machine(
            0xC000003E,
            {
                "brk": 12,
                "clock_gettime": 228,
                "exit_group": 231,
                "futex": 202,
                "madvise": 28,
                "mmap": 9,
                "mprotect": 10,
                "mremap": 25,
                "munmap": 11,
                "write": 1,
            },
        ),
        "aarch64": _Machine(
            0xC00000B7,
            {
                "brk": 214,
                "clock_gettime": 113,
                "exit_group": 94,
                "futex": 98,
                "madvise": 233,
                "mmap": 222,
                "mprotect": 226,
                "mremap": 216,
                "munmap": 215,
                "write": 64,
            },
        ),
    }
)


def system_call_filter() -> bytes:
    """Return the filter for this machine; empty if there is none."""
    machine = _MACHINES.get(os.uname().machine)
    # A 32-bit interpreter on a 64-bit kernel makes the calls of another architecture.
    return _assemble(machine) if machine is not None and sys.maxsize > 2**32 else b""


def _assemble(machine: _Machine) -> bytes:
    numbers = sorted(machine.calls.values())
    instructions = [
        (_LOAD_WORD, 0, 0, _ARCHITECTURE_OFFSET),
        (_JUMP_IF_EQUAL, 1, 0, machine.audit),
        (_RETURN, 0, 0, _DENY),
        (_LOAD_WORD, 0, 0, _NUMBER_OFFSET),
        *((_JUMP_IF_EQUAL, len(numbers) - index, 0, number) for index, number in enumerate(numbers)),
        (_RETURN, 0, 0, _DENY),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return b"".join(_INSTRUCTION.pack(*instruction) for instruction in instructions)
