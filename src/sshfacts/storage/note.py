"""Signed notes: text with Ed25519 signatures below it, as C2SP signed-note has them.

A key has a name. Whoever checks a note pins the text of the public key, `NAME+ID+BASE64`, and needs nothing else.
A note may carry signatures of keys that a reader does not know, such as those of witnesses; they are passed over.
"""

import base64
import binascii
import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from sshfacts.errors import SshfactsError

NOTE_BYTES = 64 * 1024
"""The longest note that is looked at."""

SIGNATURES = 100
"""The most signatures of one note that are looked at."""

_ED25519 = b"\x01"
_KEY_BYTES = 32
_ID_BYTES = 4
_PRIVATE = "PRIVATE+KEY+"
_SIGNATURE_LINE = re.compile("— (?P<name>[^\\s+]+) (?P<signature>[A-Za-z0-9+/]+={0,2})")


class NoteError(SshfactsError):
    """A note or a key is malformed, or the note is not signed as it must be. The text holds nothing of either."""


class UnknownSigner(NoteError):
    """A note may be right, but nobody signed it whose key was given."""


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A key that signatures are checked with."""

    name: str
    key: bytes

    def __post_init__(self) -> None:
        if not self.name or "+" in self.name or any(character.isspace() for character in self.name):
            raise NoteError("the name of a key is empty, or holds a space or a plus")
        if len(self.key) != _KEY_BYTES:
            raise NoteError("an Ed25519 key has 32 bytes")

    @property
    def id(self) -> bytes:
        """The four bytes that say in a signature which key made it."""
        return sha256(self.name.encode() + b"\n" + _ED25519 + self.key).digest()[:_ID_BYTES]

    def __str__(self) -> str:
        return f"{self.name}+{self.id.hex()}+{base64.b64encode(_ED25519 + self.key).decode()}"

    @classmethod
    def parse(cls, text: str) -> "PublicKey":
        """Read the text of a public key.

        Raises:
            NoteError: it is none, or one of another algorithm.
        """
        name, key_id, material = _parts(text)
        key = cls(name, _ed25519(material))
        if key.id.hex() != key_id:
            raise NoteError("the id of the public key does not belong to its name and key")
        return key

    def signed(self, text: str, signature: bytes) -> bool:
        """Tell whether this key made `signature` over `text`."""
        try:
            Ed25519PublicKey.from_public_bytes(self.key).verify(signature, text.encode())
        except InvalidSignature:
            return False
        return True


class SigningKey:
    """A key that notes are signed with. Its text is the secret, and is in no `repr`."""

    def __init__(self, name: str, seed: bytes) -> None:
        self._seed = seed
        self._private = Ed25519PrivateKey.from_private_bytes(seed)
        self.public = PublicKey(name, self._private.public_key().public_bytes_raw())

    @classmethod
    def generate(cls, name: str) -> "SigningKey":
        """Make a new key.

        Raises:
            NoteError: a key cannot have this name.
        """
        return cls(name, Ed25519PrivateKey.generate().private_bytes_raw())

    @classmethod
    def parse(cls, text: str) -> "SigningKey":
        """Read the secret text of a key, in the form of Go's `sumdb/note`.

        Raises:
            NoteError: it is none.
        """
        if not text.startswith(_PRIVATE):
            raise NoteError("no private key")
        name, key_id, material = _parts(text.removeprefix(_PRIVATE))
        key = cls(name, _ed25519(material))
        if key.public.id.hex() != key_id:
            raise NoteError("the id of the private key does not belong to its name and key")
        return key

    def secret_text(self) -> str:
        """Return what `parse` reads."""
        material = base64.b64encode(_ED25519 + self._seed).decode()
        return f"{_PRIVATE}{self.public.name}+{self.public.id.hex()}+{material}"

    def signature_line(self, text: str) -> str:
        """Return the line that signs `text`."""
        signature = self.public.id + self._private.sign(text.encode())
        return f"— {self.public.name} {base64.b64encode(signature).decode()}\n"


@dataclass(frozen=True, slots=True)
class OpenedNote:
    """A note that at least one known key has signed."""

    text: str
    keys: tuple[PublicKey, ...]
    """The known keys that signed it."""


def sign(text: str, keys: Sequence[SigningKey]) -> str:
    """Return the note of `text` with a signature by each key.

    Raises:
        NoteError: the text cannot be that of a note.
    """
    if not text.endswith("\n") or _has_controls(text):
        raise NoteError("the text of a note ends with a line feed, and holds no other control")
    return text + "\n" + "".join(key.signature_line(text) for key in keys)


def open_note(note: str, keys: Sequence[PublicKey]) -> OpenedNote:
    """Return the text of a note that one of `keys` has signed.

    Raises:
        UnknownSigner: none of `keys` has signed it.
        NoteError: the note is malformed, or a signature by one of `keys` is wrong.
    """
    text, lines = split_note(note)
    known = {(key.name, key.id): key for key in keys}
    signed: dict[PublicKey, None] = {}
    for line in lines:
        parts = _SIGNATURE_LINE.fullmatch(line)
        if parts is None:
            raise NoteError("the note is malformed")
        signature = decode_base64(parts["signature"])
        if len(signature) <= _ID_BYTES:
            raise NoteError("the note is malformed")
        key = known.get((parts["name"], signature[:_ID_BYTES]))
        if key is None:
            continue
        if not key.signed(text, signature[_ID_BYTES:]):
            raise NoteError("a signature of the note does not belong to its text")
        signed[key] = None
    if not signed:
        raise UnknownSigner("the note is not signed by a key that was given")
    return OpenedNote(text, tuple(signed))


def split_note(note: str) -> tuple[str, list[str]]:
    """Return the text of a note and its signature lines, unchecked.

    Raises:
        NoteError: it does not have these two parts.
    """
    try:
        size = len(note.encode())
    except UnicodeEncodeError:  # a lone surrogate
        raise NoteError("the note is malformed") from None
    if size > NOTE_BYTES or _has_controls(note) or not note.endswith("\n"):
        raise NoteError("the note is malformed")
    head, blank, tail = note[:-1].rpartition("\n\n")
    lines = tail.split("\n")
    if not blank or not head or len(lines) > SIGNATURES:
        raise NoteError("the note is malformed")
    return head + "\n", lines


def decode_base64(text: str) -> bytes:
    """Decode base64 of which there is only one form.

    Raises:
        NoteError: it is none, or not the form that encoding gives.
    """
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise NoteError("malformed base64") from None
    if base64.b64encode(data).decode() != text:
        raise NoteError("malformed base64")
    return data


def _parts(text: str) -> tuple[str, str, str]:
    parts = text.split("+", 2)  # base64 may hold a plus, too
    if len(parts) != 3:
        raise NoteError("a key is NAME+ID+BASE64")
    return parts[0], parts[1], parts[2]


def _ed25519(material: str) -> bytes:
    data = decode_base64(material)
    if len(data) != len(_ED25519) + _KEY_BYTES or not data.startswith(_ED25519):
        raise NoteError("the key is no Ed25519 key of a log")
    return data[len(_ED25519) :]


def _has_controls(text: str) -> bool:
    return any(character < " " and character != "\n" for character in text)
