"""The Merkle tree over the record: RFC 9162, section 2.1 (that of RFC 6962 is the same).

Nothing here reads or writes. A perfect subtree is named by its level and its index: it has `2**level` leaves,
and the first of them is leaf `index << level`. The hash of a leaf is `canonical.leaf_hash`.
"""

from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from typing import TypeAlias

HASH_BYTES = 32

EMPTY_ROOT = sha256(b"").digest()
"""The root of a tree without leaves."""

Node: TypeAlias = Callable[[int, int], bytes]
"""Gives the hash of the perfect subtree at a level and an index. It is asked only for those inside the tree."""

Visit: TypeAlias = Callable[[int, int, bytes], None]
"""Is told level, index and hash of a perfect subtree."""


class ProofError(ValueError):
    """Hashes do not prove what they should; the text says what is wrong with them."""


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the hash over two subtrees."""
    return sha256(b"\x01" + left + right).digest()


def perfect_root(hashes: Sequence[bytes]) -> bytes:
    """Return the hash over the hashes of neighbours; there are a power of two of them."""
    while len(hashes) > 1:
        hashes = [node_hash(hashes[at], hashes[at + 1]) for at in range(0, len(hashes), 2)]
    return hashes[0]


def cover(begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the fewest perfect subtrees that make up the leaves from `begin` to before `end`, from left to right."""
    while begin < end:
        level = (end - begin).bit_length() - 1
        if begin:
            level = min(level, (begin & -begin).bit_length() - 1)
        yield level, begin >> level
        begin += 1 << level


class CompactRange:
    """The hashes that stand for the leaves from `begin` to before `end`, one for each subtree of their `cover`.

    There are never more than two for each level of the tree. The range grows on its right.

    Args:
        visit: told each perfect subtree that growing completes.

    Raises:
        ProofError: so many leaves are not covered by so many hashes.
    """

    def __init__(
        self, begin: int = 0, end: int | None = None, hashes: Sequence[bytes] = (), visit: Visit | None = None
    ) -> None:
        self.begin = begin
        self.end = begin if end is None else end
        self.hashes = list(hashes)
        self._visit = visit
        if not 0 <= self.begin <= self.end or len(self.hashes) != sum(1 for _ in cover(self.begin, self.end)):
            raise ProofError("the number of hashes does not fit the range")

    def append(self, subtree: bytes, level: int = 0) -> None:
        """Add the perfect subtree that follows; by default it is one leaf."""
        index = self.end >> level
        if index << level != self.end:
            raise ProofError("no subtree of this level follows")
        self.end += 1 << level
        if self._visit is not None:
            self._visit(level, index, subtree)
        while index & 1 and (index - 1) << level >= self.begin:
            subtree = node_hash(self.hashes.pop(), subtree)
            level, index = level + 1, index >> 1
            if self._visit is not None:
                self._visit(level, index, subtree)
        self.hashes.append(subtree)

    def extend(self, other: "CompactRange") -> None:
        """Add the range that follows."""
        if other.begin != self.end:
            raise ProofError("the ranges do not touch")
        for (level, _), subtree in zip(cover(other.begin, other.end), other.hashes, strict=True):
            self.append(subtree, level)

    def root(self) -> bytes:
        """Return the root of the tree of these leaves; the range begins at leaf 0."""
        if self.begin:
            raise ProofError("only a range from leaf 0 has a root")
        return _folded(self.hashes) if self.hashes else EMPTY_ROOT


def range_of(node: Node, begin: int, end: int) -> CompactRange:
    """Return the compact range of a tree that is at hand."""
    return CompactRange(begin, end, [node(level, index) for level, index in cover(begin, end)])


def consistency_proof(node: Node, old: int, new: int) -> list[bytes]:
    """Return the proof that the tree of the first `old` leaves is the beginning of that of `new` (section 2.1.4.1).

    Raises:
        ProofError: there is no such proof; `old` is from 1 to `new`.
    """
    if not 1 <= old <= new:
        raise ProofError("a proof leads from a smaller tree that has leaves to a larger one")
    proof: list[bytes] = []
    begin, end = 0, new
    is_whole = True  # the verifier has the root of the old tree, so its own subtree need not be in the proof
    while end != old:
        middle = begin + (1 << (end - begin - 1).bit_length() - 1)
        if old <= middle:
            proof.append(_subroot(node, middle, end))
            end = middle
        else:
            proof.append(_subroot(node, begin, middle))
            begin, is_whole = middle, False
    if not is_whole:
        proof.append(_subroot(node, begin, end))
    return proof[::-1]


def verify_consistency(old: int, new: int, old_root: bytes, new_root: bytes, proof: Sequence[bytes]) -> None:
    """Check that the tree of `new` leaves begins with that of `old` (section 2.1.4.2).

    Raises:
        ProofError: it does not, or the proof does not show it.
    """
    # An empty tree is the beginning of every tree, so a "proof" from it would pass whatever was done.
    if not 1 <= old <= new:
        raise ProofError("a proof leads from a smaller tree that has leaves to a larger one")
    if old == new:
        if proof or old_root != new_root:
            raise ProofError("two trees of one size differ")
        return
    path = list(proof) if old & (old - 1) else [old_root, *proof]
    if not path or any(len(step) != HASH_BYTES for step in path):
        raise ProofError("the proof is malformed")
    if _roots_by(path, old, new) != (old_root, new_root):
        raise ProofError("the larger tree does not begin with the smaller one")


def _roots_by(path: Sequence[bytes], old: int, new: int) -> tuple[bytes, bytes]:
    """Return the roots of both trees that a proof leads to; `path[0]` is the subtree in which the old one ends."""
    first, last = old - 1, new - 1
    while first & 1:
        first, last = first >> 1, last >> 1
    old_seen = new_seen = path[0]
    for step in path[1:]:
        if not last:
            raise ProofError("the proof is too long")
        if first & 1 or first == last:
            old_seen, new_seen = node_hash(step, old_seen), node_hash(step, new_seen)
            while not first & 1 and first:
                first, last = first >> 1, last >> 1
        else:
            new_seen = node_hash(new_seen, step)
        first, last = first >> 1, last >> 1
    if last:
        raise ProofError("the proof is too short")
    return old_seen, new_seen


def _folded(hashes: Sequence[bytes]) -> bytes:
    """Return the hash over the subtrees of a cover, the largest first."""
    root = hashes[-1]
    for left in reversed(hashes[:-1]):
        root = node_hash(left, root)
    return root


def _subroot(node: Node, begin: int, end: int) -> bytes:
    return _folded(range_of(node, begin, end).hashes)
