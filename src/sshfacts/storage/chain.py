"""The hash chain of one writer: dense numbers, and in each record the hash of the one before it."""

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from time import time_ns
from typing import TypeAlias
from uuid import uuid4

from sshfacts.storage.canonical import dumps, leaf_hash, timestamp
from sshfacts.storage.projection import Column, project
from sshfacts.values import JsonObject

FORMAT_VERSION = 1
"""The field `v` of every record: a changed meaning of a field is a new version."""

NO_PREVIOUS = bytes(32)
"""What the first record of a chain names as the hash before it."""

Row: TypeAlias = dict[str, Column | bytes]
"""One row of `audit_entry` but its id, as it is inserted."""

_OWN_FIELDS = frozenset({"writer", "seq", "prev"})


@dataclass(frozen=True, slots=True)
class Entry:
    """One linked record: the row to insert, and the body that it was made from."""

    seq: int
    leaf_hash: bytes
    body: JsonObject
    row: Row
    copies: tuple[Row, ...] = ()
    """Rows of `audit_raw` that the body refers to; they become durable with it, or not at all."""

    @property
    def copied_bytes(self) -> int:
        """How much the copies add to a transaction."""
        return sum(len(copy["ciphertext"]) for copy in self.copies if isinstance(copy["ciphertext"], bytes))


class Chain:
    """Links bodies into the chain of a new, random writer.

    A chain lives in memory only and is never resumed, so neither a restored backup nor a cloned machine
    can fork one, and a start reads nothing.
    """

    def __init__(self) -> None:
        self.writer = uuid4().hex
        self._seq = 0
        self._previous = NO_PREVIOUS

    def link(self, body: JsonObject, copies: Sequence[Row] = ()) -> Entry:
        """Give `body` its place in the chain. A body without `v` or `at` gets the version and the clock's time.

        Args:
            copies: rows of `audit_raw` that the body refers to.

        Raises:
            ValueError: the body is no record (see `projection.project` and `canonical.dumps`), or it sets a
                field of the chain. The chain has not moved then.
        """
        if taken := _OWN_FIELDS & body.keys():
            raise ValueError(f"the chain sets {', '.join(sorted(taken))} itself")
        whole: JsonObject = {
            "v": FORMAT_VERSION,
            **body,
            "at": body.get("at") or timestamp(time_ns() // 1_000),
            "writer": self.writer,
            "seq": self._seq,
            "prev": self._previous.hex(),
        }
        data = dumps(whole)
        leaf = leaf_hash(data)
        row: Row = {
            "writer_id": self.writer,
            "seq": self._seq,
            "leaf_hash": leaf,
            "body": data.decode(),
            **project(whole),
        }
        entry = Entry(self._seq, leaf, body, row, tuple(copies))
        self._seq += 1
        self._previous = entry.leaf_hash
        return entry


def this_process() -> JsonObject:
    """Return what the first record of each chain says about the process that writes it."""
    return {"pid": os.getpid(), "machine": platform.node()}
