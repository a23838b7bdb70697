"""What whoever owns a database can do to a sealed record, its guards switched off, and what a verification says.

Each attack is a function of a connection that changes a record of some hundred leaves, in statements that every
database knows. `SEEN` are found without help; `roll_back` only with a checkpoint that was kept elsewhere.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import sqlalchemy as sa

from sshfacts.storage.canonical import dumps, leaf_hash
from sshfacts.storage.checkpoint import Checkpoint
from sshfacts.storage.note import SigningKey
from sshfacts.storage.projection import project
from sshfacts.storage.tables import CHECKPOINT, ENTRY, LEAF, TILE
from sshfacts.values import JsonObject
from tests.support.sealed import ORIGIN

Attack: TypeAlias = Callable[[sa.Connection], None]

TARGET = 200
"""The leaf that is attacked: in the first full tile, and under the first of two checkpoints."""

OTHER = bytes(31) + b"\x01"


def _target(connection: sa.Connection, leaf: int = TARGET) -> sa.Row[*tuple[Any, ...]]:
    found = sa.select(ENTRY).join(LEAF, LEAF.c.entry_id == ENTRY.c.id).where(LEAF.c.leaf_index == leaf)
    return connection.execute(found).one()


def _set(connection: sa.Connection, entry_id: int, **values: object) -> None:
    connection.execute(sa.update(ENTRY).where(ENTRY.c.id == entry_id).values(**values))


def _set_leaf(connection: sa.Connection, entry_id: int, hashed: bytes) -> None:
    connection.execute(sa.update(LEAF).where(LEAF.c.entry_id == entry_id).values(leaf_hash=hashed))


def _altered(row: sa.Row[*tuple[Any, ...]]) -> JsonObject:
    body: JsonObject = json.loads(row.body)
    return {**body, "at": "2026-11-30T09:00:00.000000Z"}


def _remove(connection: sa.Connection, leaves: sa.ColumnElement[bool]) -> None:
    ids = connection.scalars(sa.select(LEAF.c.entry_id).where(leaves)).all()
    connection.execute(sa.delete(LEAF).where(leaves))
    connection.execute(sa.delete(ENTRY).where(ENTRY.c.id.in_(ids)))


def _renumber(connection: sa.Connection) -> None:
    """Close the gaps between leaves."""
    places = connection.scalars(sa.select(LEAF.c.leaf_index).order_by(LEAF.c.leaf_index)).all()
    for place, leaf in enumerate(places):
        if place != leaf:
            connection.execute(sa.update(LEAF).where(LEAF.c.leaf_index == leaf).values(leaf_index=place))


def edit_body(connection: sa.Connection) -> None:
    row = _target(connection)
    _set(connection, row.id, body=dumps(_altered(row)).decode())


def edit_body_and_its_hash(connection: sa.Connection) -> None:
    row = _target(connection)
    data = dumps(_altered(row))
    _set(connection, row.id, body=data.decode(), leaf_hash=leaf_hash(data))


def edit_body_hashes_and_columns(connection: sa.Connection) -> None:
    row = _target(connection)
    body = _altered(row)
    hashed = leaf_hash(dumps(body))
    _set(connection, row.id, body=dumps(body).decode(), leaf_hash=hashed, **project(body))
    _set_leaf(connection, row.id, hashed)


def edit_everything_but_the_signature(connection: sa.Connection) -> None:
    edit_body_hashes_and_columns(connection)
    connection.execute(sa.delete(TILE))
    connection.execute(sa.update(CHECKPOINT).values(root_hash=OTHER))


def edit_the_hash_of_an_entry(connection: sa.Connection) -> None:
    _set(connection, _target(connection).id, leaf_hash=OTHER)


def edit_the_hash_of_a_leaf(connection: sa.Connection) -> None:
    _set_leaf(connection, _target(connection).id, OTHER)


def edit_body_into_another_form(connection: sa.Connection) -> None:
    """The same value in another form, with both hashes of it."""
    row = _target(connection)
    text = json.dumps(json.loads(row.body))
    hashed = leaf_hash(text.encode())
    _set(connection, row.id, body=text, leaf_hash=hashed)
    _set_leaf(connection, row.id, hashed)


def delete_a_record(connection: sa.Connection) -> None:
    _remove(connection, LEAF.c.leaf_index == TARGET)


def delete_a_record_and_close_the_gap(connection: sa.Connection) -> None:
    delete_a_record(connection)
    _renumber(connection)


def delete_an_entry_and_leave_its_leaf(connection: sa.Connection) -> None:
    connection.execute(sa.delete(ENTRY).where(ENTRY.c.id == _target(connection).id))


def swap_two_records(connection: sa.Connection) -> None:
    """Two neighbours of one writer, so that the chain tells it as well."""
    writer = _target(connection).writer_id
    joined = LEAF.join(ENTRY, ENTRY.c.id == LEAF.c.entry_id)
    found = sa.select(LEAF).select_from(joined).where(ENTRY.c.writer_id == writer, LEAF.c.leaf_index >= TARGET)
    one, two = connection.execute(found.order_by(LEAF.c.leaf_index).limit(2)).all()
    connection.execute(sa.delete(LEAF).where(LEAF.c.leaf_index.in_([one.leaf_index, two.leaf_index])))
    columns = ("leaf_index", "entry_id", "leaf_hash")
    for place, row in ((one.leaf_index, two), (two.leaf_index, one)):
        values = dict(zip(columns, (place, row.entry_id, row.leaf_hash), strict=True))
        connection.execute(sa.insert(LEAF).values(**values))


def delete_a_writer(connection: sa.Connection) -> None:
    writer = _target(connection).writer_id
    ids = sa.select(ENTRY.c.id).where(ENTRY.c.writer_id == writer)
    _remove(connection, LEAF.c.entry_id.in_(connection.scalars(ids).all()))


def delete_a_writer_and_close_the_gaps(connection: sa.Connection) -> None:
    delete_a_writer(connection)
    _renumber(connection)


def cut_the_end(connection: sa.Connection) -> None:
    last = connection.scalar(sa.select(sa.func.max(LEAF.c.leaf_index)))
    assert last is not None
    _remove(connection, LEAF.c.leaf_index > last - 50)


def roll_back(connection: sa.Connection) -> None:
    """Bring every table to what it was at the first checkpoint, as a restored backup does."""
    size = connection.scalar(sa.select(sa.func.min(CHECKPOINT.c.tree_size)))
    assert size is not None
    connection.execute(sa.delete(CHECKPOINT).where(CHECKPOINT.c.tree_size > size))
    _remove(connection, LEAF.c.leaf_index >= size)
    for level in range(3):
        full = size >> 8 * (level + 1)
        connection.execute(sa.delete(TILE).where(TILE.c.level == level, TILE.c.idx >= full))


def forge_the_newest_checkpoint(connection: sa.Connection) -> None:
    size = connection.scalar(sa.select(sa.func.max(CHECKPOINT.c.tree_size)))
    assert size is not None
    note = Checkpoint(ORIGIN, size, OTHER).sign([SigningKey.generate(ORIGIN)])
    values = {"note": note, "root_hash": OTHER}
    connection.execute(sa.update(CHECKPOINT).where(CHECKPOINT.c.tree_size == size).values(values))


def forge_an_old_checkpoint(connection: sa.Connection) -> None:
    size = connection.scalar(sa.select(sa.func.min(CHECKPOINT.c.tree_size)))
    assert size is not None
    note = Checkpoint(ORIGIN, size, OTHER).sign([SigningKey.generate(ORIGIN)])
    values = {"note": note, "root_hash": OTHER}
    connection.execute(sa.update(CHECKPOINT).where(CHECKPOINT.c.tree_size == size).values(values))


def garble_an_old_checkpoint(connection: sa.Connection) -> None:
    size = connection.scalar(sa.select(sa.func.min(CHECKPOINT.c.tree_size)))
    connection.execute(sa.update(CHECKPOINT).where(CHECKPOINT.c.tree_size == size).values(note="no note\n"))


def edit_the_columns_of_a_checkpoint(connection: sa.Connection) -> None:
    size = connection.scalar(sa.select(sa.func.min(CHECKPOINT.c.tree_size)))
    connection.execute(sa.update(CHECKPOINT).where(CHECKPOINT.c.tree_size == size).values(root_hash=OTHER))


def delete_all_checkpoints(connection: sa.Connection) -> None:
    connection.execute(sa.delete(CHECKPOINT))


def edit_a_tile(connection: sa.Connection) -> None:
    connection.execute(sa.update(TILE).where(TILE.c.level == 0, TILE.c.idx == 1).values(hashes=OTHER * 256))


def delete_a_tile(connection: sa.Connection) -> None:
    connection.execute(sa.delete(TILE).where(TILE.c.level == 0, TILE.c.idx == 1))


def add_a_tile(connection: sa.Connection) -> None:
    connection.execute(sa.insert(TILE).values(level=0, idx=10_000, hashes=OTHER * 256))


def insert_a_record_of_the_past(connection: sa.Connection) -> None:
    """A writer of its own with a second intent for a request that is in the record."""
    copied = {name: value for name, value in _target(connection)._mapping.items() if name != "id"}
    start: JsonObject = {"v": 1, "kind": "writer_start", "at": "2026-11-30T09:00:00.000000Z"}
    previous = bytes(32)
    for seq, given in enumerate((start, _intent_like(connection))):
        body: JsonObject = {**given, "writer": "ab" * 16, "seq": seq, "prev": previous.hex()}
        data = dumps(body)
        previous = leaf_hash(data)
        own = {"writer_id": "ab" * 16, "seq": seq, "body": data.decode(), "leaf_hash": previous}
        connection.execute(sa.insert(ENTRY).values({**copied, **project(body), **own}))


def _intent_like(connection: sa.Connection) -> JsonObject:
    text = connection.scalar(sa.select(ENTRY.c.body).where(ENTRY.c.kind == "intent").order_by(ENTRY.c.id).limit(1))
    body: JsonObject = json.loads(str(text))
    return body


SEEN: Mapping[Attack, str] = {
    edit_body: "leaf 200: the body or a hash of entry .* was changed",
    edit_body_and_its_hash: "leaf 200: the body or a hash of entry .* was changed",
    edit_body_hashes_and_columns: "the stored checkpoint of .* was signed over other records",
    edit_everything_but_the_signature: "the stored checkpoint of .* is not what its columns say",
    edit_the_hash_of_an_entry: "leaf 200: the body or a hash of entry .* was changed",
    edit_the_hash_of_a_leaf: "leaf 200: the body or a hash of entry .* was changed",
    edit_body_into_another_form: "leaf 200: the body is not in canonical form",
    delete_a_record: "leaf 200 is missing",
    delete_a_record_and_close_the_gap: "writer .* jumps from record",
    delete_an_entry_and_leave_its_leaf: "leaf 200: its record was removed",
    swap_two_records: "writer .* jumps from record",
    delete_a_writer: "leaf .* is missing",
    delete_a_writer_and_close_the_gaps: "was signed over other records",
    cut_the_end: "the newest checkpoint has .* records, and the log",
    forge_the_newest_checkpoint: "the newest checkpoint: the note is not signed by a key that was given",
    forge_an_old_checkpoint: "the stored checkpoint of .* was signed over other records",
    garble_an_old_checkpoint: "the stored checkpoint of .* is wrong: the note is malformed",
    edit_the_columns_of_a_checkpoint: "the stored checkpoint of .* is not what its columns say",
    delete_all_checkpoints: "there is no checkpoint",
    edit_a_tile: "tile 0/1 is not that of the records",
    delete_a_tile: "tile 0/1 is missing",
    add_a_tile: "tile 0/10000 is not that of the records",
    insert_a_record_of_the_past: "is older than the newest checkpoint, and not in it",
}
"""Each attack that a verification finds by itself, and what it says."""
