"""What a transport still holds, seen from inside, and how to wait until something is so."""

import asyncio
import time
from collections.abc import Callable

from sshfacts.ssh.transport import SshTransport


def sessions(transport: SshTransport) -> int:
    """Return how many sessions are taken."""
    return sum(one.slots.taken for pool in transport._pools.values() for one in pool.connections)


def channels(transport: SshTransport) -> int:
    """Return how many channels asyncssh knows of."""
    return sum(len(one.ssh._channels) for pool in transport._pools.values() for one in pool.connections)


async def soon(is_true: Callable[[], bool], seconds: float = 3.0) -> bool:
    """Wait until something is true, and return whether it became so in time."""
    end = time.monotonic() + seconds
    while not is_true():
        if time.monotonic() > end:
            return False
        await asyncio.sleep(0.02)
    return True


async def leaves_nothing(transport: SshTransport, seconds: float = 3.0) -> bool:
    """Wait until no session is taken and no channel is open, and return whether that came in time."""
    return await soon(lambda: not sessions(transport) and not channels(transport), seconds)
