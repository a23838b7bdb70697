"""The Merkle tree as the database holds it: hashes of leaves, and full tiles of 256 hashes above them.

Tiles have the geometry of C2SP tlog-tiles: tile `idx` of level L holds the hashes of the 256 subtrees of
`2**(8 * L)` leaves that begin with subtree `256 * idx`. Every hash of the tree can be had from few rows.
"""

from collections.abc import Sequence

import sqlalchemy as sa

from sshfacts.storage.merkle import HASH_BYTES, perfect_root, range_of
from sshfacts.storage.tables import CHECKPOINT, LEAF, TILE
from sshfacts.storage.unavailable import RecordAltered

TILE_HEIGHT = 8
"""Levels of the tree that one tile spans."""

TILE_WIDTH = 1 << TILE_HEIGHT
"""Hashes in a full tile."""


class StoredTree:
    """The tree of the first `size` leaves.

    Args:
        fresh: the hashes of its last leaves, which are not in the database yet.
    """

    def __init__(self, connection: sa.Connection, size: int, fresh: Sequence[bytes] = ()) -> None:
        self.size = size
        self._connection = connection
        self._stored = size - len(fresh)
        self._fresh = fresh
        self._tiles: dict[tuple[int, int], list[bytes]] = {}

    def node(self, level: int, index: int) -> bytes:
        """Return the hash of a perfect subtree inside the tree.

        Raises:
            RecordAltered: leaves or tiles are missing.
        """
        tile_level, rest = divmod(level, TILE_HEIGHT)
        first = index << rest
        at = first % TILE_WIDTH
        return perfect_root(self.tile(tile_level, first // TILE_WIDTH)[at : at + (1 << rest)])

    def root(self) -> bytes:
        """Return the root of the tree.

        Raises:
            RecordAltered: leaves or tiles are missing.
        """
        return range_of(self.node, 0, self.size).root()

    def tile(self, level: int, idx: int) -> list[bytes]:
        """Return the hashes of a tile as far as the tree reaches.

        Raises:
            RecordAltered: leaves or tiles are missing.
        """
        key = level, idx
        if key not in self._tiles:
            self._tiles[key] = self._read(level, idx)
        return self._tiles[key]

    def _read(self, level: int, idx: int) -> list[bytes]:
        first = idx * TILE_WIDTH
        width = min(TILE_WIDTH, (self.size >> (TILE_HEIGHT * level)) - first)
        is_stored = first + TILE_WIDTH <= self._stored >> (TILE_HEIGHT * level)
        if is_stored:
            hashes = self._full_tile(level, idx)
        elif level == 0:
            hashes = self._leaves(first, first + width)
        else:
            hashes = [perfect_root(self.tile(level - 1, first + child)) for child in range(width)]
        if len(hashes) != width:
            raise RecordAltered(f"tile {level}/{idx} of the log has {len(hashes)} of {width} hashes")
        return hashes

    def _full_tile(self, level: int, idx: int) -> list[bytes]:
        is_it = sa.and_(TILE.c.level == level, TILE.c.idx == idx)
        packed = self._connection.scalar(sa.select(TILE.c.hashes).where(is_it)) or b""
        return [packed[at : at + HASH_BYTES] for at in range(0, len(packed), HASH_BYTES)]

    def _leaves(self, begin: int, end: int) -> list[bytes]:
        stored = (
            sa.select(LEAF.c.leaf_hash)
            .where(LEAF.c.leaf_index >= begin, LEAF.c.leaf_index < min(end, self._stored))
            .order_by(LEAF.c.leaf_index)
        )
        fresh = self._fresh[max(0, begin - self._stored) : max(0, end - self._stored)]
        return [*self._connection.scalars(stored), *fresh]


def new_tiles(tree: StoredTree, before: int) -> list[tuple[int, int, bytes]]:
    """Return level, idx and hashes of each tile that is full in `tree` and was not in that of `before` leaves."""
    tiles = []
    level = 0
    while tree.size >> TILE_HEIGHT * (level + 1):
        begin, end = (size >> TILE_HEIGHT * (level + 1) for size in (before, tree.size))
        tiles += [(level, idx, b"".join(tree.tile(level, idx))) for idx in range(begin, end)]
        level += 1
    return tiles


def tree_size(connection: sa.Connection) -> int:
    """Return how many records have their place in the log."""
    last = connection.scalar(sa.select(sa.func.max(LEAF.c.leaf_index)))
    return 0 if last is None else int(last) + 1


def newest_note(connection: sa.Connection) -> str | None:
    """Return the note of the checkpoint over the most records, or `None` if nothing was signed yet."""
    return connection.scalar(sa.select(CHECKPOINT.c.note).order_by(CHECKPOINT.c.tree_size.desc()).limit(1))
