"""Rows as the database holds them, for a verifier: not converted, since an altered row may hold anything.

All reading is in batches, each in a transaction of its own, since one long transaction would keep SQLite from
shortening its log and PostgreSQL from cleaning up. Rows are only ever added, so the batches fit together.
"""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, TypeAlias

import sqlalchemy as sa

from sshfacts.storage.canonical import rfc3339
from sshfacts.storage.engine import transaction
from sshfacts.storage.raw_rules import CopyFound
from sshfacts.storage.tables import CHECKPOINT, ENTRY, LEAF, RAW, TILE

BATCH = 1_000
"""Rows that are read at once."""

COLUMNS = tuple(column.name for column in ENTRY.columns if column.name not in ("id", "leaf_hash", "body"))
"""The columns that follow from the body, in the order of `EntryRow`."""

EntryRow: TypeAlias = "sa.Row[*tuple[Any, ...]]"
"""`leaf_index`, `listed_hash`, `id`, `leaf_hash`, `body`, and then `COLUMNS`; each may hold anything or be missing."""


def _raw(column: sa.ColumnElement[Any], name: str | None = None) -> sa.Label[Any]:
    return sa.type_coerce(column, sa.types.NULLTYPE).label(name or str(column.key))


_ENTRY = (
    _raw(LEAF.c.leaf_index),
    _raw(LEAF.c.leaf_hash, "listed_hash"),
    _raw(ENTRY.c.id),
    _raw(ENTRY.c.leaf_hash),
    _raw(ENTRY.c.body),
    *(_raw(ENTRY.c[name]) for name in COLUMNS),
)


class Snapshot:
    """What is in the database at one moment."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def leaves(self, begin: int) -> Sequence[EntryRow]:
        """Return a batch of leaves from `begin` on, each with its record if that is there."""
        return self._connection.execute(
            sa.select(*_ENTRY)
            .select_from(LEAF.outerjoin(ENTRY, ENTRY.c.id == LEAF.c.entry_id))
            .where(LEAF.c.leaf_index >= begin)
            .order_by(LEAF.c.leaf_index)
            .limit(BATCH)
        ).all()

    def unsealed(self) -> Iterator[EntryRow]:
        """Yield the records without a place in the log."""
        statement = (
            sa.select(*_ENTRY)
            .select_from(ENTRY.outerjoin(LEAF, LEAF.c.entry_id == ENTRY.c.id))
            .where(LEAF.c.entry_id.is_(None))
            .order_by(ENTRY.c.id)
        )
        yield from self._connection.execution_options(yield_per=BATCH).execute(statement)

    def checkpoints(self, after: int) -> Sequence[tuple[Any, Any, Any]]:
        """Return size, root and note of a batch of checkpoints over more than `after` records."""
        rows = self._connection.execute(
            sa.select(_raw(CHECKPOINT.c.tree_size), _raw(CHECKPOINT.c.root_hash), _raw(CHECKPOINT.c.note))
            .where(CHECKPOINT.c.tree_size > after)
            .order_by(CHECKPOINT.c.tree_size)
            .limit(BATCH)
        )
        return [(size, root, note) for size, root, note in rows]

    def newest_checkpoint(self) -> tuple[Any, datetime | None] | None:
        """Return the note of the checkpoint over the most records, and when it was made if its row says so."""
        statement = sa.select(_raw(CHECKPOINT.c.note), _raw(CHECKPOINT.c.at))
        row = self._connection.execute(statement.order_by(CHECKPOINT.c.tree_size.desc()).limit(1)).one_or_none()
        return None if row is None else (row[0], _instant(row[1]))

    def raw_copies(self) -> Iterator[CopyFound]:
        """Yield what the columns say of every raw copy; none is opened."""
        statement = sa.select(_raw(RAW.c.blob_id), _raw(RAW.c.request_id), _raw(RAW.c.retain_until))
        for blob_id, request_id, until in self._connection.execution_options(yield_per=BATCH).execute(statement):
            instant = _instant(until)
            yield CopyFound(str(blob_id), str(request_id), "?" if instant is None else rfc3339(instant))

    def tiles(self) -> Iterator[sa.Row[Any, Any, Any]]:
        """Yield level, index and hashes of every tile."""
        statement = sa.select(_raw(TILE.c.level), _raw(TILE.c.idx), _raw(TILE.c.hashes))
        yield from self._connection.execution_options(yield_per=BATCH // 10).execute(statement)


class StoredRows:
    """Reads one database.

    Args:
        engine: opened for reading.
    """

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """Give one moment of the database.

        Raises:
            RecordUnavailable: it cannot be read.
        """
        with transaction(self._engine) as connection:
            driver = connection.connection.driver_connection
            if isinstance(driver, sqlite3.Connection):
                # A text that is no UTF-8 would end the whole verification, instead of being found.
                driver.text_factory = _text
            yield Snapshot(connection)

    def expected(self, name: str) -> Callable[[Any], Any] | None:
        """Return what turns a column's value into what the driver gives back for it; `None` if nothing does."""
        dialect = self._engine.dialect
        return ENTRY.c[name].type.dialect_impl(dialect).bind_processor(dialect)


def _instant(value: object) -> datetime | None:
    if isinstance(value, datetime):
        return value
    try:
        return datetime.fromisoformat(str(value)).replace(tzinfo=UTC)  # as `tables.Instant` keeps it on SQLite
    except ValueError:
        return None


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
