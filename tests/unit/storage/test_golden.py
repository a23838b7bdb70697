"""Exports that an earlier version wrote, and that every version must verify."""

import base64
import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import pytest

from sshfacts.storage.checkpoint import open_checkpoint
from sshfacts.storage.signing_keys import read_public_keys
from sshfacts.storage.verify_file import verify_file

GOLDEN = Path(__file__).parents[2] / "data" / "golden"

# A golden file that changes is golden no more.
DIGESTS = {
    "key.pub": "cec9c0cc16706f052746804ca4120ad393f0c09c63d569dd10934b85111cc1b9",
    "next-key.pub": "a92262417efe57024e31f5e1922805df10a9926b6fb5be0f1e2debb20b2df6fd",
    "period.jsonl": "6874945194c4797b3a856039f5a97b12a683b1b47ee818d1b2ede11aa2acaf78",
    "trusted.checkpoint": "b1b63e4ec46cbabb142146246cef2f7eef6eec83aec5d87c2f57262c829b32a5",
    "whole.jsonl": "6af7c9f4f888953c2e42ac6106e55691abd96cc8f54f623edbc918f6d430ff4a",
}


def test_the_files_are_those_that_were_written():
    assert {
        path.name: sha256(path.read_bytes()).hexdigest() for path in GOLDEN.iterdir() if path.name != "README.md"
    } == DIGESTS


@pytest.mark.parametrize("trusted", [True, False])
@pytest.mark.parametrize("key", ["key.pub", "next-key.pub"])
@pytest.mark.parametrize(("file", "begin", "end"), [("whole.jsonl", 0, 78), ("period.jsonl", 41, 59)])
def test_every_version_verifies_them(file: str, begin: int, end: int, key: str, trusted: bool):
    keys = read_public_keys(GOLDEN / key)
    note = (GOLDEN / "trusted.checkpoint").read_text(encoding="utf-8")
    earlier = open_checkpoint(note, read_public_keys(GOLDEN / "key.pub")) if trusted else None
    with (GOLDEN / file).open("rb") as stream:
        report = verify_file(stream, keys, earlier)
    assert report.ok
    assert (report.begin, report.end, report.tree_size) == (begin, end, 78)
    assert report.warnings.count == (0 if trusted else 1)


def test_anybody_can_compute_the_root_with_nothing_of_ours():
    head, *lines, _ = (GOLDEN / "whole.jsonl").read_bytes().splitlines()
    leaves = [sha256(b"\x00" + line[len(b'{"body":') : line.rindex(b',"leaf":')]).digest() for line in lines]
    signed = json.loads(head)["checkpoint"].splitlines()
    assert signed[:3] == ["sshfacts.example/test", "78", base64.b64encode(root(leaves)).decode()]


def root(leaves: Sequence[bytes]) -> bytes:
    if len(leaves) == 1:
        return leaves[0]
    middle = 1 << (len(leaves) - 1).bit_length() - 1
    return sha256(b"\x01" + root(leaves[:middle]) + root(leaves[middle:])).digest()
