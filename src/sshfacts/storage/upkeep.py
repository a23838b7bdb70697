"""What a running service does for its record beside recording: closing what was cut off, and looking for defects."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta

from sshfacts.limits import KEEP_FREE
from sshfacts.storage.doctor import REVISION, Defect, Effect
from sshfacts.storage.engine import reading
from sshfacts.storage.examination import examine
from sshfacts.storage.orphans import WINDOW, record_orphans
from sshfacts.storage.recorder import Recorder
from sshfacts.storage.unavailable import RecordUnavailable

SECONDS = 30.0
"""The pause between two rounds."""

FIRST_WINDOW = timedelta(days=90)
"""How far back the first round looks for calls that were cut off, since nobody may have looked for long."""

_LOG = logging.getLogger(__name__)


class Upkeep:
    """Knows whether the service should get calls, from one round to the next.

    Any number of replicas may do this on one database.

    Args:
        keep_free: bytes that must stay free on the disk of an SQLite file.
    """

    def __init__(self, recorder: Recorder, keep_free: int = KEEP_FREE) -> None:
        self._recorder = recorder
        self._reader = reading(recorder.engine)
        self._keep_free = keep_free
        self._window = FIRST_WINDOW
        self._seen = False
        self.defects: tuple[Defect, ...] = ()

    @property
    def ready(self) -> bool:
        """Whether calls can be recorded now, as far as is known; a service that is not ready should get none."""
        return self._seen and self._recorder.available and not any(map(_is_in_the_way, self.defects))

    async def round(self) -> None:
        """Look at the database, and close intents whose calls were cut off."""
        try:
            found = tuple(await asyncio.to_thread(examine, self._reader, self._keep_free))
            if self._recorder.available:
                now = datetime.now(UTC)
                await record_orphans(self._reader, self._recorder, now, window=self._window)
                self._window = WINDOW
        except RecordUnavailable as error:
            self._seen = False
            _LOG.warning("the record cannot be looked after: %s", error.reason)
            return
        for defect in set(found) - set(self.defects):
            _LOG.warning("the database has a defect (%s): %s; %s", defect.effect, defect.what, defect.fix)
        self.defects, self._seen = found, True

    async def run(self, seconds: float = SECONDS) -> None:
        """Make rounds for ever; whatever ends them, nothing is known to be ready from then on."""
        try:
            while True:
                await self.round()
                await asyncio.sleep(seconds)
        finally:
            self._seen = False

    def close(self) -> None:
        """Close the connections that were kept for the next round."""
        self._reader.dispose()


def _is_in_the_way(defect: Defect) -> bool:
    # A migration only adds: a service that runs goes on under a later revision, until it is replaced.
    return defect.effect is not Effect.ADVICE and defect.name != REVISION


@asynccontextmanager
async def open_upkeep(
    recorder: Recorder, keep_free: int = KEEP_FREE, *, seconds: float = SECONDS
) -> AsyncIterator[Upkeep]:
    """Make a first round, and further ones until the context ends."""
    upkeep = Upkeep(recorder, keep_free)
    await upkeep.round()
    rounds = asyncio.create_task(upkeep.run(seconds), name="sshfacts-upkeep")
    try:
        yield upkeep
    finally:
        rounds.cancel()
        with suppress(asyncio.CancelledError):
            await rounds
        upkeep.close()
