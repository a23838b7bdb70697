"""The one form in which a record is stored and hashed: RFC 8785 (JCS) of a restricted JSON value.

The restriction is what makes any RFC 8785 implementation in any language give the same bytes: names are
ASCII, text holds neither NUL nor lone surrogates, integers lie within ±(2^53-1), and there are no floats.
Durations are integer microseconds, and instants are RFC 3339 text.

A record is hashed as stored and never serialised anew: Rekor's entries of old versions stopped verifying
because a newer version wrote the same value in another form.
"""

import json
import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256

from sshfacts.limits import STDERR_KEPT
from sshfacts.values import JsonObject, JsonValue

DEPTH = 16
"""Containers open at once in one record."""

_LARGEST = 2**53 - 1  # the largest integer that every JSON reader keeps exactly (RFC 7493, section 2.2)
_UNSHOWABLE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_KEPT_CONTROLS = frozenset("\n\t")
_REPLACEMENT = "\ufffd"

# For the restricted value this output is byte for byte RFC 8785; a property test holds it against `rfc8785`.
_ENCODER = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), sort_keys=True, allow_nan=False, check_circular=False
)


class CanonicalError(ValueError):
    """A value has no canonical form here; the text says which rule it breaks, and never holds the value."""


def dumps(value: JsonObject) -> bytes:
    """Return the canonical bytes of a record.

    Raises:
        CanonicalError: the value breaks the restriction.
    """
    _check(value, 1)
    return _ENCODER.encode(value).encode("utf-8")


def loads_strict(data: bytes) -> JsonObject:
    """Read a record, and insist that `data` is exactly its canonical form.

    Raises:
        CanonicalError: it is not JSON, not an object, or not in canonical form.
    """
    try:
        value = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        raise CanonicalError("not JSON") from None  # the parser's text would quote the data
    if not isinstance(value, dict):
        raise CanonicalError("not an object")
    if dumps(value) != data:  # this finds duplicate names too, since parsing drops one of them
        raise CanonicalError("not in canonical form")
    return value


def leaf_hash(data: bytes) -> bytes:
    """Return the hash of one record: SHA-256 over a zero byte and the bytes as stored (RFC 9162, section 2.1.1)."""
    return sha256(b"\x00" + data).digest()


def clean(text: str, limit: int = STDERR_KEPT) -> str:
    """Make text of a remote host storable and showable.

    Characters that steer a terminal or hide text (controls but line feed and tab, bidirectional and
    zero-width formats) and those that a database refuses (NUL, lone surrogates) become U+FFFD.

    Args:
        limit: bytes of UTF-8 that are kept; the cut never splits a character.
    """
    shown = "".join(_REPLACEMENT if _is_unshowable(character) else character for character in text[:limit])
    return shown.encode("utf-8")[:limit].decode("utf-8", "ignore")


def timestamp(microseconds: int) -> str:
    """Return an instant, in microseconds since 1970 in UTC, as RFC 3339 text with six decimals."""
    seconds, fraction = divmod(microseconds, 1_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{fraction:06d}Z"


def rfc3339(instant: datetime) -> str:
    """Return an aware instant as a record holds it."""
    return timestamp(round(instant.timestamp() * 1_000_000))


def _is_unshowable(character: str) -> bool:
    return unicodedata.category(character) in _UNSHOWABLE and character not in _KEPT_CONTROLS


def _check(value: JsonValue, depth: int) -> None:
    """Raise unless `value`, whose outermost container is the `depth`-th open one, obeys the restriction."""
    if isinstance(value, str):
        _check_text(value)
    elif value is None or isinstance(value, bool):
        return
    elif isinstance(value, int):
        if not -_LARGEST <= value <= _LARGEST:
            raise CanonicalError("an integer outside ±(2^53-1)")
    elif depth > DEPTH:
        raise CanonicalError(f"nested deeper than {DEPTH}")
    elif isinstance(value, Mapping):
        for name, member in value.items():
            _check_name(name)
            _check(member, depth + 1)
    elif isinstance(value, list):
        for item in value:
            _check(item, depth + 1)
    else:
        raise CanonicalError(f"a {type(value).__name__} is not allowed in a record")


def _check_name(name: object) -> None:
    # Only for ASCII do the orders by code point (Python) and by UTF-16 unit (RFC 8785) surely agree.
    if not isinstance(name, str) or not name.isascii() or "\x00" in name:
        raise CanonicalError("a name that is not ASCII text")


def _check_text(text: str) -> None:
    if "\x00" in text:  # PostgreSQL refuses it in text and in jsonb
        raise CanonicalError("a NUL in a text")
    if text.isascii():
        return
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise CanonicalError("a lone surrogate in a text") from None
