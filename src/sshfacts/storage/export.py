"""Writes records to a file that proves itself: the form stands in `export_format`."""

from typing import BinaryIO

import sqlalchemy as sa

from sshfacts.storage.canonical import leaf_hash
from sshfacts.storage.checkpoint import Checkpoint, unsigned_checkpoint
from sshfacts.storage.engine import transaction
from sshfacts.storage.export_format import Consistency, Head, Period, last_line, record_line
from sshfacts.storage.merkle import CompactRange, ProofError, consistency_proof, range_of
from sshfacts.storage.note import NoteError
from sshfacts.storage.report import Progress, unseen
from sshfacts.storage.stored_tree import StoredTree, newest_note
from sshfacts.storage.tables import ENTRY, LEAF
from sshfacts.storage.unavailable import RecordAltered

BATCH = 1_000
"""Records that are read in one transaction."""

WHOLE = Period()


class Export:
    """One export. It covers what the newest checkpoint covers.

    Its methods block.

    Args:
        engine: opened for reading.
        period: what is exported. A record counts by the instant that it states itself. The record before and the
            one after are in the file too, to show that nothing of the period was left out.
        trusted: a checkpoint that the reader of the file holds; the file then proves that it extends that one.

    Raises:
        RecordUnavailable: the database cannot be read.
        RecordAltered: the log is not what was sealed; `verify_database` says more.
    """

    def __init__(self, engine: sa.Engine, period: Period = WHOLE, trusted: Checkpoint | None = None) -> None:
        self._engine = engine
        self._period = period
        with transaction(engine) as connection:
            self._note, self._checkpoint = _newest(connection)
            begin, end = _leaves(connection, period, self._checkpoint.size)
            tree = StoredTree(connection, self._checkpoint.size)
            self._prefix = range_of(tree.node, 0, begin)
            self._suffix = range_of(tree.node, end, self._checkpoint.size)
            self._consistency = _consistency(tree, trusted)
            self.unsealed = _unsealed(connection, period, self._checkpoint.size)
            """Records of the period that no checkpoint covers yet, and that are not in the file for that."""

    @property
    def records(self) -> int:
        """How many records the file has."""
        return self._suffix.begin - self._prefix.end

    def write(self, file: BinaryIO, progress: Progress = unseen) -> None:
        """Write the whole file.

        Raises:
            RecordUnavailable: the database cannot be read.
            RecordAltered: what was written would not verify.
            OSError: the file cannot be written.
        """
        begin, end = self._prefix.end, self._suffix.begin
        file.write(
            Head(
                note=self._note,
                begin=begin,
                end=end,
                period=self._period,
                prefix=self._prefix.hashes,
                suffix=self._suffix.hashes,
                consistency=self._consistency,
            ).line()
        )
        whole = CompactRange(0, begin, self._prefix.hashes)
        for first in range(begin, end, BATCH):
            self._write_batch(file, whole, first, min(first + BATCH, end))
            progress(whole.end - begin, end - begin)
        file.write(last_line(end - begin))
        whole.extend(self._suffix)
        if whole.root() != self._checkpoint.root:
            raise RecordAltered("the records are not those that the checkpoint was signed over")

    def _write_batch(self, file: BinaryIO, whole: CompactRange, begin: int, end: int) -> None:
        statement = (
            sa.select(LEAF.c.leaf_index, ENTRY.c.body)
            .join(ENTRY, ENTRY.c.id == LEAF.c.entry_id)
            .where(LEAF.c.leaf_index >= begin, LEAF.c.leaf_index < end)
            .order_by(LEAF.c.leaf_index)
        )
        with transaction(self._engine) as connection:
            rows = connection.execute(statement).all()
        if [leaf for leaf, _ in rows] != list(range(begin, end)):
            raise RecordAltered(f"of the leaves from {begin} to before {end}, some are missing")
        for leaf, body in rows:
            data = body.encode("utf-8", "surrogatepass")
            whole.append(leaf_hash(data))
            file.write(record_line(data, leaf))


def _newest(connection: sa.Connection) -> tuple[str, Checkpoint]:
    note = newest_note(connection)
    if note is None:
        raise RecordAltered("nothing was sealed yet; run `sshfacts audit seal`")
    try:
        return note, unsigned_checkpoint(note)
    except NoteError:
        raise RecordAltered("the newest checkpoint is malformed") from None


def _leaves(connection: sa.Connection, period: Period, size: int) -> tuple[int, int]:
    """Return the leaves that show the whole period: those in it, and one more on each side that has one."""
    if period == WHOLE:
        return 0, size
    index, is_before, is_after = LEAF.c.leaf_index, _is_before(period), _is_after(period)
    is_inside = sa.and_(index < size, ~is_before, ~is_after)
    first = _leaf(connection, sa.func.min(index), is_inside)
    last = _leaf(connection, sa.func.max(index), is_inside)
    before = sa.and_(is_before, index < (size if first is None else first))
    begin = _leaf(connection, index, before, index.desc()) or 0
    after = sa.and_(is_after, index >= (begin if last is None else last))
    end = _leaf(connection, index, after, index.asc())
    return begin, size if end is None else min(end + 1, size)


def _leaf(
    connection: sa.Connection,
    found: sa.ColumnElement[int],
    condition: sa.ColumnElement[bool],
    order: sa.ColumnElement[int] | None = None,
) -> int | None:
    statement = sa.select(found).select_from(LEAF.join(ENTRY, ENTRY.c.id == LEAF.c.entry_id)).where(condition)
    # A sorted search for one leaf goes along the leaves and soon ends; `min` and `max` look at the whole period.
    return connection.scalar(statement if order is None else statement.order_by(order).limit(1))


def _is_before(period: Period) -> sa.ColumnElement[bool]:
    return sa.false() if period.since is None else ENTRY.c.at < period.since


def _is_after(period: Period) -> sa.ColumnElement[bool]:
    return sa.false() if period.until is None else ENTRY.c.at >= period.until


def _unsealed(connection: sa.Connection, period: Period, size: int) -> int:
    """Count records of the period that are not covered; without an end, what came after the checkpoint is not of it."""
    if period.until is None:
        return 0
    statement = (
        sa.select(sa.func.count())
        .select_from(ENTRY.outerjoin(LEAF, LEAF.c.entry_id == ENTRY.c.id))
        .where(sa.or_(LEAF.c.entry_id.is_(None), LEAF.c.leaf_index >= size), ~_is_before(period), ~_is_after(period))
    )
    return connection.scalar(statement) or 0


def _consistency(tree: StoredTree, trusted: Checkpoint | None) -> Consistency | None:
    if trusted is None:
        return None
    try:
        return Consistency(trusted.size, consistency_proof(tree.node, trusted.size, tree.size))
    except ProofError:
        raise RecordAltered(f"the log has {tree.size} records, and the trusted checkpoint {trusted.size}") from None
