"""Checkpoints: how many records the log has and the root over them, as C2SP tlog-checkpoint has them.

The name of the log, its origin, is the name of the keys that sign for it. A checkpoint has no extension lines,
which nobody would audit, and no time: whoever receives one knows when that was.
"""

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass

from sshfacts.storage.merkle import HASH_BYTES
from sshfacts.storage.note import (
    NoteError,
    PublicKey,
    SigningKey,
    UnknownSigner,
    decode_base64,
    open_note,
    sign,
    split_note,
)

_SIZE = re.compile("[1-9][0-9]{0,17}")  # an empty log is not signed: it would be the beginning of every log


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state of a log."""

    origin: str
    size: int
    """Records, that is leaves of the tree; at least one."""
    root: bytes

    def text(self) -> str:
        """Return what is signed."""
        return f"{self.origin}\n{self.size}\n{base64.b64encode(self.root).decode()}\n"

    def sign(self, keys: Sequence[SigningKey]) -> str:
        """Return the note of this checkpoint, signed by each key."""
        return sign(self.text(), keys)

    @classmethod
    def parse(cls, text: str) -> "Checkpoint":
        """Read the text of a checkpoint.

        Raises:
            NoteError: it is none.
        """
        lines = text.split("\n")
        if len(lines) != 4 or lines[3] or not lines[0] or not _SIZE.fullmatch(lines[1]):
            raise NoteError("the checkpoint is malformed")
        root = decode_base64(lines[2])
        if len(root) != HASH_BYTES:
            raise NoteError("the checkpoint is malformed")
        return cls(lines[0], int(lines[1]), root)


def open_checkpoint(note: str, keys: Sequence[PublicKey]) -> Checkpoint:
    """Return the checkpoint of a note that its log has signed with one of `keys`.

    Raises:
        UnknownSigner: it is not signed so.
        NoteError: the note or the checkpoint is malformed, or a signature is wrong.
    """
    opened = open_note(note, keys)
    checkpoint = Checkpoint.parse(opened.text)
    if all(key.name != checkpoint.origin for key in opened.keys):
        raise UnknownSigner("the checkpoint is not signed by its own log")
    return checkpoint


def unsigned_checkpoint(note: str) -> Checkpoint:
    """Return what a note says, whoever signed it.

    Raises:
        NoteError: the note or the checkpoint is malformed.
    """
    return Checkpoint.parse(split_note(note)[0])
