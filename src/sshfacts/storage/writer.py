"""The thread that makes the rows of one chain durable, many in one commit."""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from time import monotonic, sleep
from typing import TypeAlias

import sqlalchemy as sa

from sshfacts.limits import MIB
from sshfacts.storage.chain import Chain, Entry, Row
from sshfacts.storage.insertion import Insertion
from sshfacts.storage.tables import ENTRY, RAW
from sshfacts.storage.unavailable import DATABASE_ERRORS, RecordUnavailable, reason_of
from sshfacts.values import JsonObject

RETRY_SECONDS = 5.0
"""How long the same rows are tried again before their writer gives up."""

BATCH = 256
"""Rows in one commit, at most."""

COPIED_BYTES = 8 * MIB
"""Raw copies in one commit; the record that reaches it ends its batch, which so stays within a statement's time."""

QUEUE = 10_000
"""Rows that may wait. Over it the database is slower than the calls, and new calls are refused."""

_FIRST_PAUSE = 0.02
_LONGEST_PAUSE = 0.5

Settle: TypeAlias = "Callable[[Writer, Sequence[Entry], str | None], None]"


class Writer:
    """One chain, one thread, one connection, one transaction at a time.

    Rows become durable in the order of their numbers. While one commit runs, everything that arrives waits
    and goes into the next, so the cost of a commit is shared by all callers who wait for it.

    A writer that fails is failed for good, because nobody knows whether its last batch is in the database:
    going on could fork the chain. The recorder opens another one with a new chain.

    Args:
        settle: called on the writer's thread with this writer, rows, and `None` when they are durable, or the
            reason when every one of them is given up.
        patience: seconds for which a failing batch is tried again.
        batch: rows in one commit.
    """

    def __init__(
        self, engine: sa.Engine, settle: Settle, *, patience: float = RETRY_SECONDS, batch: int = BATCH
    ) -> None:
        self._engine = engine
        self._insertion = Insertion(engine.dialect)
        self._copying = Insertion(engine.dialect, RAW)
        self._settle = settle
        self._patience = patience
        self._batch = batch
        self._chain = Chain()
        self._waiting: deque[Entry] = deque()
        self._changed = threading.Condition()
        self._closing = False
        self._failed: str | None = None
        self._connection: sa.Connection | None = None
        # A disk that hangs must not keep the process from ending; nobody was told that those rows are durable.
        self._thread = threading.Thread(target=self._work, name="sshfacts-record", daemon=True)
        self._thread.start()

    @property
    def id(self) -> str:
        """The identity of this writer and its chain."""
        return self._chain.writer

    def submit(self, body: JsonObject, copies: Sequence[Row] = ()) -> Entry:
        """Link `body` into the chain and queue it with its raw copies; `settle` tells what becomes of them.

        Raises:
            ValueError: the body is no record; nothing is queued.
            RecordUnavailable: the writer has failed, is closing, or its queue is full.
        """
        with self._changed:
            if self._failed is not None:
                raise RecordUnavailable(self._failed)
            if self._closing:
                raise RecordUnavailable("the recorder is closed")
            # The outcome of a call that ran is never turned away; the calls in flight bound how many come.
            if len(self._waiting) >= QUEUE and body.get("kind") != "outcome":
                raise RecordUnavailable("too many records wait for the database")
            entry = self._chain.link(body, copies)
            self._waiting.append(entry)
            self._changed.notify()
            return entry

    def close(self) -> None:
        """Take no more, make durable what waits, and end the thread. Blocks for as long as a retry may last."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(self._patience + 1)

    def _work(self) -> None:
        while entries := self._take():
            reason = self._make_durable(entries)
            if reason is None:
                self._settle(self, entries, None)
            else:
                self._settle(self, self._give_up(entries, reason), reason)
                break
        self._disconnect()

    def _take(self) -> list[Entry]:
        """Wait for rows and return the next batch; empty when closing and nothing waits."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closing)
            batch: list[Entry] = []
            copied = 0
            while self._waiting and len(batch) < self._batch and copied < COPIED_BYTES:
                batch.append(self._waiting.popleft())
                copied += batch[-1].copied_bytes
            return batch

    def _give_up(self, entries: list[Entry], reason: str) -> list[Entry]:
        with self._changed:
            self._failed = reason
            abandoned = [*entries, *self._waiting]
            self._waiting.clear()
            return abandoned

    def _make_durable(self, entries: Sequence[Entry]) -> str | None:
        """Commit these rows, trying again until the patience ends; return why not, or `None` when durable.

        A commit whose answer was lost may have landed. The rows stay the same in each try and are looked for
        first, and their numbers are unique, so they can neither be doubled nor be lost.
        """
        end = monotonic() + self._patience
        pause = _FIRST_PAUSE
        doubtful = False
        while True:
            try:
                self._commit(entries, doubtful=doubtful)
            except Exception as error:  # noqa: BLE001 - whatever breaks, those who wait must hear of it
                reason = reason_of(error)
            else:
                return None
            self._disconnect()
            if monotonic() + pause >= end:
                return reason
            sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
            doubtful = True

    def _commit(self, entries: Sequence[Entry], *, doubtful: bool) -> None:
        if self._connection is None:
            self._connection = self._engine.connect()
        # No context manager: rolling back over a broken connection would hide why it broke. What fails here is
        # followed by the end of the connection, and that rolls back as well.
        transaction = self._connection.begin()
        if not doubtful or last_seq(self._connection, self.id) < entries[-1].seq:
            self._insertion.execute(self._connection, [entry.row for entry in entries])
            if copies := [copy for entry in entries for copy in entry.copies]:
                self._copying.execute(self._connection, copies)
        transaction.commit()

    def _disconnect(self) -> None:
        """End the connection, which is broken or no longer needed; the next commit opens another."""
        if self._connection is None:
            return
        with suppress(*DATABASE_ERRORS):
            self._connection.invalidate()
            self._connection.close()
        self._connection = None


def last_seq(connection: sa.Connection, writer: str) -> int:
    """Return the highest number of this writer that is in the database, or -1."""
    found = connection.scalar(sa.select(sa.func.max(ENTRY.c.seq)).where(ENTRY.c.writer_id == writer))
    return -1 if found is None else int(found)
