"""Encrypted copies of what hosts sent: how one is made, opened again, and wrapped under another key.

    ciphertext  = AES-256-GCM(key of this copy, zlib(plain text), identity)
    wrapped_dek = 1 byte version, 12 bytes nonce, AES-256-GCM(named key, key of this copy, name and copy)

The identity is what the outcome's record says of the copy. It is authenticated, so that a ciphertext can neither be
moved to another request or stream nor stand for other bytes; and since that record is hashed and sealed, who can
write the database alone cannot change what a copy says.
"""

import hashlib
import os
import threading
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from uuid import uuid4

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from sshfacts.errors import SshfactsError
from sshfacts.limits import CEILINGS
from sshfacts.storage.canonical import CanonicalError, dumps, rfc3339
from sshfacts.storage.chain import Row
from sshfacts.storage.raw_keys import KEY_BYTES, RawKey, RawKeyError, read_key
from sshfacts.values import JsonObject, JsonValue

STDOUT = "stdout"
"""The stream that is kept. Of stderr the record itself holds the head."""
ALGORITHM = "zlib+A256GCM"
"""How a copy is made; a reference names it, so that another way can stand beside this one."""

_LEVEL = 3  # level 6 costs half as much again, and saves next to nothing
_NONCE = 12
_VERSION = b"\x01"


class RawCopyError(SshfactsError):
    """A copy is not what the record says, or cannot be opened; the text holds nothing of it."""


@dataclass(frozen=True, slots=True)
class Reference:
    """What an outcome's record says about one copy."""

    blob_id: str
    stream: str
    alg: str
    bytes: int
    """Of the plain text. Fewer than the run's stdout has if that went over its limit."""
    sha256: str
    """Of the plain text."""
    ciphertext_sha256: str
    retain_until: str
    """RFC 3339; nobody can remove the copy before."""

    def as_json(self) -> JsonObject:
        """Return it as it stands in the record."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def read(cls, value: JsonValue) -> "Reference":
        """Read one of the references of a record.

        Raises:
            RawCopyError: it is none.
        """
        types = cls.__annotations__
        if not isinstance(value, dict) or value.keys() != types.keys():
            raise RawCopyError("the record refers to a copy in a way that this version does not know")
        if not all(isinstance(value[name], kind) for name, kind in types.items()) or value["alg"] != ALGORITHM:
            raise RawCopyError("the record refers to a copy in a way that this version does not know")
        return cls(**value)  # type: ignore[arg-type]  # each was just found to be of its field's type


@dataclass(frozen=True, slots=True)
class Kept:
    """A copy to be inserted, and what the outcome's record says of it."""

    row: Row
    reference: Reference


class Vault:
    """Makes copies for one process, and no more of them in a day than fit.

    Args:
        key: wraps the keys of new copies.
        per_day: bytes of copies that this process keeps in one day (UTC), so that hosts that answer nonsense to
            every call cannot fill the disk.
    """

    def __init__(self, key: RawKey, per_day: int) -> None:
        self._key = key
        self._per_day = per_day
        self._day: date | None = None
        self._used = 0
        self._lock = threading.Lock()

    def keep(self, request_id: str, plain: bytes, days: int, now: datetime) -> Kept | None:
        """Return a copy of what a request's command printed, to be kept for some days from `now`.

        Takes about 3 ms for 256 KiB of text, so large ones are for a thread.

        Returns:
            None: what may be kept in a day is used up.
        """
        with self._lock:
            if now.date() != self._day:
                self._day, self._used = now.date(), 0
            if self._used >= self._per_day:
                return None
        kept = protect(plain, request_id, now + timedelta(days=days), self._key)
        with self._lock:
            self._used += size_of(kept.row)
        return kept


def open_vault(key_files: Sequence[Path], per_day: int) -> Vault | None:
    """Return the vault whose copies the first of the keys wraps; `None` without any key, since then none are kept.

    Raises:
        RawKeyError: the key cannot be used.
    """
    return Vault(read_key(key_files[0]), per_day) if key_files else None


def protect(plain: bytes, request_id: str, retain_until: datetime, key: RawKey) -> Kept:
    """Encrypt one copy.

    Raises:
        ValueError: there are more bytes than any run may have, which is a fault of the program.
    """
    if len(plain) > CEILINGS.bytes:
        raise ValueError("more bytes than a run may have")
    blob_id, own_key, nonce = uuid4().hex, os.urandom(KEY_BYTES), os.urandom(_NONCE)
    sha256 = hashlib.sha256(plain).hexdigest()
    identity = _identity(blob_id, request_id, STDOUT, sha256, len(plain))
    ciphertext = AESGCM(own_key).encrypt(nonce, zlib.compress(plain, _LEVEL), identity)
    row: Row = {
        "blob_id": blob_id,
        "request_id": request_id,
        "stream": STDOUT,
        "retain_until": retain_until,
        "kek_id": key.name,
        "wrapped_dek": _wrap(own_key, blob_id, key),
        "nonce": nonce,
        "ciphertext": ciphertext,
    }
    digest = hashlib.sha256(ciphertext).hexdigest()
    return Kept(row, Reference(blob_id, STDOUT, ALGORITHM, len(plain), sha256, digest, rfc3339(retain_until)))


def reveal(row: Mapping[str, object], request_id: str, reference: Reference, keys: Mapping[str, RawKey]) -> bytes:
    """Return the plain text of a stored copy, which is what the record says it is.

    Args:
        row: of `audit_raw`.
        request_id: of the record that `reference` stands in.
        reference: from a body whose hash was checked.
        keys: by name.

    Raises:
        RawCopyError: the row or one of its fields is not the one that was written.
        RawKeyError: the key that wraps it is not among `keys`.
    """
    ciphertext, nonce = _bytes_of(row, "ciphertext"), _bytes_of(row, "nonce")
    own_key = _unwrap(_bytes_of(row, "wrapped_dek"), reference.blob_id, _named(str(row["kek_id"]), keys))
    try:
        identity = _identity(reference.blob_id, request_id, reference.stream, reference.sha256, reference.bytes)
        compressed = AESGCM(own_key).decrypt(nonce, ciphertext, identity)
        unpacking = zlib.decompressobj()
        # One byte more than there may be: what was packed to fill the memory is noticed, and not unpacked.
        plain = unpacking.decompress(compressed, reference.bytes + 1)
    except (InvalidTag, ValueError, CanonicalError, zlib.error):
        raise RawCopyError("the copy is not the one that was recorded") from None
    if not unpacking.eof or len(plain) != reference.bytes or hashlib.sha256(plain).hexdigest() != reference.sha256:
        raise RawCopyError("the copy is not the one that was recorded")
    return plain


def rewrap(wrapped: bytes, blob_id: str, former: RawKey, key: RawKey) -> bytes:
    """Return a copy's own key, wrapped by another key; the copy itself is not opened.

    Raises:
        RawCopyError: `former` does not wrap it.
    """
    return _wrap(_unwrap(wrapped, blob_id, former), blob_id, key)


def size_of(row: Row) -> int:
    """Return the bytes that a copy takes in the database, but for its names."""
    return len(_bytes_of(row, "ciphertext"))


def _identity(blob_id: str, request_id: str, stream: str, sha256: str, count: int) -> bytes:
    return dumps(
        {
            "v": 1,
            "blob_id": blob_id,
            "request_id": request_id,
            "stream": stream,
            "alg": ALGORITHM,
            "sha256": sha256,
            "bytes": count,
        }
    )


def _wrap(own_key: bytes, blob_id: str, key: RawKey) -> bytes:
    nonce = os.urandom(_NONCE)
    return _VERSION + nonce + AESGCM(key.secret).encrypt(nonce, own_key, f"{key.name} {blob_id}".encode())


def _unwrap(wrapped: bytes, blob_id: str, key: RawKey) -> bytes:
    version, nonce, sealed = wrapped[:1], wrapped[1 : 1 + _NONCE], wrapped[1 + _NONCE :]
    try:
        own_key = AESGCM(key.secret).decrypt(nonce, sealed, f"{key.name} {blob_id}".encode())
    except (InvalidTag, ValueError):
        own_key = b""
    if version != _VERSION or not own_key:
        raise RawCopyError(f"the key {key.name} does not open the copy")
    return own_key


def _named(name: str, keys: Mapping[str, RawKey]) -> RawKey:
    key = keys.get(name)
    if key is None:
        raise RawKeyError(f"the copy needs the key {name!a}, and its file is not in raw.key_files")
    return key


def _bytes_of(row: Mapping[str, object], name: str) -> bytes:
    value = row[name]
    if not isinstance(value, bytes | memoryview):
        raise RawCopyError("the copy is not the one that was recorded")
    return bytes(value)
