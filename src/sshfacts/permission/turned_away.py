"""Requests that are refused before anything is recorded: counted, and one record for each caller and minute.

One record for each of them would let anybody fill the disk who can reach a door.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import TypeAlias

from sshfacts.errors import DETAILS
from sshfacts.storage.canonical import rfc3339
from sshfacts.storage.unavailable import RecordUnavailable
from sshfacts.values import JsonObject

UNAUTHENTICATED = "unauthenticated"
"""Why somebody is turned away whom nobody knows; other reasons are details of the stage `limits`."""

_Key: TypeAlias = tuple[datetime, str | None, str]

_LOG = logging.getLogger(__name__)


class TurnedAway:
    """Counts who was turned away why. Belongs to one event loop.

    Args:
        append: makes one record durable.
        now: the clock; times it returns are aware.
    """

    def __init__(self, append: Callable[[JsonObject], Awaitable[bytes]], now: Callable[[], datetime]) -> None:
        self._append = append
        self._now = now
        self._counts: Counter[_Key] = Counter()
        self._timer: asyncio.Task[None] | None = None

    def add(self, caller: str | None, detail: str) -> None:
        """Count one request; its minute is recorded when it is over.

        Args:
            caller: `None` for somebody whom nobody knows.
            detail: `UNAUTHENTICATED`, or a detail such as `busy.rate`.
        """
        self._counts[_minute(self._now()), caller, detail] += 1
        if self._timer is None or self._timer.done():
            self._timer = asyncio.create_task(self._record_when_over(), name="sshfacts-turned-away")

    async def close(self) -> None:
        """Record what was counted.

        Raises:
            RecordUnavailable: it could not be recorded.
        """
        if self._timer is not None:
            self._timer.cancel()
            await asyncio.wait([self._timer])
        await self._record([*self._counts])

    async def _record_when_over(self) -> None:
        while self._counts:
            now = self._now()
            await asyncio.sleep((_minute(now) + timedelta(minutes=1) - now).total_seconds())
            this_minute = _minute(self._now())
            try:
                await self._record([key for key in self._counts if key[0] < this_minute])
            except RecordUnavailable as error:
                _LOG.error("requests that were turned away are not recorded yet: %s", error.reason)

    async def _record(self, keys: list[_Key]) -> None:
        for key in keys:
            count = self._counts.pop(key)
            try:
                await self._append(_body(*key, count))
            except RecordUnavailable:
                self._counts[key] += count
                raise


def _minute(instant: datetime) -> datetime:
    return instant.replace(second=0, microsecond=0)


def _body(minute: datetime, caller: str | None, detail: str, count: int) -> JsonObject:
    entry = DETAILS.get(detail)
    return {
        "kind": "turned_away",
        "since": rfc3339(minute),
        "caller": caller,
        "detail": detail,
        "code": entry.code.value if entry is not None else None,
        "stage": entry.stage.value if entry is not None else None,
        "count": count,
    }
