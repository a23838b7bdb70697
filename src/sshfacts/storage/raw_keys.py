"""The keys that wrap the keys of raw copies: 32 random bytes each, in a file of its own.

A copy is encrypted with a key of its own, and that one is stored beside it, wrapped by one of these. So a key is
replaced by wrapping some dozen bytes anew for each copy, and whoever destroys a key destroys every copy that it
wraps, in backups too.
"""

import base64
import os
import re
import secrets
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from sshfacts.errors import SshfactsError
from sshfacts.storage.durable_file import os_reason, write_durably

KEY_BYTES = 32
"""AES-256."""

_MARK = "sshfacts-raw-key-1"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_FILE_BYTES = 256
_SECRET_MODE = 0o600
_OTHERS = 0o077


class RawKeyError(SshfactsError):
    """A key of raw copies cannot be used; the text holds nothing of it."""


@dataclass(frozen=True, slots=True)
class RawKey:
    """One key. Its name stands beside each copy that it wraps, and is the name of its file without an ending."""

    name: str
    secret: bytes = field(repr=False)


def make_key(path: Path) -> RawKey:
    """Make a new key in a new file, readable for its owner alone.

    Raises:
        RawKeyError: the file is there already, cannot be written, or has a name that no key can have.
    """
    name = _name_of(path)
    if path.exists():
        raise RawKeyError(f"{path} is there already, and copies may depend on it")
    key = RawKey(name, secrets.token_bytes(KEY_BYTES))
    try:
        write_durably(path, f"{_MARK} {base64.b64encode(key.secret).decode()}\n", _SECRET_MODE)
    except OSError as error:
        raise RawKeyError(f"{path} cannot be written: {os_reason(error)}") from None
    return key


def read_key(path: Path) -> RawKey:
    """Read the key of one file.

    Raises:
        RawKeyError: it cannot be read, others may read it, or it holds no key.
    """
    name = _name_of(path)
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            content = file.read(_FILE_BYTES)
    except OSError as error:
        raise RawKeyError(f"{path} cannot be read: {os_reason(error)}") from None
    if stat.S_IMODE(mode) & _OTHERS:
        raise RawKeyError(f"others may read {path}; chmod it to 0600, and replace the key")
    mark, _, text = content.decode("ascii", "replace").strip().partition(" ")
    try:
        secret = base64.b64decode(text, validate=True)
    except ValueError:
        secret = b""
    if mark != _MARK or len(secret) != KEY_BYTES:
        raise RawKeyError(f"{path} holds no key of raw copies; `sshfacts audit raw-keys new` makes one")
    return RawKey(name, secret)


def read_keys(paths: Iterable[Path]) -> dict[str, RawKey]:
    """Read the keys of several files, and return them by name in the order of the files.

    Raises:
        RawKeyError: as for `read_key`, or two files have keys of one name.
    """
    keys: dict[str, RawKey] = {}
    for path in paths:
        key = read_key(path)
        if key.name in keys:
            raise RawKeyError(f"two files hold a key named {key.name}")
        keys[key.name] = key
    return keys


def _name_of(path: Path) -> str:
    if _NAME.fullmatch(path.stem) is None:
        raise RawKeyError("the file of a key is named after it: letters, digits, '-' and '_', such as raw-2026-12.key")
    return path.stem
