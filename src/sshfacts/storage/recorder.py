"""The recorder: what the service hands a record to, and waits on until it is durable."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import sqlalchemy as sa

from sshfacts.storage.chain import Entry, Row, this_process
from sshfacts.storage.engine import open_for_writing, prepare
from sshfacts.storage.late import LateOutcomes
from sshfacts.storage.unavailable import RecordUnavailable
from sshfacts.storage.writer import BATCH, RETRY_SECONDS, Writer
from sshfacts.values import JsonObject

__all__ = ["RecordUnavailable", "Recorder", "open_recorder"]

REOPEN_SECONDS = 1.0
"""The pause between two attempts to open a new writer after one failed."""

_HANG_SECONDS = 1.0  # over the writer's patience: then the disk or the network hangs inside one statement

_NO_ANSWER = "the database does not answer"

_LOG = logging.getLogger(__name__)


class Recorder:
    """Appends records for the life of the service, over as many writers as it takes.

    When the database fails for longer than the writer's patience, everybody who waits gets
    `RecordUnavailable`, and so does everybody who comes, at once, until the database takes a new writer's
    first record. Outcomes that could not be written are kept, and appended to the new chain with
    `late: true`: the command has run, and the record must say how it ended.

    An intent that was given up may be in the database all the same, if only the answer to its commit was
    lost. It is then an open intent, which means *may have run*, and is closed as an orphan.

    All methods belong to the event loop that called `open`.
    """

    def __init__(
        self, engine: sa.Engine, info: JsonObject, *, patience: float = RETRY_SECONDS, batch: int = BATCH
    ) -> None:
        self._engine = engine
        self._info = info
        self._patience = patience
        self._batch = batch
        self._writer: Writer | None = None
        self._reason = "the recorder is not open"
        self._closed = False
        self._waiters: dict[bytes, asyncio.Future[str | None]] = {}
        self._late = LateOutcomes()
        self._reopening: asyncio.Task[None] | None = None

    @property
    def engine(self) -> sa.Engine:
        """The engine that records are written with; state that belongs to them stands in the same database."""
        return self._engine

    @property
    def available(self) -> bool:
        """Whether records are taken now; the service is not ready while they are not."""
        return self._writer is not None

    async def open(self) -> None:
        """Start the first writer and make its first record durable.

        Raises:
            RecordUnavailable: the database cannot be written.
        """
        self._writer = await self._new_writer({})

    async def append(self, body: JsonObject, copies: Sequence[Row] = ()) -> bytes:
        """Make one record durable and return its leaf hash.

        Cancelling the caller does not take the record back: it is in the chain as soon as this is awaited.

        Args:
            copies: rows of `audit_raw` that the body refers to; they are durable with it, or not at all.

        Raises:
            RecordUnavailable: it is not known to be durable; nothing that depends on it may happen.
            ValueError: `body` is no record, which is a fault of the program.
        """
        try:
            entry, waiter = self._submit(self._require_writer(), body, copies)
        except RecordUnavailable:
            self._late.keep(body)
            raise
        await self._settled(waiter)
        return entry.leaf_hash

    async def close(self) -> None:
        """Make durable what waits, end the chain with its last record, and end the writer."""
        self._closed = True
        if self._reopening is not None:
            self._reopening.cancel()
            await asyncio.wait([self._reopening])
        if self._writer is not None:
            await self._record_late()
            try:
                await self.append({"kind": "writer_stop"})
            except RecordUnavailable as error:
                _LOG.warning("the last record of this writer is missing: %s", error.reason)
        if self._writer is not None:
            await asyncio.to_thread(self._writer.close)
        self._writer, self._reason = None, "the recorder is closed"
        if self._late:
            _LOG.error("%d outcomes were not recorded; their calls stay open intents", len(self._late))

    async def _new_writer(self, more: JsonObject) -> Writer:
        """Return a writer whose first record is durable.

        Raises:
            RecordUnavailable: it could not be written.
        """
        loop = asyncio.get_running_loop()

        def settle(writer: Writer, entries: Sequence[Entry], reason: str | None) -> None:
            loop.call_soon_threadsafe(self._settle, writer, entries, reason)

        writer = Writer(self._engine, settle, patience=self._patience, batch=self._batch)
        try:
            _, waiter = self._submit(writer, {**self._info, "kind": "writer_start", **this_process(), **more})
            await self._settled(waiter)
        except BaseException:  # A cancelled opening, too, must not leave a thread behind.
            await asyncio.to_thread(writer.close)
            raise
        return writer

    def _submit(
        self, writer: Writer, body: JsonObject, copies: Sequence[Row] = ()
    ) -> tuple[Entry, asyncio.Future[str | None]]:
        entry = writer.submit(body, copies)
        waiter: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._waiters[entry.leaf_hash] = waiter
        return entry, waiter

    async def _settled(self, waiter: asyncio.Future[str | None]) -> None:
        # A timer is a third of the cost of `asyncio.wait`, which this wait for a fast disk would notice.
        timer = asyncio.get_running_loop().call_later(self._patience + _HANG_SECONDS, _answer, waiter, _NO_ANSWER)
        try:
            reason = await waiter
        finally:
            timer.cancel()
        if reason is not None:
            raise RecordUnavailable(reason)

    def _settle(self, writer: Writer, entries: Sequence[Entry], reason: str | None) -> None:
        """Tell those who wait what became of their rows; runs on the event loop."""
        for entry in entries:
            _answer(self._waiters.pop(entry.leaf_hash), reason)
        if reason is None or writer is not self._writer:
            return
        self._writer, self._reason = None, reason
        _LOG.error("the record is unavailable: %s; %d records were given up", reason, len(entries))
        self._late.keep_abandoned(writer.id, entries)
        if not self._closed:
            self._reopening = asyncio.create_task(self._reopen(writer), name="sshfacts-record-reopen")

    async def _reopen(self, failed: Writer) -> None:
        while self._writer is None:
            await asyncio.sleep(REOPEN_SECONDS)
            try:
                self._writer = await self._new_writer({"after": failed.id})
            except RecordUnavailable as error:
                self._reason = error.reason
        _LOG.warning("the record is available again, with a new writer")
        await self._record_late()

    async def _record_late(self) -> None:
        """Append the outcomes that were kept, but for those that are in the database after all."""
        if not self._late:
            return
        landed = await asyncio.to_thread(self._late.landed, self._engine)
        for body in self._late.take(landed):
            try:
                self._submit(self._require_writer(), body)
            except RecordUnavailable:
                self._late.keep(body)

    def _require_writer(self) -> Writer:
        if self._writer is None:
            raise RecordUnavailable(self._reason)
        return self._writer


@asynccontextmanager
async def open_recorder(
    url: str, info: JsonObject | None = None, *, patience: float = RETRY_SECONDS, batch: int = BATCH
) -> AsyncIterator[Recorder]:
    """Open the database at `url`, made anew if there is none, and give a recorder on it.

    Args:
        info: what the first record of each writer says about this service, such as its version and the
            digest of its catalogue.
        patience: seconds for which a failing commit is tried again.
        batch: rows in one commit, at most.

    Raises:
        RecordUnavailable: the database cannot be written.
        UsageError: the URL names no database that can hold a record.
    """
    engine = open_for_writing(url)
    await asyncio.to_thread(prepare, engine)
    recorder = Recorder(engine, info or {}, patience=patience, batch=batch)
    await recorder.open()
    try:
        yield recorder
    finally:
        await recorder.close()


def _answer(waiter: asyncio.Future[str | None], reason: str | None) -> None:
    if not waiter.done():  # its caller may have been cancelled, or have been told that nothing answers
        waiter.set_result(reason)
