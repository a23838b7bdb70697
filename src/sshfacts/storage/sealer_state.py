"""What a sealer remembers outside the database: the last checkpoint that it signed.

A database that was restored, failed over to a copy that lagged, or was rewritten, no longer begins with what was
signed. Without a memory outside it a sealer would sign the new history as readily as the old one.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

from sshfacts.errors import SshfactsError
from sshfacts.storage.durable_file import os_reason, write_durably

LOCK_SECONDS = 10.0
"""How long a sealer waits for another one with the same state; a pass takes less than a second."""

_MODE = 0o644  # the checkpoint is public, and auditors may take it from here
_PAUSE = 0.05


class StateError(SshfactsError):
    """The state of a sealer cannot be read, written or locked."""


class SealerState:
    """The file that holds the note of the last signed checkpoint."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other sealers with this state out.

        Raises:
            StateError: another one holds it for too long, or the lock file cannot be made.
        """
        lock = self.path.with_name(f"{self.path.name}.lock")
        try:
            self.path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise StateError(f"the lock of the sealer's state cannot be made: {os_reason(error)}") from None
        try:
            _lock(descriptor)
            yield
        finally:
            os.close(descriptor)

    def read(self) -> str | None:
        """Return the note, or `None` if nothing was signed yet.

        Raises:
            StateError: the file is there and cannot be read.
        """
        try:
            return self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except UnicodeDecodeError:
            raise StateError("the sealer's state is no text") from None
        except OSError as error:
            raise StateError(f"the sealer's state cannot be read: {os_reason(error)}") from None

    def write(self, note: str) -> None:
        """Remember a note, durably.

        Raises:
            StateError: it is not known to be remembered, so it must not be published.
        """
        try:
            write_durably(self.path, note, _MODE)
        except OSError as error:
            raise StateError(f"the sealer's state cannot be written: {os_reason(error)}") from None


def _lock(descriptor: int) -> None:
    end = monotonic() + LOCK_SECONDS
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if monotonic() >= end:
                raise StateError("another sealer is at work on this state") from None
        sleep(_PAUSE)
