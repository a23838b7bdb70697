"""The sealer: gives records their place in the log, and signs checkpoints over it.

One pass does, in this order: give unsealed records their place; check that the log still begins with what was
signed last; sign; remember the checkpoint in the state file; store it; publish it. It may be cut off after any of
these: places are never given twice, and a checkpoint that was signed and not stored is only ever extended.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic

import sqlalchemy as sa

from sshfacts.errors import SshfactsError
from sshfacts.storage.checkpoint import Checkpoint, open_checkpoint
from sshfacts.storage.engine import open_for_reading, open_for_writing, transaction
from sshfacts.storage.integration import integrate
from sshfacts.storage.merkle import ProofError, consistency_proof, verify_consistency
from sshfacts.storage.note import NoteError, PublicKey, SigningKey
from sshfacts.storage.publication import Publish, Published
from sshfacts.storage.sealer_state import SealerState, StateError
from sshfacts.storage.signing_keys import KeyFile, KeyFileError
from sshfacts.storage.stored_tree import StoredTree, newest_note, tree_size
from sshfacts.storage.tables import CHECKPOINT
from sshfacts.storage.unavailable import RecordUnavailable

THOROUGH_SECONDS = 3_600.0
"""How often a pass looks at every record without a place, and not only at the newest ones."""

_LOG = logging.getLogger(__name__)


class RolledBack(SshfactsError):
    """The database no longer begins with what was signed: it was restored, failed over to a lagging copy, or altered.

    Nothing is signed until a person has found out which. Recording goes on.
    """


@dataclass(frozen=True, slots=True)
class Log:
    """One log: where its records are, and what signs for it."""

    database_url: str
    origin: str
    """Its name, unique to this database. The keys have the same name."""
    key_file: Path
    state_file: Path


@dataclass(frozen=True, slots=True)
class Sealed:
    """What one pass did."""

    checkpoint: Checkpoint
    note: str
    added: int
    """Records that got their place."""
    gaps: tuple[str, ...]
    """What is missing in the chains of writers, in words. Sealing goes on, or more records would be unprotected."""


class Sealer:
    """Seals one log, pass by pass. Its methods block; one pass runs at a time, in whatever process.

    Args:
        publish: where each new checkpoint goes. The first pass of a sealer publishes the newest one again, since
            the pass that made it may have been cut off.
        now: the clock, aware.
    """

    def __init__(
        self, log: Log, publish: Sequence[Publish] = (), now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._log = log
        self._publish = publish
        self._now = now
        self._reader = open_for_reading(log.database_url)
        self._writer = open_for_writing(log.database_url)
        self._state = SealerState(log.state_file)
        self._keys = KeyFile(log.key_file)
        self._thorough_at = float("-inf")
        self._published = 0
        self.problem: str | None = None
        """Why the last pass failed, for readiness and logs; `None` if it did not."""

    def seal(self) -> Sealed | None:
        """Seal what is there, and return the checkpoint over it; `None` if nothing is new.

        Raises:
            RolledBack: the log is not the one that was signed.
            RecordAltered: a record changed before it was sealed.
            RecordUnavailable: the database cannot be read or written.
            KeyFileError, StateError: the files of the sealer cannot be used.
        """
        try:
            with self._state.locked():
                sealed = self._pass()
        except SshfactsError as error:
            self.problem = str(error)
            raise
        finally:
            self._reader.dispose()  # no session waits on a server from one pass to the next
        self.problem = None
        return sealed

    def adopt(self, note: str) -> None:
        """Take a checkpoint that was kept elsewhere as what was signed last, where there is no state.

        Raises:
            NoteError: it is not signed by a key of this log.
            StateError: there is a state already, or it cannot be written.
            KeyFileError: the signing keys cannot be used.
        """
        with self._state.locked():
            if self._state.read() is not None:
                raise StateError("this sealer has a state already, and keeps it")
            self._opened(note, [key.public for key in self._signers()])
            self._state.write(note)

    def _pass(self) -> Sealed | None:
        keys = self._signers()
        signed = self._last_signed(keys)
        added, gaps = self._integrate()
        with transaction(self._reader) as connection:
            size = tree_size(connection)
            if size == 0 or (signed is not None and size == signed.size == self._published):
                return None
            is_stored = _is_stored(connection, size)
            checkpoint = self._extending(signed, StoredTree(connection, size))
        note = checkpoint.sign(keys)
        self._state.write(note)
        at = self._now()
        if not is_stored:
            self._store(checkpoint, note, at)
        self._announce(Published(checkpoint, note, at))
        return Sealed(checkpoint, note, added, gaps)

    def _signers(self) -> list[SigningKey]:
        """Return the keys, read anew for each pass, so that a rotation needs no restart."""
        keys = self._keys.read()
        if any(key.public.name != self._log.origin for key in keys):
            raise KeyFileError(f"a signing key is not one of the log {self._log.origin}")
        return keys

    def _integrate(self) -> tuple[int, tuple[str, ...]]:
        thorough = monotonic() - self._thorough_at >= THOROUGH_SECONDS
        begun = monotonic()
        added = 0
        gaps: tuple[str, ...] = ()
        while True:
            batch = integrate(self._reader, self._writer, thorough=thorough)
            if thorough:
                self._thorough_at, thorough = begun, False
            added, gaps = added + batch.added, gaps + batch.gaps
            if not batch.added:
                break
        for gap in gaps:
            _LOG.error("the record has a gap: %s", gap)
        return added, gaps

    def _last_signed(self, keys: Sequence[SigningKey]) -> Checkpoint | None:
        """Return what was signed last, by the state file; `None` if nothing ever was.

        Raises:
            RolledBack: the database has fewer records, or the state is missing.
        """
        note = self._state.read()
        signed = None if note is None else self._opened(note, [key.public for key in keys])
        with transaction(self._reader) as connection:
            size, is_sealed = tree_size(connection), newest_note(connection) is not None
        if signed is None and is_sealed:
            raise RolledBack(
                "the sealer's state is missing, and the log was sealed before; "
                "give it the newest checkpoint that was kept elsewhere, with `sshfacts audit seal --trusted FILE`"
            )
        # Before anything gets a place: a log that was cut off is evidence, and not to be continued.
        if signed is not None and signed.size > size:
            raise RolledBack(f"{signed.size} records were signed, and the database has {size}")
        return signed

    def _opened(self, note: str, keys: Sequence[PublicKey]) -> Checkpoint:
        checkpoint = open_checkpoint(note, keys)
        if checkpoint.origin != self._log.origin:
            raise NoteError(f"a checkpoint is not one of the log {self._log.origin}")
        return checkpoint

    def _extending(self, signed: Checkpoint | None, tree: StoredTree) -> Checkpoint:
        """Return the checkpoint of `tree`, which begins with what was signed last.

        Raises:
            RolledBack: it does not.
        """
        checkpoint = Checkpoint(self._log.origin, tree.size, tree.root())
        if signed is None:
            return checkpoint
        proof = consistency_proof(tree.node, signed.size, tree.size)
        try:
            verify_consistency(signed.size, tree.size, signed.root, checkpoint.root, proof)
        except ProofError:
            raise RolledBack(f"the first {signed.size} records are not those that were signed") from None
        return checkpoint

    def _store(self, checkpoint: Checkpoint, note: str, at: datetime) -> None:
        row = {"tree_size": checkpoint.size, "root_hash": checkpoint.root, "note": note, "at": at}
        try:
            with transaction(self._writer) as connection:
                connection.execute(sa.insert(CHECKPOINT).inline(), [row])
        except RecordUnavailable:
            # Another sealer may have stored one of this size; both proved that it extends what they signed.
            with transaction(self._reader) as connection:
                if not _is_stored(connection, checkpoint.size):
                    raise

    def _announce(self, published: Published) -> None:
        for publish in self._publish:
            try:
                publish(published)
            except OSError as error:
                _LOG.error("a checkpoint could not be published: %s", type(error).__name__)
        self._published = published.checkpoint.size


def _is_stored(connection: sa.Connection, size: int) -> bool:
    found = connection.scalar(sa.select(CHECKPOINT.c.tree_size).where(CHECKPOINT.c.tree_size == size))
    return found is not None


async def seal_forever(sealer: Sealer, interval: float) -> None:
    """Run a pass every `interval` seconds, until cancelled. A pass that fails is told once, and tried again."""
    told: str | None = None
    while True:
        await asyncio.sleep(interval)
        try:
            await asyncio.to_thread(sealer.seal)
        except SshfactsError as error:
            if str(error) != told:
                _LOG.error("sealing fails: %s", error)
        if told is not None and sealer.problem is None:
            _LOG.warning("sealing works again")
        told = sealer.problem


@asynccontextmanager
async def sealing(sealer: Sealer, interval: float) -> AsyncIterator[None]:
    """Seal for as long as the body runs, and once more at its end.

    A service opens its recorder inside, so that the last records of its chain are sealed too.
    """
    passes = asyncio.create_task(seal_forever(sealer, interval), name="sshfacts-sealer")
    try:
        yield
    finally:
        passes.cancel()
        await asyncio.wait([passes])
        try:
            await asyncio.to_thread(sealer.seal)
        except SshfactsError as error:
            _LOG.error("the last records were not sealed: %s", error)
