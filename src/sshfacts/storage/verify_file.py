"""Verifies an exported file with nothing but public keys: no database, no network, no SQLAlchemy."""

from collections.abc import Sequence
from datetime import datetime
from typing import BinaryIO

from sshfacts.storage.canonical import leaf_hash, rfc3339
from sshfacts.storage.checkpoint import Checkpoint, open_checkpoint
from sshfacts.storage.export_format import (
    LINE_BYTES,
    ExportError,
    Head,
    UnknownVersion,
    last_line,
    parse_record,
)
from sshfacts.storage.merkle import CompactRange, ProofError, verify_consistency
from sshfacts.storage.note import NoteError, PublicKey
from sshfacts.storage.record_rules import RecordRules
from sshfacts.storage.report import Progress, Report, unseen

STEP = 1_000
"""Records between two reports of progress."""

_REWRITTEN = "the log was rewritten since the trusted checkpoint"


def verify_file(
    file: BinaryIO,
    keys: Sequence[PublicKey],
    trusted: Checkpoint | None = None,
    progress: Progress = unseen,
) -> Report:
    """Verify an export: signature, completeness of its range, form of each record, chains and calls.

    Args:
        file: opened for reading bytes.
        keys: what may have signed the checkpoint; the auditor has them from elsewhere.
        trusted: a checkpoint that was kept elsewhere, and that the export must extend. Without one nobody can
            tell whether the whole log was rolled back before it was exported.

    Raises:
        OSError: the file cannot be read.
    """
    report = Report()
    try:
        head = Head.parse(file.readline(LINE_BYTES))
        verification = _Verification(report, head, open_checkpoint(head.note, keys), trusted)
    except UnknownVersion as error:
        report.unjudged.add(str(error))
        return report
    except (ExportError, NoteError, ProofError) as error:
        report.violations.add(f"head: {error}")
        return report
    try:
        verification.read(file, progress)
    except (ExportError, ProofError) as error:
        report.violations.add(str(error))
    verification.finish()
    return report


class _Verification:
    """One export while it is verified.

    Raises:
        ExportError, ProofError: the head contradicts itself, its checkpoint, or the trusted one.
    """

    def __init__(self, report: Report, head: Head, checkpoint: Checkpoint, trusted: Checkpoint | None) -> None:
        self._report = report
        self._head = head
        self._checkpoint = checkpoint
        self._trusted = trusted
        report.origin, report.tree_size, report.root_hash = checkpoint.origin, checkpoint.size, checkpoint.root.hex()
        report.begin, report.end = head.begin, head.end
        report.since, report.until = _text(head.period.since), _text(head.period.until)
        if not head.begin <= head.end <= checkpoint.size:
            raise ExportError("the range is not inside the log")
        self._range = CompactRange(0, head.begin, head.prefix)
        self._suffix = CompactRange(head.end, checkpoint.size, head.suffix)
        self._rules = RecordRules(report, is_whole=head.begin == 0)
        self._at: dict[int, datetime] = {}
        if trusted is not None:
            self._check_trusted(trusted)

    def read(self, file: BinaryIO, progress: Progress) -> None:
        """Read all lines after the head.

        Raises:
            ExportError: the file is not in its form.
            ProofError: its records are not those of the log.
        """
        begin, end = self._head.begin, self._head.end
        trusted_size = -1 if self._trusted is None else self._trusted.size
        for leaf in range(begin, end):
            data = parse_record(file.readline(LINE_BYTES), leaf)
            hashed = leaf_hash(data)
            self._range.append(hashed)
            judged = self._rules.judge(f"leaf {leaf}", data, hashed)
            if judged is not None and leaf in (begin, end - 1):
                self._at[leaf] = judged.at
            if leaf + 1 == trusted_size and self._trusted is not None:
                self._check_root(self._trusted, _REWRITTEN)
            if leaf % STEP == 0:
                progress(leaf - begin, end - begin)
        if file.readline(LINE_BYTES) != last_line(end - begin) or file.read(1):
            raise ExportError("the file does not end as it must")
        progress(end - begin, end - begin)
        self._range.extend(self._suffix)
        self._check_root(self._checkpoint, "the records are not those that the checkpoint was signed over")
        self._check_period()

    def finish(self) -> None:
        """Judge what can only be told at the end."""
        self._rules.finish()
        if self._trusted is None:
            self._report.warnings.add(
                "no trusted checkpoint was given: that the whole log was rolled back or replaced cannot be told"
            )

    def _check_trusted(self, trusted: Checkpoint) -> None:
        """Check the trusted checkpoint against the head, unless it lies among the records and `read` checks it."""
        head, checkpoint = self._head, self._checkpoint
        if trusted.origin != checkpoint.origin:
            raise ExportError("the trusted checkpoint is one of another log")
        if trusted.size > checkpoint.size:
            raise ExportError(
                f"rollback: the trusted checkpoint has {trusted.size} records, and the log {checkpoint.size}"
            )
        if trusted.size == checkpoint.size:
            if trusted.root != checkpoint.root:
                raise ProofError(_REWRITTEN)
        elif trusted.size == head.begin:
            self._check_root(trusted, _REWRITTEN)
        elif not head.begin < trusted.size <= head.end:
            if head.consistency is None or head.consistency.old_size != trusted.size:
                raise ExportError("the file has no proof from the trusted checkpoint; export it with that checkpoint")
            proof = head.consistency.proof
            verify_consistency(trusted.size, checkpoint.size, trusted.root, checkpoint.root, proof)

    def _check_root(self, checkpoint: Checkpoint, violation: str) -> None:
        if self._range.end != checkpoint.size or self._range.root() != checkpoint.root:
            raise ProofError(violation)

    def _check_period(self) -> None:
        """Check that the records reach over both ends of the period, or to the end of the log.

        The first and the last record of an export of a period lie outside of it, and show that nothing of it was
        left out there.
        """
        head, first, last = self._head, self._at.get(self._head.begin), self._at.get(self._head.end - 1)
        since, until = head.period.since, head.period.until
        begins = since is None or head.begin == 0 or (first is not None and first < since)
        ends = until is None or head.end == self._checkpoint.size or (last is not None and last >= until)
        if not begins or not ends:
            raise ExportError("the records do not reach over both ends of the period")


def _text(instant: datetime | None) -> str | None:
    return None if instant is None else rfc3339(instant)
