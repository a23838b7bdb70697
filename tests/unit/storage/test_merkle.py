"""The tree against published vectors, a slow second implementation, and mutations of everything it takes."""

from collections.abc import Sequence
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sshfacts.storage.canonical import leaf_hash
from sshfacts.storage.merkle import (
    EMPTY_ROOT,
    CompactRange,
    ProofError,
    consistency_proof,
    cover,
    node_hash,
    perfect_root,
    range_of,
    verify_consistency,
)

MOST = 65
LEAVES = [leaf_hash(str(number).encode()) for number in range(2 * MOST)]

# From certificate-transparency: cpp/merkletree/merkle_tree_test.cc; transparency-dev/merkle has the same.
VECTOR_LEAVES = ("", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f")
VECTOR_ROOTS = (
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
)
VECTOR_PROOFS = {
    (1, 1): (),
    (1, 8): (
        "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
    ),
    (6, 8): (
        "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ),
    (2, 5): (
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
    ),
}


def slow_root(leaves: Sequence[bytes]) -> bytes:
    """The definition of RFC 9162, section 2.1.1, word by word."""
    if not leaves:
        return sha256(b"").digest()
    if len(leaves) == 1:
        return leaves[0]
    middle = slow_split(len(leaves))
    return node_hash(slow_root(leaves[:middle]), slow_root(leaves[middle:]))


def slow_proof(old: int, leaves: Sequence[bytes], *, is_whole: bool = True) -> list[bytes]:
    """SUBPROOF of RFC 9162, section 2.1.4.1."""
    if old == len(leaves):
        return [] if is_whole else [slow_root(leaves)]
    middle = slow_split(len(leaves))
    if old <= middle:
        return [*slow_proof(old, leaves[:middle], is_whole=is_whole), slow_root(leaves[middle:])]
    return [*slow_proof(old - middle, leaves[middle:], is_whole=False), slow_root(leaves[:middle])]


def slow_split(count: int) -> int:
    middle = 1
    while 2 * middle < count:
        middle *= 2
    return middle


def node_of(leaves: Sequence[bytes]):
    return lambda level, index: perfect_root(leaves[index << level : (index + 1) << level])


def appended(leaves: Sequence[bytes]) -> CompactRange:
    grown = CompactRange()
    for leaf in leaves:
        grown.append(leaf)
    return grown


def range_root(begin: int, end: int, size: int, leaves: Sequence[bytes]) -> bytes:
    """The root over `leaves` between the hashes of an honest prefix and suffix, as an export is verified."""
    node = node_of(LEAVES[:size])
    whole = range_of(node, 0, begin)
    for leaf in leaves:
        whole.append(leaf)
    whole.extend(range_of(node, end, size))
    return whole.root()


def test_published_roots():
    leaves = [leaf_hash(bytes.fromhex(text)) for text in VECTOR_LEAVES]
    assert [appended(leaves[:size]).root().hex() for size in range(1, 9)] == list(VECTOR_ROOTS)
    assert CompactRange().root() == EMPTY_ROOT


@pytest.mark.parametrize(("old", "new"), VECTOR_PROOFS)
def test_published_consistency_proofs(old: int, new: int):
    leaves = [leaf_hash(bytes.fromhex(text)) for text in VECTOR_LEAVES]
    proof = consistency_proof(node_of(leaves), old, new)
    assert tuple(step.hex() for step in proof) == VECTOR_PROOFS[old, new]
    verify_consistency(old, new, bytes.fromhex(VECTOR_ROOTS[old - 1]), bytes.fromhex(VECTOR_ROOTS[new - 1]), proof)


def test_every_small_tree():
    roots = [slow_root(LEAVES[:size]) for size in range(MOST + 1)]
    for new in range(MOST + 1):
        node = node_of(LEAVES[:new])
        assert appended(LEAVES[:new]).root() == range_of(node, 0, new).root() == roots[new]
        for old in range(1, new + 1):
            proof = consistency_proof(node, old, new)
            assert proof == slow_proof(old, LEAVES[:new])
            verify_consistency(old, new, roots[old], roots[new], proof)


def test_every_range_of_a_small_tree():
    for size in range(1, 34):
        root = slow_root(LEAVES[:size])
        for begin in range(size + 1):
            for end in range(begin, size + 1):
                assert range_root(begin, end, size, LEAVES[begin:end]) == root


@given(st.integers(0, 2**40), st.integers(0, 2**40))
def test_a_cover_is_short_and_exact(begin: int, length: int):
    at = begin
    count = 0
    for level, index in cover(begin, begin + length):
        assert index << level == at
        at += 1 << level
        count += 1
    assert at == begin + length
    assert count <= 2 * 41


@given(st.data())
def test_a_changed_range_has_another_root(data: st.DataObject):
    size = data.draw(st.integers(2, len(LEAVES)))
    begin = data.draw(st.integers(0, size - 2))
    end = data.draw(st.integers(begin + 2, size))
    leaves = LEAVES[begin:end]
    at = data.draw(st.integers(0, len(leaves) - 2))
    changed = data.draw(
        st.sampled_from(
            [
                [*leaves[:at], leaf_hash(b"other"), *leaves[at + 1 :]],
                [*leaves[:at], *leaves[at + 1 :]],
                [*leaves[: at + 1], *leaves[at:]],
                [*leaves[:at], leaves[at + 1], leaves[at], *leaves[at + 2 :]],
            ]
        )
    )
    try:
        root = range_root(begin, end, size, changed)
    except ProofError:
        return
    assert root != slow_root(LEAVES[:size])


@given(st.data())
def test_a_changed_consistency_proof_is_refused(data: st.DataObject):
    new = data.draw(st.integers(2, len(LEAVES)))
    old = data.draw(st.integers(1, new - 1))
    roots = slow_root(LEAVES[:old]), slow_root(LEAVES[:new])
    proof = consistency_proof(node_of(LEAVES[:new]), old, new)
    at = data.draw(st.integers(0, len(proof) - 1))
    other = leaf_hash(b"other")
    changed = data.draw(
        st.sampled_from(
            [
                [*proof[:at], other, *proof[at + 1 :]],
                [*proof[:at], *proof[at + 1 :]],
                [*proof[:at], other, *proof[at:]],
                [*proof, other],
                [*proof, proof[-1]],
                [*proof[:at], proof[at][:31], *proof[at + 1 :]],
                [],
            ]
        )
    )
    with pytest.raises(ProofError):
        verify_consistency(old, new, *roots, changed)
    for wrong in ((other, roots[1]), (roots[0], other), (roots[1], roots[0])):
        with pytest.raises(ProofError):
            verify_consistency(old, new, *wrong, proof)


@pytest.mark.parametrize(("old", "new"), [(0, 0), (0, 5), (3, 2), (-1, 2)])
def test_nothing_is_proved_from_an_empty_or_to_a_smaller_tree(old: int, new: int):
    with pytest.raises(ProofError):
        consistency_proof(node_of(LEAVES), old, new)
    with pytest.raises(ProofError):
        verify_consistency(old, new, EMPTY_ROOT, slow_root(LEAVES[:new]), [])


def test_trees_of_one_size_are_equal_or_contradict():
    root = slow_root(LEAVES[:5])
    verify_consistency(5, 5, root, root, [])
    for roots, proof in (((root, leaf_hash(b"x")), []), ((root, root), [root])):
        with pytest.raises(ProofError):
            verify_consistency(5, 5, *roots, proof)


@pytest.mark.parametrize(("begin", "end", "count"), [(0, 3, 1), (0, 4, 2), (1, 1, 1), (3, 2, 0), (-1, 2, 1)])
def test_a_range_has_as_many_hashes_as_its_cover(begin: int, end: int, count: int):
    with pytest.raises(ProofError):
        CompactRange(begin, end, LEAVES[:count])


def test_ranges_grow_without_a_gap():
    grown = appended(LEAVES[:3])
    with pytest.raises(ProofError):
        grown.extend(CompactRange(4, 5, [LEAVES[4]]))
    with pytest.raises(ProofError):
        grown.append(LEAVES[3], level=1)
    with pytest.raises(ProofError):
        CompactRange(1, 2, [LEAVES[1]]).root()


def test_every_perfect_subtree_is_told_once():
    seen = {}
    grown = CompactRange(visit=lambda level, index, subtree: seen.setdefault((level, index), subtree))
    for leaf in LEAVES[:MOST]:
        grown.append(leaf)
    node = node_of(LEAVES)
    assert seen == {(level, index): node(level, index) for level in range(7) for index in range(MOST >> level)}
