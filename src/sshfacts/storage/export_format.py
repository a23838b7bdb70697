"""The file of exported records: JSON Lines that prove themselves, read without a database.

    {"begin":..., "checkpoint":..., "end":..., "format":"sshfacts-audit-export", ...}
    {"body":{...},"leaf":1044}
    {"body":{...},"leaf":1045}
    {"records":2}

Every line is in the canonical form of records. The first is the head; then comes each leaf from `begin` to before
`end`, and last a count, so that a file that was cut is told at once. Between `{"body":` and `,"leaf":` stand the
bytes that are hashed. The hashes of the head stand for all leaves before and after, so the root over the file is
that of the signed checkpoint only if nothing in between is missing, added, moved or changed.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sshfacts.storage.canonical import CanonicalError, dumps, loads_strict, rfc3339
from sshfacts.values import JsonObject, JsonValue

FORMAT = "sshfacts-audit-export"
VERSION = 1

LINE_BYTES = 4 * 1024 * 1024
"""The longest line that is read. A record has some kilobytes; the head has some more for its proofs."""

_BODY = b'{"body":'
_NAMES = frozenset(
    {
        "format",
        "version",
        "checkpoint",
        "begin",
        "end",
        "since",
        "until",
        "prefix",
        "suffix",
        "consistency",
    }
)
_HASH = re.compile("[0-9a-f]{64}")


class ExportError(ValueError):
    """A file is no export, or not in its form; the text holds nothing of it."""


class UnknownVersion(ExportError):
    """A file is an export of a version that this program does not know."""


@dataclass(frozen=True, slots=True)
class Consistency:
    """The proof that the log of `old_size` records is the beginning of the exported one."""

    old_size: int
    proof: Sequence[bytes]


@dataclass(frozen=True, slots=True)
class Period:
    """The time that an export covers: from `since` to before `until`; `None` is the beginning or end of the log."""

    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Head:
    """The first line."""

    note: str
    """The signed checkpoint."""
    begin: int
    end: int
    period: Period
    prefix: Sequence[bytes]
    """The compact range of the leaves before `begin`."""
    suffix: Sequence[bytes]
    """The compact range of the leaves from `end` on."""
    consistency: Consistency | None

    def line(self) -> bytes:
        """Return the line."""
        proof: JsonObject | None = None
        if self.consistency is not None:
            proof = {"old_size": self.consistency.old_size, "proof": _texts(self.consistency.proof)}
        since, until = self.period.since, self.period.until
        value: JsonObject = {
            "format": FORMAT,
            "version": VERSION,
            "checkpoint": self.note,
            "begin": self.begin,
            "end": self.end,
            "since": None if since is None else rfc3339(since),
            "until": None if until is None else rfc3339(until),
            "prefix": _texts(self.prefix),
            "suffix": _texts(self.suffix),
            "consistency": proof,
        }
        return dumps(value) + b"\n"

    @classmethod
    def parse(cls, line: bytes) -> "Head":
        """Read the line.

        Raises:
            UnknownVersion: it is the head of another version.
            ExportError: it is no head.
        """
        value = _object(line)
        if value.get("format") != FORMAT:
            raise ExportError("the file is no audit export")
        if value.get("version") != VERSION:
            raise UnknownVersion("the file is an audit export of a version that this program does not know")
        if value.keys() != _NAMES:
            raise ExportError("the first line does not have the fields of its version")
        return cls(
            note=_text(value, "checkpoint"),
            begin=_number(value, "begin"),
            end=_number(value, "end"),
            period=Period(_instant(value, "since"), _instant(value, "until")),
            prefix=_hashes(value, "prefix"),
            suffix=_hashes(value, "suffix"),
            consistency=_consistency(value.get("consistency")),
        )


def record_line(body: bytes, leaf: int) -> bytes:
    """Return the line of one record, around its bytes as stored."""
    return b"%b%b%b" % (_BODY, body, _after_body(leaf))


def parse_record(line: bytes, leaf: int) -> bytes:
    """Return the bytes of the record of leaf `leaf`, which are not checked to be one.

    Raises:
        ExportError: the line is not that of this leaf.
    """
    end = _after_body(leaf)
    if not line.startswith(_BODY) or not line.endswith(end):
        raise ExportError(f"leaf {leaf} is missing or out of order")
    return line[len(_BODY) : -len(end)]


def last_line(records: int) -> bytes:
    """Return the line that ends a file of so many records."""
    return dumps({"records": records}) + b"\n"


def _after_body(leaf: int) -> bytes:
    return b',"leaf":%d}\n' % leaf


def _object(line: bytes) -> JsonObject:
    if not line.endswith(b"\n"):
        raise ExportError("the first line is cut off")
    try:
        return loads_strict(line[:-1])
    except CanonicalError as error:
        raise ExportError(f"the first line is {error}") from None


def _texts(hashes: Sequence[bytes]) -> list[JsonValue]:
    return [one.hex() for one in hashes]


def _text(value: JsonObject, name: str) -> str:
    text = value.get(name)
    if not isinstance(text, str):
        raise ExportError(f"`{name}` of the first line is no text")
    return text


def _number(value: JsonObject, name: str) -> int:
    number = value.get(name)
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise ExportError(f"`{name}` of the first line is no count")
    return number


def _instant(value: JsonObject, name: str) -> datetime | None:
    if value.get(name) is None:
        return None
    try:
        instant = datetime.fromisoformat(_text(value, name))
    except ValueError:
        raise ExportError(f"`{name}` of the first line is no instant") from None
    if instant.tzinfo is None:
        raise ExportError(f"`{name}` of the first line has no time zone")
    return instant


def _hashes(value: JsonObject, name: str) -> list[bytes]:
    texts = value.get(name)
    if not isinstance(texts, list):
        raise ExportError(f"`{name}` of the first line is no list")
    if not all(isinstance(text, str) and _HASH.fullmatch(text) for text in texts):
        raise ExportError(f"`{name}` of the first line holds what is no hash")
    return [bytes.fromhex(str(text)) for text in texts]


def _consistency(value: JsonValue) -> Consistency | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise ExportError("`consistency` of the first line is no proof")
    return Consistency(_number(value, "old_size"), _hashes(value, "proof"))
