"""What must hold along the chain of each writer."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sshfacts.storage.chain import NO_PREVIOUS
from sshfacts.storage.report import Report, plain
from sshfacts.values import JsonObject, JsonValue

CLOCK_STEP = timedelta(seconds=1)
"""How far the clock of a writer may go back before that is worth a warning."""

_FIRST = NO_PREVIOUS.hex()


@dataclass(frozen=True, slots=True)
class _Link:
    """The last record of a chain that was seen."""

    seq: int
    leaf: str
    at: datetime
    is_stop: bool


class ChainRules:
    """Judges the chains of all writers, record by record.

    Args:
        is_whole: whether the records begin with the first of the log. If not, what stands before is unknown.
    """

    def __init__(self, report: Report, *, is_whole: bool) -> None:
        self._report = report
        self._is_whole = is_whole
        self._links: dict[str, _Link] = {}
        self._followed: set[str] = set()

    def judge(self, place: str, body: JsonObject, leaf: str, at: datetime) -> None:
        """Judge the next record in the order of the log."""
        writer, seq, previous = body.get("writer"), body.get("seq"), body.get("prev")
        if not isinstance(writer, str) or not isinstance(seq, int) or isinstance(seq, bool):
            self._report.violations.add(f"{place}: the record is in no chain")
            return
        last = self._links.get(writer)
        fault = self._beginning(seq, previous) if last is None else _continuation(last, seq, previous)
        if (seq == 0) != (body["kind"] == "writer_start"):
            fault = fault or "does not begin with its start, or starts twice"
        if fault is not None:
            self._report.violations.add(f"{place}: writer {plain(writer)} {fault}")
        elif last is not None and at < last.at - CLOCK_STEP and body.get("late") is not True:
            self._report.warnings.add(f"{place}: the clock of writer {plain(writer)} went back")
        self._links[writer] = _Link(seq, leaf, at, is_stop=body["kind"] == "writer_stop")
        after = body.get("after")
        if isinstance(after, str):
            self._followed.add(after)

    def finish(self) -> None:
        """Judge whether a writer that another one followed is there at all."""
        if self._is_whole:
            for writer in sorted(self._followed - self._links.keys()):
                self._report.violations.add(f"writer {plain(writer)} had a successor, and has no records")

    def _beginning(self, seq: int, previous: JsonValue) -> str | None:
        if seq and self._is_whole:
            return f"begins with record {seq}, and what comes before it is missing"
        if not seq and previous != _FIRST:
            return "names a record before its first"
        return None


def _continuation(last: _Link, seq: int, previous: JsonValue) -> str | None:
    if last.is_stop:
        return "goes on after its stop"
    if seq != last.seq + 1:
        return f"jumps from record {last.seq} to {seq}"
    if previous != last.leaf:
        return f"does not name record {last.seq} in the one after it"
    return None
