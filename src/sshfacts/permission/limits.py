"""Limits of each caller: calls in a minute, calls at a time, calls that wait.

They are judged before anything else is looked at or recorded, so that a caller that floods costs neither the
database nor a host anything. They are kept in the memory of one process: with several replicas a caller may have
as many times its limits as there are replicas.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from time import monotonic

from sshfacts.commands.settings import CallerSettings
from sshfacts.errors import Refusal

QUEUE_SECONDS = 30.0
"""How long a call waits for one of its caller's to end; MCP clients give up after about 60 seconds."""

_MINUTE = 60.0


@dataclass(slots=True)
class _Usage:
    """What one caller has used."""

    calls_left: float
    """Calls that it may make now; a fraction of one has yet to grow."""
    filled_at: float
    running: int = 0
    waiting: deque[asyncio.Future[None]] = field(default_factory=deque)


class Limiter:
    """Gives calls of each caller their place, in the order in which they came. Belongs to one event loop.

    Args:
        clock: seconds that only grow.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._usages: dict[str, _Usage] = {}

    @asynccontextmanager
    async def place(self, caller: CallerSettings) -> AsyncIterator[None]:
        """Hold one of the caller's places while the block runs.

        Raises:
            Refusal: `busy.rate`, too many calls in the last minute; `busy.caller`, too many run and wait.
        """
        usage = self._usages.get(caller.name)
        if usage is None:
            usage = self._usages[caller.name] = _Usage(caller.calls_per_minute, self._clock())
        self._take_call(usage, caller)
        await self._take_place(usage, caller)
        try:
            yield
        finally:
            _give_place(usage)

    def _take_call(self, usage: _Usage, caller: CallerSettings) -> None:
        """Take from a bucket that holds a minute's calls and fills evenly."""
        now = self._clock()
        grown = (now - usage.filled_at) * caller.calls_per_minute / _MINUTE
        usage.calls_left = min(usage.calls_left + grown, caller.calls_per_minute)
        usage.filled_at = now
        if usage.calls_left < 1:
            raise Refusal("busy.rate", f"{caller.calls_per_minute} calls in a minute")
        usage.calls_left -= 1

    async def _take_place(self, usage: _Usage, caller: CallerSettings) -> None:
        if usage.running < caller.concurrent:
            usage.running += 1
            return
        if len(usage.waiting) >= caller.queue:
            raise Refusal("busy.caller", f"{caller.concurrent} calls at a time, {caller.queue} waiting")
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        usage.waiting.append(turn)
        try:
            async with asyncio.timeout(QUEUE_SECONDS):
                await turn
        except (TimeoutError, asyncio.CancelledError) as end:
            if turn in usage.waiting:
                usage.waiting.remove(turn)
            if turn.done() and not turn.cancelled():
                _give_place(usage)  # It became its turn in the same moment: the place is passed on.
            if isinstance(end, TimeoutError):
                raise Refusal("busy.caller", f"no place in {QUEUE_SECONDS:.0f} seconds") from None
            raise


def _give_place(usage: _Usage) -> None:
    """Pass a place on to the call that waits longest, or free it."""
    while usage.waiting:
        turn = usage.waiting.popleft()
        if not turn.done():
            turn.set_result(None)
            return
    usage.running -= 1
