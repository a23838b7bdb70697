"""Gives records their place in the log: the first half of sealing.

A record's place is a row of `audit_leaf`, whose primary key is all that keeps two sealers apart. Records are read
and hashed in a transaction that only reads, so that the service's own commits wait for nothing but the inserts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import sqlalchemy as sa

from sshfacts.storage.canonical import leaf_hash
from sshfacts.storage.engine import transaction
from sshfacts.storage.stored_tree import StoredTree, new_tiles, tree_size
from sshfacts.storage.tables import ENTRY, LEAF, TILE
from sshfacts.storage.unavailable import RecordAltered, RecordUnavailable

BATCH = 1_000
"""Records that get their place in one transaction: about 10 ms for which nobody else writes to SQLite."""

LOOK_BACK = 20_000
"""How far below the newest sealed record a quick look goes, in ids. A commit that took long can make a lower id
visible after a higher one; a thorough look finds it wherever it is."""

Entry: TypeAlias = "sa.Row[tuple[int, str, int, bytes, str]]"


@dataclass(frozen=True, slots=True)
class Integrated:
    """What one batch did."""

    size: int
    """Records that have their place now."""
    added: int
    gaps: tuple[str, ...]
    """What is missing in the chains of writers, in words."""


def integrate(reader: sa.Engine, writer: sa.Engine, *, thorough: bool) -> Integrated:
    """Give up to `BATCH` records their place.

    Args:
        reader: opened for reading.
        writer: opened for writing, on the same database.
        thorough: look at every record that has no place, however old it is.

    Raises:
        RecordAltered: a record is not what was written; none of the batch gets a place.
        RecordUnavailable: the database cannot be read or written.
    """
    with transaction(reader) as connection:
        before = tree_size(connection)
        entries = _in_chain_order(_unsealed(connection, thorough=thorough))
        for entry in entries:
            # A root is signed only over bytes that the database gave back as they were written.
            if leaf_hash(entry.body.encode("utf-8", "surrogatepass")) != entry.leaf_hash:
                raise RecordAltered(f"entry {entry.id} was changed before it was sealed")
        gaps = _gaps(connection, entries)
        tree = StoredTree(connection, before + len(entries), [entry.leaf_hash for entry in entries])
        tiles = new_tiles(tree, before)
    if not entries:
        return Integrated(before, 0, ())
    try:
        _insert(writer, before, entries, tiles)
    except RecordUnavailable:
        with transaction(reader) as connection:
            now = tree_size(connection)
        if now == before:
            raise
        return Integrated(now, 0, ())  # another sealer was faster, with the same records
    return Integrated(tree.size, len(entries), gaps)


def _unsealed(connection: sa.Connection, *, thorough: bool) -> list[Entry]:
    statement = (
        sa.select(ENTRY.c.id, ENTRY.c.writer_id, ENTRY.c.seq, ENTRY.c.leaf_hash, ENTRY.c.body)
        .outerjoin(LEAF, LEAF.c.entry_id == ENTRY.c.id)
        .where(LEAF.c.entry_id.is_(None))
        .order_by(ENTRY.c.id)
        .limit(BATCH)
    )
    if not thorough:
        newest = connection.scalar(sa.select(sa.func.max(LEAF.c.entry_id))) or 0
        statement = statement.where(ENTRY.c.id > newest - LOOK_BACK)
    return list(connection.execute(statement))


def _in_chain_order(entries: list[Entry]) -> list[Entry]:
    """Return the records by id, or chain by chain if the ids do not follow the chains; no guarantee says they do."""
    last: dict[str, int] = {}
    for entry in entries:
        if entry.seq < last.get(entry.writer_id, -1):
            return sorted(entries, key=lambda one: (one.writer_id, one.seq))
        last[entry.writer_id] = entry.seq
    return entries


def _gaps(connection: sa.Connection, entries: Sequence[Entry]) -> tuple[str, ...]:
    """Return what is missing before a record: one writer's records become visible in the order of their numbers."""
    last: dict[str, int] = {}
    gaps = []
    for entry in entries:
        previous = last.get(entry.writer_id)
        last[entry.writer_id] = entry.seq
        if previous is None and entry.seq and _is_sealed(connection, entry.writer_id, entry.seq - 1):
            continue
        if entry.seq != (-1 if previous is None else previous) + 1:
            gaps.append(f"what comes before record {entry.seq} of writer {entry.writer_id} is missing")
    return tuple(gaps)


def _is_sealed(connection: sa.Connection, writer: str, seq: int) -> bool:
    statement = (
        sa.select(LEAF.c.leaf_index)
        .join(ENTRY, ENTRY.c.id == LEAF.c.entry_id)
        .where(ENTRY.c.writer_id == writer, ENTRY.c.seq == seq)
    )
    return connection.scalar(statement) is not None


def _insert(engine: sa.Engine, first: int, entries: Sequence[Entry], tiles: Sequence[tuple[int, int, bytes]]) -> None:
    leaves = [
        {"leaf_index": first + at, "entry_id": entry.id, "leaf_hash": entry.leaf_hash}
        for at, entry in enumerate(entries)
    ]
    with transaction(engine) as connection:
        connection.execute(sa.insert(LEAF).inline(), leaves)
        if tiles:
            columns = ("level", "idx", "hashes")
            rows = [dict(zip(columns, tile, strict=True)) for tile in tiles]
            connection.execute(sa.insert(TILE).inline(), rows)
