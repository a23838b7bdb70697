"""Logs of every kind of call in several chains, what seals them, and what a database's owner can do to them."""

import random
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

import sqlalchemy as sa

from sshfacts.storage.canonical import timestamp
from sshfacts.storage.chain import Chain, Row
from sshfacts.storage.checkpoint import Checkpoint
from sshfacts.storage.engine import open_for_reading, open_for_writing, prepare, transaction
from sshfacts.storage.insertion import Insertion
from sshfacts.storage.note import PublicKey, SigningKey
from sshfacts.storage.report import Progress, Report, unseen
from sshfacts.storage.sealer import Log, Sealed, Sealer
from sshfacts.storage.signing_keys import KeyFile
from sshfacts.storage.verify_database import verify_database
from sshfacts.values import JsonObject
from tests.support.records import intent, outcome, refused, url_of

ORIGIN = "sshfacts.example/test"
KEY = SigningKey(ORIGIN, bytes(range(32)))
BEGIN = datetime(2026, 11, 30, 10, tzinfo=UTC)
"""When the first record was written; each call is a second later than the one before."""

NOW = BEGIN + timedelta(days=1)
"""When sealers seal and verifiers verify. Calls with a number over 100,000 are later."""

WRITERS = 3
"""Chains that are written at the same time."""


@dataclass(frozen=True)
class SealedRecord:
    """A database with what seals it."""

    folder: Path
    """Holds the key and the state of the sealer, and on SQLite the database."""
    url: str
    """For the service. On SQLite all logins are one."""
    owner_url: str
    """For who can do everything to the database, and switch its guards off."""
    sealer_url: str
    auditor_url: str

    @property
    def log(self) -> Log:
        return Log(self.sealer_url, ORIGIN, self.folder / "key", self.folder / "state")

    def sealer(self) -> Sealer:
        return Sealer(self.log, now=lambda: NOW)

    def seal(self) -> Sealed:
        """Seal in one pass of a new sealer."""
        sealed = self.sealer().seal()
        assert sealed is not None
        return sealed

    def append(self, rows: Sequence[Row]) -> None:
        engine = open_for_writing(self.url)
        with transaction(engine) as connection:
            Insertion(engine.dialect).execute(connection, rows)

    def verify(
        self,
        trusted: Checkpoint | None = None,
        keys: Sequence[PublicKey] = (KEY.public,),
        now: datetime = NOW,
        progress: Progress = unseen,
    ) -> Report:
        engine = open_for_reading(self.auditor_url)
        report = verify_database(engine, keys, trusted, now=now, progress=progress)
        engine.dispose()
        return report

    @contextmanager
    def unguarded(self) -> Iterator[sa.Connection]:
        """Give a connection of the database's owner, with every guard switched off."""
        # None of the product's settings: on SQLite they would have foreign keys checked.
        engine = sa.create_engine(sa.make_url(self.owner_url))
        with engine.begin() as connection:
            _drop_guards(connection)
            yield connection
        engine.dispose()


def sqlite(folder: Path) -> SealedRecord:
    """Return the record whose database and key are in a folder."""
    url = url_of(folder / "audit.db")
    return SealedRecord(folder, url, url, url, url)


def new_sqlite(folder: Path) -> SealedRecord:
    """Make a database without records, and a key."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "audit.db").write_bytes(_empty_database())
    KeyFile(folder / "key").write([KEY])
    return sqlite(folder)


@cache
def _empty_database() -> bytes:
    """The file of a database without records; a migration for each test would take longer than the tests."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "audit.db"
        prepare(open_for_writing(url_of(path)))
        return path.read_bytes()


def copy_sqlite(record: SealedRecord, folder: Path) -> SealedRecord:
    """Copy a database that nothing has open, with its key and state."""
    return sqlite(Path(shutil.copytree(record.folder, folder)))


def rows_of_calls(calls: int, *, writers: int = WRITERS, first: int = 0) -> list[Row]:
    """Return the rows of so many calls of every kind, in chains that take turns.

    Args:
        first: the number of the first call, by which its request id and its time are told.
    """
    chains = [Chain() for _ in range(writers)]
    start = BEGIN.timestamp()
    rows = [chain.link({"kind": "writer_start", "at": _at(start + first)}).row for chain in chains]
    choice = random.Random(first)  # noqa: S311 - keeps no secret
    for number in range(first, first + calls):
        chain = choice.choice(chains)
        rows += _call(chain, number, start + number)
    return rows


def _call(chain: Chain, number: int, seconds: float) -> list[Row]:
    """Return the rows of one call: most end well, and each tenth or so in another way."""
    request, at, then = f"req.{number:08}", _at(seconds), _at(seconds + 0.5)
    match number % 10:
        case 3:
            return [chain.link(refused(request, at=at)).row]
        case 5:
            first = chain.link(intent(request, at=at, effect="change"))
            started = chain.link(_started(request, at, first.leaf_hash))
            return [first.row, started.row, chain.link(outcome(first.leaf_hash, request, at=then)).row]
        case 7:
            first = chain.link(intent(request, at=at))
            orphan: JsonObject = {"kind": "orphan", "at": then, "request_id": request, "intent": first.leaf_hash.hex()}
            return [first.row, chain.link(orphan).row]
        case 9:
            first = chain.link(intent(request, at=at))
            body = outcome(first.leaf_hash, request, at=then, code="TIMEOUT", stage="run", detail="timeout.run")
            return [first.row, chain.link({**body, "late": True}).row]
        case _:
            first = chain.link(intent(request, at=at))
            return [first.row, chain.link(outcome(first.leaf_hash, request, at=then)).row]


def _started(request: str, at: str, leaf: bytes) -> JsonObject:
    return {"kind": "started", "at": at, "request_id": request, "intent": leaf.hex()}


def _at(seconds: float) -> str:
    return timestamp(round(seconds * 1_000_000))


def _drop_guards(connection: sa.Connection) -> None:
    if connection.dialect.name == "sqlite":
        triggers = connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'trigger'").scalars().all()
        for name in triggers:
            connection.exec_driver_sql(f"DROP TRIGGER {name}")
    else:
        for table in ("audit_entry", "audit_leaf", "audit_tile", "audit_checkpoint", "audit_raw"):
            connection.exec_driver_sql(f"ALTER TABLE {table} DISABLE TRIGGER ALL")
