"""What must hold for every record: its form, its chain, its call, its raw copies.

It needs the bodies in the order of the log and nothing else, so that the database and an exported file are judged
by the same rules.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import cast

from sshfacts.storage.call_rules import CallRules
from sshfacts.storage.canonical import CanonicalError, loads_strict, rfc3339
from sshfacts.storage.chain import FORMAT_VERSION
from sshfacts.storage.chain_rules import ChainRules
from sshfacts.storage.projection import KINDS, BodyError, Column, project
from sshfacts.storage.raw_rules import RawRules
from sshfacts.storage.report import Report
from sshfacts.values import JsonObject


@dataclass(frozen=True, slots=True)
class Judged:
    """A record whose form is right."""

    body: JsonObject
    columns: dict[str, Column]
    """What its row must say in every projected column."""
    at: datetime


class RecordRules:
    """Judges records one by one, and fills the report.

    Args:
        is_whole: whether the records begin with the first of the log.
    """

    def __init__(self, report: Report, *, is_whole: bool) -> None:
        self._report = report
        self._first: datetime | None = None
        self._last: datetime | None = None
        self._chains = ChainRules(report, is_whole=is_whole)
        self._calls = CallRules(report, is_whole=is_whole)
        self.copies = RawRules(report, is_whole=is_whole)

    def judge(self, place: str, data: bytes, leaf: bytes) -> Judged | None:
        """Judge one record, and return what follows from it; `None` if that cannot be told.

        Args:
            place: where it stands, for findings.
            data: its bytes as stored.
            leaf: its hash.
        """
        try:
            body = loads_strict(data)
        except CanonicalError as error:
            self._report.violations.add(f"{place}: the body is {error}")
            return None
        kind = body.get("kind")
        if body.get("v") != FORMAT_VERSION or not isinstance(kind, str) or kind not in KINDS:
            self._report.unjudged.add(f"{place}: the record is of a version or a kind that this program does not know")
            return None
        try:
            columns = project(body)
        except BodyError as error:
            self._report.violations.add(f"{place}: {error}")
            return None
        self._report.kinds[kind] += 1
        at = cast("datetime", columns["at"])
        self._first = min(at, self._first or at)
        self._last = max(at, self._last or at)
        self._chains.judge(place, body, leaf.hex(), at)
        self._calls.judge(place, body, leaf.hex())
        self.copies.judge(place, body)
        return Judged(body, columns, at)

    def finish(self) -> None:
        """Judge what can only be told at the end."""
        self._report.first_at = rfc3339(self._first) if self._first else None
        self._report.last_at = rfc3339(self._last) if self._last else None
        self._chains.finish()
        self._calls.finish()
