"""What protects the service from adapters on this machine: measured, by an adapter that tries."""

import json
import os
from dataclasses import dataclass
from time import monotonic

from sshfacts.adapters.worker import Reply, exchange, memory_for
from sshfacts.adapters.worker_process import CPU_SECONDS, Outcome, Protection
from sshfacts.errors import Refusal
from sshfacts.limits import KIB, MIB

_MOST = 64 * KIB
# Each attempt is harmless where it succeeds: signal 0 is none, and a datagram socket that is made sends nothing.
_ATTEMPTS = b"""
def read(stdout):
    import ctypes
    import os

    libc = ctypes.CDLL(None, use_errno=True)
    service = int(stdout)
    word = (ctypes.c_ulong * 2)()
    word[0], word[1] = ctypes.addressof(word), 1

    def is_refused(call, *arguments):
        ctypes.set_errno(0)
        return call(*arguments) == -1 and ctypes.get_errno() != 14

    def fork():
        child = libc.fork()
        if child == 0:
            libc._exit(0)
        return child

    return {
        "environment": set(os.environ) <= {"LC_CTYPE"},
        "descriptors": all(libc.write(number, None, 0) == -1 for number in range(4, 1024)),
        "files": is_refused(libc.open, b"/proc/self/status", 0),
        "network": is_refused(libc.socket, 2, 2, 0) and is_refused(libc.socket, 1, 1, 0),
        "paths": is_refused(libc.access, b"/", 0),
        "processes": is_refused(fork),
        "signals": is_refused(libc.kill, service, 0),
        "tracing": is_refused(libc.process_vm_readv, service, word, 1, word, 1, 0),
    }
"""
_BOMB = b"def read(stdout):\n    return [bytearray(2**40)]\n"


@dataclass(frozen=True, slots=True)
class Protected:
    """One thing that an adapter cannot do, or could on this machine."""

    name: str
    holds: bool
    meaning: str
    is_compulsory: bool
    """Without it no adapter should run here."""


_REACHES = {
    "environment": ("see a variable of the service's environment", True),
    "descriptors": ("use a file or connection that the service has open", True),
    "files": ("open a file, such as a key or the database", True),
    "network": ("make a socket, to the network or to a local service", True),
    "paths": ("look at, rename or remove a file by its path", False),
    "processes": ("start a process", False),
    "signals": ("send a signal to the service", False),
    "tracing": ("read the memory of the service", False),
}
"""What each attempt is, and whether no adapter should run where it succeeds."""


def measure() -> list[Protected]:
    """Return what holds on this machine; a worker that does not run at all is the only row then."""
    begun = monotonic()
    try:
        reply = exchange(_ATTEMPTS, b"%d" % os.getpid(), _MOST)
        took = monotonic() - begun
        bomb = exchange(_BOMB, b"", _MOST)
    except Refusal as refusal:
        return [_worker(holds=False, meaning=refusal.where or refusal.detail)]
    if reply.outcome is not Outcome.DOCUMENT:
        return [_worker(holds=False, meaning=f"it answered {reply.outcome.name}")]
    refused = json.loads(reply.payload)
    is_bound = bomb.outcome is Outcome.MEMORY
    bounds = f"{CPU_SECONDS} s of CPU time and {memory_for(_MOST) // MIB} MiB of memory"
    return [
        _worker(holds=True, meaning=f"each answer is read in a process of its own, which took {took:.2f} s"),
        Protected(
            "limits", is_bound, f"it {'cannot' if is_bound else 'could'} take more than {bounds}", is_compulsory=True
        ),
        *(_reach(name, is_refused=refused[name] is True) for name in _REACHES),
        _mechanism("namespaces", Protection.NAMESPACES, reply, "user and network namespaces without rights outside"),
        _mechanism(
            "system calls", Protection.SYSTEM_CALLS, reply, "a filter of system calls, down to memory and reply"
        ),
    ]


def _worker(*, holds: bool, meaning: str) -> Protected:
    return Protected("worker", holds, meaning, is_compulsory=True)


def _reach(name: str, *, is_refused: bool) -> Protected:
    reach, is_compulsory = _REACHES[name]
    return Protected(name, is_refused, f"it {'cannot' if is_refused else 'could'} {reach}", is_compulsory)


def _mechanism(name: str, protection: Protection, reply: Reply, meaning: str) -> Protected:
    holds = protection in reply.protections
    meaning = meaning if holds else f"this machine gives no {meaning.removeprefix('a ')}"
    return Protected(name, holds, meaning, is_compulsory=False)
