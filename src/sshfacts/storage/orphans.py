"""Closes intents whose call ended without an outcome, as after a crash between its two records."""

import asyncio
from collections.abc import Iterable
from datetime import datetime, timedelta

import sqlalchemy as sa

from sshfacts.limits import SECONDS
from sshfacts.storage.queries import OpenIntent, open_intents
from sshfacts.storage.recorder import Recorder
from sshfacts.values import JsonObject

GRACE = timedelta(seconds=60)
"""How long after its deadline an intent may still wait for its outcome: the database may have been away."""

WINDOW = timedelta(days=7)
"""How far back one pass looks. A service that was down for longer runs its first pass with a wider window."""


async def record_orphans(
    engine: sa.Engine, recorder: Recorder, now: datetime, *, grace: timedelta = GRACE, window: timedelta = WINDOW
) -> list[str]:
    """Append an `orphan` record for each open intent that is past its deadline, and return the request ids.

    Any replica may do this for the intents of all. Two that do it at once may both record one orphan; that
    says the same twice. An outcome that arrives afterwards is recorded all the same.

    Args:
        engine: opened for reading.
        now: aware.

    Raises:
        RecordUnavailable: the database cannot be read or written.
    """
    intents = await asyncio.to_thread(open_intents, engine, now - window, now - grace)
    overdue = [one for one in intents if deadline(one) + grace < now]
    await asyncio.gather(*(recorder.append(body) for body in _bodies(overdue)))
    return [one.request_id for one in overdue]


def deadline(intent: OpenIntent) -> datetime:
    """Return when the call must have ended: what its intent says, else the longest time any call may take."""
    return intent.deadline_at or intent.at + timedelta(seconds=SECONDS + 1)


def _bodies(intents: Iterable[OpenIntent]) -> Iterable[JsonObject]:
    for one in intents:
        yield {
            "kind": "orphan",
            "request_id": one.request_id,
            "intent": one.leaf_hash.hex(),
            "reason": "no outcome by its deadline",
        }
