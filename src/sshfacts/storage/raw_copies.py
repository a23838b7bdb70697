"""What becomes of raw copies after they are stored: one is read, removed when its time is over, or wrapped anew.

Each of the three is on record: reading and removing before it happens, wrapping anew in the same transaction.
All functions block.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

import sqlalchemy as sa

from sshfacts.errors import SshfactsError
from sshfacts.storage.canonical import rfc3339
from sshfacts.storage.engine import is_sqlite, reading, transaction
from sshfacts.storage.ledger import Actor, Change, change_once, record
from sshfacts.storage.queries import story
from sshfacts.storage.raw_keys import RawKey, RawKeyError
from sshfacts.storage.tables import RAW
from sshfacts.storage.vault import Reference, reveal, rewrap
from sshfacts.values import JsonObject, JsonValue

BATCH = 256
"""Copies that are removed, or wrapped anew, in one transaction."""

_CLOCKS_DIFFER = timedelta(seconds=1)  # the guard goes by the database's clock, on SQLite in whole seconds


class NoRawCopy(SshfactsError):
    """There is no copy to read; the text says why."""


@dataclass(frozen=True, slots=True)
class StoredCopy:
    """One row of `audit_raw`, without what is secret in it."""

    blob_id: str
    request_id: str
    stream: str
    retain_until: datetime
    kek_id: str


@dataclass(frozen=True, slots=True)
class KeyUse:
    """How many copies one key wraps, and until when."""

    key: str
    copies: int
    last_until: datetime


@dataclass(frozen=True, slots=True)
class Opened:
    """A copy that was read, with the story of its request."""

    plain: bytes
    reference: Reference
    story: list[JsonObject]


def reference_of(bodies: Sequence[JsonObject]) -> Reference | None:
    """Return what the records of one request say about its copy; `None` if none was kept.

    Raises:
        RawCopyError: a record of a later version says it in another way.
    """
    kept: list[JsonValue] = []
    for body in bodies:
        found = body.get("raw") if body.get("kind") == "outcome" else None
        kept += found if isinstance(found, list) else []
    return Reference.read(kept[0]) if kept else None


def open_copy(engine: sa.Engine, request_id: str, keys: Mapping[str, RawKey], by: Actor, purpose: str) -> Opened:
    """Return the copy of a request's output, after it is on record who reads it.

    Args:
        engine: opened for writing.
        keys: by name.
        purpose: `read` or `replay`.

    Raises:
        NoRawCopy: none was kept, or it is gone.
        RawCopyError: it is not the one that was recorded.
        RawKeyError: the key that wraps it is not there.
        RecordUnavailable: the reading cannot be recorded, so nothing is read.
        RecordAltered: a record of the request is not what its hash says.
    """
    reader = reading(engine)
    bodies = story(reader, request_id)
    reference = reference_of(bodies)
    if reference is None:
        raise NoRawCopy(_why_none(bodies))
    with transaction(reader) as connection:
        row = connection.execute(sa.select(RAW).where(RAW.c.blob_id == reference.blob_id)).mappings().one_or_none()
    if row is None:
        raise NoRawCopy("the copy of this request was removed")
    if row["kek_id"] not in keys:  # so that the record does not tell of a reading that could not be
        raise RawKeyError(f"the copy needs the key {row['kek_id']!a}, and its file is not in raw.key_files")
    record(engine, [_reading(bodies, request_id, reference, by, purpose)])
    return Opened(reveal(dict(row), request_id, reference, keys), reference, bodies)


def _why_none(bodies: Sequence[JsonObject]) -> str:
    if not bodies:
        return "no request with this id is in the record"
    left_out = next((body["raw_left_out"] for body in bodies if body.get("raw_left_out")), None)
    if left_out == "day_full":
        return "no copy was kept: those of that day had reached raw.per_day"
    if left_out == "late":
        return "no copy was kept: the database was away when the call ended"
    return "no copy of this request's output was kept"


def _reading(
    bodies: Sequence[JsonObject], request_id: str, reference: Reference, by: Actor, purpose: str
) -> JsonObject:
    return {
        "kind": "raw_read",
        "reason": purpose,
        "request_id": request_id,
        "operation": bodies[0].get("operation"),
        "host": bodies[0].get("host"),
        "blob_id": reference.blob_id,
        "stream": reference.stream,
        **by.as_json(),
    }


def due(engine: sa.Engine, now: datetime, limit: int) -> list[StoredCopy]:
    """Return copies whose time is over, those that are over for longest first.

    Args:
        engine: opened for reading.

    Raises:
        RecordUnavailable: the database cannot be read.
    """
    statement = (
        sa.select(*(RAW.c[name] for name in StoredCopy.__slots__))
        .where(RAW.c.retain_until <= now - _CLOCKS_DIFFER)
        .order_by(RAW.c.retain_until)
        .limit(limit)
    )
    with transaction(engine) as connection:
        return [StoredCopy(**row) for row in connection.execute(statement).mappings()]


def purge(engine: sa.Engine, now: datetime, by: Actor) -> Iterator[list[StoredCopy]]:
    """Remove the copies whose time is over, batch by batch, and yield what was removed.

    That they are removed is on record before. If the program ends in between, the next run removes them, and
    records it again.

    Args:
        engine: opened for writing.

    Raises:
        RecordUnavailable: the database cannot be written; what was yielded is gone.
    """
    reader = reading(engine)
    while copies := due(reader, now, BATCH):
        record(engine, [_purging(copy, by) for copy in copies])
        with transaction(engine) as connection:
            if is_sqlite(connection):
                connection.exec_driver_sql("PRAGMA secure_delete=ON")  # else the bytes stay in the file
            connection.execute(sa.delete(RAW).where(RAW.c.blob_id.in_([copy.blob_id for copy in copies])))
        yield copies


def _purging(copy: StoredCopy, by: Actor) -> JsonObject:
    return {
        "kind": "raw_purged",
        "request_id": copy.request_id,
        "blob_id": copy.blob_id,
        "stream": copy.stream,
        "retain_until": rfc3339(copy.retain_until),
        **by.as_json(),
    }


def key_uses(engine: sa.Engine) -> list[KeyUse]:
    """Return the keys that wrap copies, by name.

    Args:
        engine: opened for reading.

    Raises:
        RecordUnavailable: the database cannot be read.
    """
    columns = (RAW.c.kek_id, sa.func.count(), sa.func.max(RAW.c.retain_until, type_=RAW.c.retain_until.type))
    with transaction(engine) as connection:
        rows = connection.execute(sa.select(*columns).group_by(RAW.c.kek_id).order_by(RAW.c.kek_id))
        return [KeyUse(*row) for row in rows]


def rewrap_all(engine: sa.Engine, keys: Mapping[str, RawKey], by: Actor) -> Iterator[int]:
    """Wrap the keys of all copies by the first of `keys`, batch by batch, and yield how many that were.

    Args:
        engine: opened for writing.
        keys: by name; all that wrap copies must be there.

    Raises:
        RawKeyError: a key is missing; the batches before are wrapped anew.
        RawCopyError: a key does not open what it should.
        RecordUnavailable: the database cannot be written.
    """
    new = next(iter(keys.values()))
    reader = reading(engine)
    columns = (RAW.c.blob_id, RAW.c.kek_id, RAW.c.wrapped_dek)
    others = sa.select(*columns).where(RAW.c.kek_id != new.name).order_by(RAW.c.kek_id, RAW.c.blob_id).limit(BATCH)
    while True:
        with transaction(reader) as connection:
            rows = list(connection.execute(others))
        if not rows:
            return
        if missing := {row.kek_id for row in rows} - keys.keys():
            raise RawKeyError(f"copies need the key {min(missing)!a}, and its file is not in raw.key_files")
        wrapped = [
            {"of": row.blob_id, "dek": rewrap(bytes(row.wrapped_dek), row.blob_id, keys[row.kek_id], new)}
            for row in rows
        ]
        former = sorted({row.kek_id for row in rows})
        yield change_once(engine, partial(_rewrap, wrapped=wrapped, former=former, name=new.name, by=by))


def _rewrap(
    connection: sa.Connection, wrapped: Sequence[Mapping[str, object]], former: list[str], name: str, by: Actor
) -> Change[int]:
    statement = (
        sa.update(RAW)
        .where(RAW.c.blob_id == sa.bindparam("of"))
        .values(kek_id=name, wrapped_dek=sa.bindparam("dek", type_=RAW.c.wrapped_dek.type))
    )
    connection.execute(statement, [dict(one) for one in wrapped])
    names: list[JsonValue] = list(former)
    body: JsonObject = {"kind": "raw_rewrapped", "former": names, "key": name, "copies": len(wrapped), **by.as_json()}
    return Change(len(wrapped), [body])
