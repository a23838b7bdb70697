"""The file of the keys that checkpoints are signed with, and the file of their public halves beside it.

Every key in the file signs. A key is replaced by overlap: another one is added, auditors pin it as well, and only
then is the old one retired; so each auditor can follow from a key that is trusted to the next one.
"""

from collections.abc import Sequence
from pathlib import Path

from sshfacts.errors import SshfactsError, UsageError
from sshfacts.storage.durable_file import os_reason, write_durably
from sshfacts.storage.note import NoteError, PublicKey, SigningKey

_SECRET_MODE = 0o600
_PUBLIC_MODE = 0o644
_OTHERS = 0o077


class KeyFileError(SshfactsError):
    """The file of signing keys cannot be used; the text holds nothing of it."""


class KeyFile:
    """One private key on each line, readable for its owner alone; `FILE.pub` has the public keys."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def public_path(self) -> Path:
        """The file with the public keys."""
        return self.path.with_name(f"{self.path.name}.pub")

    def exists(self) -> bool:
        """Tell whether there are keys already."""
        return self.path.exists()

    def read(self) -> list[SigningKey]:
        """Return the keys, the oldest first.

        Raises:
            KeyFileError: there are none, one is malformed, or others may read the file.
        """
        try:
            if self.path.stat().st_mode & _OTHERS:
                raise KeyFileError("others may read the signing keys; chmod 600 the file, and replace the keys")
            lines = self.path.read_text(encoding="ascii").splitlines()
            keys = [SigningKey.parse(line) for line in lines]
        except FileNotFoundError:
            raise KeyFileError("there is no signing key; make one with `sshfacts audit keys add`") from None
        except OSError as error:
            raise KeyFileError(f"the signing keys cannot be read: {os_reason(error)}") from None
        except (UnicodeDecodeError, NoteError):
            raise KeyFileError("a line of the file of signing keys is no key") from None
        if not keys:
            raise KeyFileError("the file of signing keys is empty")
        return keys

    def write(self, keys: Sequence[SigningKey]) -> None:
        """Put exactly these keys into both files, durably.

        Raises:
            KeyFileError: they cannot be written.
        """
        secret = "".join(f"{key.secret_text()}\n" for key in keys)
        public = "".join(f"{key.public}\n" for key in keys)
        try:
            self.path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            write_durably(self.path, secret, _SECRET_MODE)
            write_durably(self.public_path, public, _PUBLIC_MODE)
        except OSError as error:
            raise KeyFileError(f"the signing keys cannot be written: {os_reason(error)}") from None


def read_public_keys(path: Path) -> list[PublicKey]:
    """Read a file with one public key on each line.

    Raises:
        UsageError: it cannot be read, or a line is no key.
    """
    try:
        return [PublicKey.parse(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
    except OSError as error:
        raise UsageError(f"the public keys cannot be read: {os_reason(error)}") from None
    except UnicodeDecodeError:
        raise UsageError("the file of public keys is no text") from None
