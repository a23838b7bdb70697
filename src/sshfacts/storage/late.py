"""Outcomes of calls that ran while the record could not be written, kept until it can.

Their raw copies are not kept: ten thousand of them would fill the memory of a service that is in trouble already.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import sqlalchemy as sa

from sshfacts.storage.chain import Entry
from sshfacts.storage.engine import transaction
from sshfacts.storage.unavailable import RecordUnavailable
from sshfacts.storage.writer import last_seq
from sshfacts.values import JsonObject

LATE_OUTCOMES = 10_000
"""How many are kept, at most; the calls beyond them stay open intents."""


@dataclass(frozen=True, slots=True)
class _Outcome:
    """A body that was not written, and where it stood in a chain if it ever did."""

    body: JsonObject
    writer: str | None = None
    seq: int = -1


class LateOutcomes:
    """Keeps outcomes in memory. Everything else that was not written is refused to its caller and forgotten."""

    def __init__(self) -> None:
        self._kept: list[_Outcome] = []

    def __len__(self) -> int:
        return len(self._kept)

    def keep(self, body: JsonObject) -> None:
        """Keep a body that no writer took, if it is an outcome."""
        self._add(_Outcome(body))

    def keep_abandoned(self, writer: str, entries: Iterable[Entry]) -> None:
        """Keep the outcomes among the rows that a writer gave up."""
        for entry in entries:
            self._add(_Outcome(entry.body, writer, entry.seq))

    def landed(self, engine: sa.Engine) -> dict[str, int]:
        """Return how far the chains of kept outcomes reach in the database. Blocks.

        A commit whose answer was lost may have landed. Where that cannot be found out nothing is returned:
        then an outcome may be recorded twice, which is harmless, while a missing one is not.
        """
        writers = {one.writer for one in self._kept if one.writer is not None}
        try:
            with transaction(engine) as connection:
                return {writer: last_seq(connection, writer) for writer in writers}
        except RecordUnavailable:
            return {}

    def take(self, landed: dict[str, int]) -> list[JsonObject]:
        """Return the bodies that are still to be recorded, marked `late`, and keep none."""
        kept, self._kept = self._kept, []
        return [_late(one.body) for one in kept if one.writer is None or one.seq > landed.get(one.writer, -1)]

    def _add(self, outcome: _Outcome) -> None:
        if outcome.body.get("kind") == "outcome" and len(self._kept) < LATE_OUTCOMES:
            self._kept.append(outcome)


def _late(body: JsonObject) -> JsonObject:
    without_copies: JsonObject = {"raw": [], "raw_left_out": "late"} if body.get("raw") else {}
    return {**body, **without_copies, "late": True}
