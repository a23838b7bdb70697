"""Verifies the record where it stands: all that a file can show, and what only the database can.

That is: columns against bodies, stored hashes and tiles against recomputed ones, every stored checkpoint against
the tree, records that no checkpoint covers yet, and raw copies against the records that name them.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256

import sqlalchemy as sa

from sshfacts.storage.canonical import leaf_hash
from sshfacts.storage.checkpoint import Checkpoint, open_checkpoint, unsigned_checkpoint
from sshfacts.storage.note import NoteError, PublicKey, UnknownSigner
from sshfacts.storage.recomputed_tree import RecomputedTree
from sshfacts.storage.record_rules import Judged, RecordRules
from sshfacts.storage.report import Progress, Report, unseen
from sshfacts.storage.stored_rows import COLUMNS, EntryRow, Snapshot, StoredRows

UNSEALED = timedelta(minutes=5)
"""How long a record may wait for its place in the log, at most."""


def verify_database(
    engine: sa.Engine,
    keys: Sequence[PublicKey],
    trusted: Checkpoint | None = None,
    *,
    now: datetime | None = None,
    progress: Progress = unseen,
) -> Report:
    """Verify the whole record. It may be in use meanwhile.

    Args:
        engine: opened for reading.
        keys: what may have signed checkpoints; an auditor has them from elsewhere.
        trusted: a checkpoint that was kept elsewhere, and that the log must extend. Without one nobody can tell
            whether the whole log was rolled back.
        now: the time, aware; by default the clock's.

    Raises:
        RecordUnavailable: the database cannot be read.
    """
    report = Report()
    rows = StoredRows(engine)
    with rows.snapshot() as snapshot:
        newest = _newest(snapshot, keys, report)
    if newest is not None:
        checkpoint, sealed_at = newest
        verification = _Verification(rows, report, keys, checkpoint, trusted)
        verification.read(sealed_at, progress)
        verification.finish(now or datetime.now(UTC))
    return report


def _newest(snapshot: Snapshot, keys: Sequence[PublicKey], report: Report) -> tuple[Checkpoint, datetime | None] | None:
    """Return the newest checkpoint and when it was made; `None` if there is none that can be trusted."""
    found = snapshot.newest_checkpoint()
    if found is None:
        report.violations.add("there is no checkpoint: nothing was sealed yet, or all of them were removed")
        return None
    note, at = found
    try:
        checkpoint = open_checkpoint(str(note), keys)
    except NoteError as error:
        report.violations.add(f"the newest checkpoint: {error}")
        return None
    report.origin, report.tree_size, report.root_hash = checkpoint.origin, checkpoint.size, checkpoint.root.hex()
    return checkpoint, at


class _Verification:
    """One database while it is verified."""

    def __init__(
        self,
        rows: StoredRows,
        report: Report,
        keys: Sequence[PublicKey],
        newest: Checkpoint,
        trusted: Checkpoint | None,
    ) -> None:
        self._rows = rows
        self._report = report
        self._keys = keys
        self._newest = newest
        self._trusted = trusted
        self._rules = RecordRules(report, is_whole=True)
        self._tree = RecomputedTree()
        self._is_broken = False  # a leaf is missing, so that no root after it can be right
        self._next = 0
        self._checkpoints = _StoredCheckpoints(rows, keys, report)
        self._bind = {name: rows.expected(name) for name in COLUMNS}
        self._oldest_unsealed: datetime | None = None

    def read(self, sealed_at: datetime | None, progress: Progress) -> None:
        """Read every leaf, and at last, in the same moment as the last leaves, what has none."""
        while True:
            with self._rows.snapshot() as snapshot:
                batch = snapshot.leaves(self._next)
                self._judge_leaves(batch)
                progress(min(self._next, self._newest.size), self._newest.size)
                if not batch:
                    for row in snapshot.unsealed():
                        self._judge_unsealed(row, sealed_at)
                    self._judge_tiles(snapshot)
                    self._rules.copies.compare(snapshot.raw_copies())
                    return

    def finish(self, now: datetime) -> None:
        """Judge what can only be told at the end."""
        self._rules.finish()
        report, newest, trusted = self._report, self._newest, self._trusted
        report.end = self._next
        report.unsealed += max(0, self._next - newest.size)
        if self._next < newest.size:
            report.violations.add(f"the newest checkpoint has {newest.size} records, and the log {self._next}")
        if trusted is None:
            report.warnings.add(
                "no trusted checkpoint was given: that the whole log was rolled back or replaced cannot be told"
            )
        elif trusted.origin != newest.origin:
            report.violations.add("the trusted checkpoint is one of another log")
        elif trusted.size > self._next:
            report.violations.add(
                f"rollback: the trusted checkpoint has {trusted.size} records, and the log {self._next}"
            )
        self._checkpoints.finish()
        if self._oldest_unsealed is not None and self._oldest_unsealed < now - UNSEALED:
            report.warnings.add(f"records wait to be sealed since {self._oldest_unsealed:%Y-%m-%d %H:%M:%S} UTC")

    def _judge_leaves(self, rows: Sequence[EntryRow]) -> None:
        for row in rows:
            if row.leaf_index != self._next:
                self._report.violations.add(f"leaf {self._next} is missing")
                self._is_broken = True
            leaf = int(row.leaf_index)
            self._tree.append(self._judge_leaf(leaf, row))
            self._next = leaf + 1
            if not self._is_broken:
                self._judge_root()

    def _judge_leaf(self, leaf: int, row: EntryRow) -> bytes:
        """Judge one record, and return the hash that stands for it in the tree."""
        place, listed = f"leaf {leaf}", row.listed_hash
        if not isinstance(listed, bytes):
            self._report.violations.add(f"{place}: its hash is none")
            listed = b""
        if row.id is None:
            self._report.violations.add(f"{place}: its record was removed")
            return listed
        if not isinstance(row.body, str):
            self._report.violations.add(f"{place}: the body of entry {row.id} is no text")
            return listed
        data = row.body.encode("utf-8", "surrogateescape")
        hashed = leaf_hash(data)
        if not hashed == row.leaf_hash == listed:
            self._report.violations.add(f"{place}: the body or a hash of entry {row.id} was changed")
        judged = self._rules.judge(place, data, hashed)
        if judged is not None:
            self._judge_columns(place, row, judged)
        # What was found wrong already is not found again as a wrong root: the tree is judged by its own hashes.
        return listed

    def _judge_columns(self, place: str, row: EntryRow, judged: Judged) -> None:
        expected = {**judged.columns, "writer_id": judged.body.get("writer"), "seq": judged.body.get("seq")}
        for name, value in zip(COLUMNS, row[-len(COLUMNS) :], strict=True):
            bind = self._bind[name]
            if value != (bind(expected[name]) if bind is not None else expected[name]):
                self._report.violations.add(f"{place}: column {name} of entry {row.id} is not what its body says")

    def _judge_root(self) -> None:
        """Compare the tree with every checkpoint of its size."""
        size = self._tree.size
        self._checkpoints.judge(size, self._tree)
        if self._trusted is not None and self._trusted.size == size and self._trusted.root != self._tree.root():
            self._report.violations.add("the log was rewritten since the trusted checkpoint")

    def _judge_unsealed(self, row: EntryRow, sealed_at: datetime | None) -> None:
        self._report.unsealed += 1
        place = f"unsealed entry {row.id}"
        if not isinstance(row.body, str):
            self._report.violations.add(f"{place}: the body is no text")
            return
        data = row.body.encode("utf-8", "surrogateescape")
        hashed = leaf_hash(data)
        if hashed != row.leaf_hash:
            self._report.violations.add(f"{place} was changed")
        judged = self._rules.judge(place, data, hashed)
        if judged is None:
            return
        self._judge_columns(place, row, judged)
        self._oldest_unsealed = min(judged.at, self._oldest_unsealed or judged.at)
        # An outcome that waited for the database is older than its row.
        is_late = judged.body.get("late") is True
        if sealed_at is not None and judged.at < sealed_at - UNSEALED and not is_late:
            self._report.violations.add(f"{place} is older than the newest checkpoint, and not in it")

    def _judge_tiles(self, snapshot: Snapshot) -> None:
        if self._is_broken:
            return
        missing = dict(self._tree.tiles)
        for level, idx, hashes in snapshot.tiles():
            digest = missing.pop((level, idx), None)
            if digest is None or not isinstance(hashes, bytes) or sha256(hashes).digest() != digest:
                self._report.violations.add(f"tile {level}/{idx} is not that of the records")
        for level, idx in missing:
            self._report.violations.add(f"tile {level}/{idx} is missing")


class _StoredCheckpoints:
    """Every stored checkpoint, in the order of its size, against the tree of that size."""

    def __init__(self, rows: StoredRows, keys: Sequence[PublicKey], report: Report) -> None:
        self._rows = rows
        self._keys = keys
        self._report = report
        self._by_other_keys = 0
        self._waiting: list[tuple[object, object, object]] = []
        self._last = 0
        self._fill()

    def judge(self, size: int, tree: RecomputedTree) -> None:
        """Judge the checkpoint of this size, if there is one."""
        if not self._waiting or self._waiting[-1][0] != size:
            return
        _, root, note = self._waiting.pop()
        fault = self._fault(Checkpoint("", size, tree.root()), root, str(note))
        if fault is not None:
            self._report.violations.add(f"the stored checkpoint of {size} records {fault}")
        if not self._waiting:
            self._fill()

    def finish(self) -> None:
        """Tell how many could be judged by their content only."""
        if self._by_other_keys:
            self._report.warnings.add(
                f"stored checkpoints that agree with the records, and are signed by keys that were not given:"
                f" {self._by_other_keys}"
            )

    def _fault(self, actual: Checkpoint, root: object, note: str) -> str | None:
        try:
            checkpoint = self._opened(note)
        except NoteError as error:
            return f"is wrong: {error}"
        if checkpoint.size != actual.size or checkpoint.root != root:
            return "is not what its columns say"
        if checkpoint.root != actual.root:
            return "was signed over other records"
        return None

    def _opened(self, note: str) -> Checkpoint:
        try:
            return open_checkpoint(note, self._keys)
        except UnknownSigner:
            checkpoint = unsigned_checkpoint(note)
        self._by_other_keys += 1
        return checkpoint

    def _fill(self) -> None:
        with self._rows.snapshot() as snapshot:
            batch = snapshot.checkpoints(self._last)
        self._waiting = list(reversed(batch))
        if batch:
            self._last = int(batch[-1][0])
