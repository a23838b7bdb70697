"""What must hold between raw copies and the records of them: none goes before its time, or without a word."""

from collections.abc import Iterable
from dataclasses import dataclass

from sshfacts.storage.report import Report, plain
from sshfacts.storage.vault import RawCopyError, Reference
from sshfacts.values import JsonObject


@dataclass(frozen=True, slots=True)
class CopyFound:
    """What a database holds of one copy, as its columns say it."""

    blob_id: str
    request_id: str
    retain_until: str
    """RFC 3339, in the form of the record."""


class RawRules:
    """Judges the copies, record by record; takes about 300 bytes of memory for each.

    Args:
        is_whole: whether the records begin with the first of the log. If not, what stands before is unknown.
    """

    def __init__(self, report: Report, *, is_whole: bool) -> None:
        self._report = report
        self._is_whole = is_whole
        self._kept: dict[str, tuple[str, str]] = {}
        self._purged: set[str] = set()

    def judge(self, place: str, body: JsonObject) -> None:
        """Judge the next record in the order of the log."""
        fault = None
        if body["kind"] == "outcome":
            fault = self._outcome(body)
        elif body["kind"] == "raw_purged":
            fault = self._removal(body)
        if fault is not None:
            self._report.violations.add(f"{place}: {fault}")

    def compare(self, stored: Iterable[CopyFound]) -> None:
        """Judge what the database holds, after all records; an export has no copies, and is not compared."""
        found = set()
        for copy in stored:
            found.add(copy.blob_id)
            said = self._kept.get(copy.blob_id)
            if said is None:
                self._report.warnings.add(f"raw copy {plain(copy.blob_id)} is named by no record")
            elif said != (copy.request_id, copy.retain_until):
                self._report.violations.add(f"raw copy {plain(copy.blob_id)} is not as its record says")
        for blob_id in sorted(self._kept.keys() - found - self._purged):
            self._report.violations.add(f"raw copy {plain(blob_id)} is gone, and no record says that it was removed")

    def _outcome(self, body: JsonObject) -> str | None:
        references = body.get("raw")
        for value in references if isinstance(references, list) else []:
            try:
                reference = Reference.read(value)
            except RawCopyError:
                return "the record names a raw copy in a way that is not known"
            self._kept[reference.blob_id] = (str(body.get("request_id")), reference.retain_until)
        return None

    def _removal(self, body: JsonObject) -> str | None:
        blob_id = str(body.get("blob_id"))
        self._purged.add(blob_id)
        said = self._kept.get(blob_id)
        if said is None:
            return f"raw copy {plain(blob_id)} was removed, and no record names it" if self._is_whole else None
        # Both are UTC with six decimals, so that their texts stand in the order of the instants.
        if str(body.get("at")) < said[1]:
            return f"raw copy {plain(blob_id)} was removed before its time"
        return None
