"""State that people and agents change, and the record of each change, in one transaction.

Tokens, approvals and pauses are rows that change. A change without its record would be an act that nobody can
see, and a record without its change a claim that is not true; a crash between two transactions leaves one of
them. Here both are one: what is in force is on record, and what is on record was in force.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import sqlalchemy as sa

from sshfacts.storage.chain import Chain, this_process
from sshfacts.storage.engine import transaction
from sshfacts.storage.insertion import Insertion
from sshfacts.values import JsonObject

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Actor:
    """Who changes something, for the record."""

    person: str | None
    """A person of `sshfacts.toml`, known by a token; `None` for an agent's call and for whoever owns the database."""
    door: str
    """Where the change came from, such as `cli.approvals`."""
    os_user: str | None = None
    """The operating system's user behind a command line."""

    def as_json(self) -> JsonObject:
        """Return the fields that each record of a change has."""
        return {"person": self.person, "door": self.door, "os_user": self.os_user}


@dataclass(frozen=True, slots=True)
class Change(Generic[T]):
    """What a change gave, and the bodies of its records; without a body nothing was changed."""

    result: T
    bodies: Sequence[JsonObject] = ()


class Ledger:
    """Carries out changes, each with its records in a chain of this ledger's own.

    The chain begins with the first change. One whose transaction fails is given up, because nobody knows
    whether its rows are in the database; the next change begins another.

    All methods block, and may be called by several threads.

    Args:
        engine: opened for writing.
        info: what the first record of each chain says about this process.
    """

    def __init__(self, engine: sa.Engine, info: JsonObject | None = None) -> None:
        self._engine = engine
        self._info = info or {}
        self._insertion = Insertion(engine.dialect)
        self._chain: Chain | None = None
        self._lock = threading.Lock()

    def change(self, apply: Callable[[sa.Connection], Change[T]]) -> T:
        """Run `apply` in a transaction, append the records that it returns, and commit both.

        Raises:
            RecordUnavailable: neither is known to be durable; nothing that depends on the change may happen.
            Exception: what `apply` raised; nothing was changed.
        """
        with self._lock:
            chain, self._chain = self._chain, None
            with transaction(self._engine) as connection:
                try:
                    done = apply(connection)
                except BaseException:
                    self._chain = chain  # Nothing of this chain was in the transaction that is rolled back.
                    raise
                if done.bodies:
                    chain = self._append(connection, chain, done.bodies)
            self._chain = chain
            return done.result

    def close(self) -> None:
        """End the chain, if one was begun, with its last record.

        Raises:
            RecordUnavailable: the last record could not be written; the changes before it are durable.
        """
        with self._lock:
            chain, self._chain = self._chain, None
            if chain is not None:
                with transaction(self._engine) as connection:
                    self._insertion.execute(connection, [chain.link({"kind": "writer_stop"}).row])

    def _append(self, connection: sa.Connection, chain: Chain | None, bodies: Sequence[JsonObject]) -> Chain:
        begun, start = (Chain(), [_start(self._info)]) if chain is None else (chain, [])
        self._insertion.execute(connection, [begun.link(body).row for body in (*start, *bodies)])
        return begun


def change_once(engine: sa.Engine, apply: Callable[[sa.Connection], Change[T]], info: JsonObject | None = None) -> T:
    """Carry out one change as `Ledger.change` does, with a whole chain for it in the same transaction.

    Raises:
        RecordUnavailable: nothing is known to be durable.
        Exception: what `apply` raised; nothing was changed.
    """
    with transaction(engine) as connection:
        done = apply(connection)
        if done.bodies:
            chain = Chain()
            stop: JsonObject = {"kind": "writer_stop"}
            bodies = [_start(info or {}), *done.bodies, stop]
            Insertion(engine.dialect).execute(connection, [chain.link(body).row for body in bodies])
    return done.result


def record(engine: sa.Engine, bodies: Sequence[JsonObject]) -> None:
    """Record what is about to happen; it may as soon as this returns.

    Raises:
        RecordUnavailable: nothing is known to be durable, so nothing may happen.
    """
    change_once(engine, lambda _: Change(None, bodies))


def _start(info: JsonObject) -> JsonObject:
    return {**info, "kind": "writer_start", **this_process()}
