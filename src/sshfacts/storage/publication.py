"""Where signed checkpoints go, so that they are kept where the database and its administrators cannot reach.

A checkpoint is public. One that left the host binds the history before it for ever, whoever rewrites the database
afterwards; one that did not binds nobody.
"""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TextIO, TypeAlias

from sshfacts.storage.canonical import rfc3339
from sshfacts.storage.checkpoint import Checkpoint
from sshfacts.storage.durable_file import write_durably

_FILE_MODE = 0o644
_SIZE_DIGITS = 12  # so that names sort by size


@dataclass(frozen=True, slots=True)
class Published:
    """A signed checkpoint, ready to leave the host."""

    checkpoint: Checkpoint
    note: str
    at: datetime
    """When it was signed, by the clock of the sealer; the note itself holds no time."""


Publish: TypeAlias = Callable[[Published], None]
"""Takes a checkpoint off the host, or to where something else does. It may raise `OSError`."""


def print_line(published: Published, stream: TextIO | None = None) -> None:
    """Write one JSON object on one line, by default on stderr: a service's journal keeps it and forwards it."""
    line = {
        "event": "audit_checkpoint",
        "at": rfc3339(published.at),
        "origin": published.checkpoint.origin,
        "tree_size": published.checkpoint.size,
        "root_hash": published.checkpoint.root.hex(),
        "note": published.note,
    }
    stream = sys.stderr if stream is None else stream
    stream.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")
    stream.flush()


class FileDrop:
    """Puts each checkpoint into a file of its own, `FOLDER/DAY/SIZE`, and the newest into `FOLDER/latest` too.

    What takes the files off the host may delete them; nothing here reads them again.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, published: Published) -> None:
        """Write the files.

        Raises:
            OSError: they cannot be written.
        """
        day = self._folder / f"{published.at:%Y-%m-%d}"
        day.mkdir(mode=0o755, parents=True, exist_ok=True)
        write_durably(day / f"{published.checkpoint.size:0{_SIZE_DIGITS}}", published.note, _FILE_MODE)
        write_durably(self._folder / "latest", published.note, _FILE_MODE)


def publishers(folder: Path | None) -> Sequence[Publish]:
    """Return where checkpoints go: stderr, and a folder if there is one for them."""
    return (print_line,) if folder is None else (print_line, FileDrop(folder))
