"""The Merkle tree as a verifier recomputes it from the records, with digests of the tiles that it must have."""

from collections import defaultdict
from hashlib import sha256

from sshfacts.storage.merkle import CompactRange
from sshfacts.storage.stored_tree import TILE_HEIGHT, TILE_WIDTH


class RecomputedTree:
    """Grows leaf by leaf, and takes some hundred bytes of memory for 256 of them."""

    def __init__(self) -> None:
        self._range = CompactRange(visit=self._visit)
        self._tiles: defaultdict[int, list[bytes]] = defaultdict(list)
        self.tiles: dict[tuple[int, int], bytes] = {}
        """SHA-256 of each full tile, by its level and index."""

    @property
    def size(self) -> int:
        """How many leaves it has."""
        return self._range.end

    def append(self, leaf: bytes) -> None:
        """Add the hash of the next leaf."""
        self._range.append(leaf)

    def root(self) -> bytes:
        """Return the root over all leaves so far."""
        return self._range.root()

    def _visit(self, level: int, index: int, subtree: bytes) -> None:
        if level % TILE_HEIGHT:
            return
        tile_level = level // TILE_HEIGHT
        hashes = self._tiles[tile_level]
        hashes.append(subtree)
        if len(hashes) == TILE_WIDTH:
            self.tiles[tile_level, index // TILE_WIDTH] = sha256(b"".join(hashes)).digest()
            hashes.clear()
