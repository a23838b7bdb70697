"""The functions of JMESPath that a selection may use: a closed list, and strict additions.

JMESPath's own `to_number` is off: it takes `NaN`, `1_000` and `" 12 "`. A strict function converts exactly or raises,
and `Selection` turns that into a refusal of the call. `null` stays `null`: whether a fact may be null is said by its
contract.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import isfinite
from types import MappingProxyType

from jmespath.functions import Functions, signature

from sshfacts.schemas.assertions import identity
from sshfacts.values import JsonObject, JsonValue

_LARGEST = 2**53 - 1  # the largest integer that every JSON reader keeps exactly (RFC 7493, section 2.2)
_LATEST = 253_402_300_799  # 9999-12-31T23:59:59Z: RFC 3339 has four digits for the year
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,15})")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,15})(?:\.[0-9]{1,17})?(?:[eE][+-]?[0-9]{1,3})?")
_UNIX_TIME = re.compile(r"@?(0|[1-9][0-9]{0,11})(?:\.([0-9]{1,6}))?")
_KIB = re.compile(r"(0|[1-9][0-9]{0,15}) kB")


class NotExactError(ValueError):
    """A strict function has no exact result; the text never holds the value."""


def integer(value: JsonValue) -> int | None:
    """Return an integer from a number without a fraction, or from plain decimal text: no `+`, no blanks, no leading 0.

    Raises:
        NotExactError: it is anything else, or beyond ±(2^53-1).
    """
    if value is None:
        return None
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > _LARGEST:
        raise NotExactError("not an integer")
    return value


def number(value: JsonValue) -> float | None:
    """Return a number from a number, or from JSON's own text form of one.

    Raises:
        NotExactError: it is anything else, not finite, or an integer beyond ±(2^53-1).
    """
    if isinstance(value, str) and _NUMBER.fullmatch(value) and not _INTEGER.fullmatch(value):
        value = float(value)
    if isinstance(value, float) and isfinite(value):
        return value
    return integer(value)


def kib_bytes(value: JsonValue) -> int | None:
    """Return bytes from KiB: an integer or its text, or text with the `kB` of /proc/meminfo, which means KiB.

    Raises:
        NotExactError: it is anything else, negative, or beyond 2^53-1 bytes.
    """
    with_unit = _KIB.fullmatch(value) if isinstance(value, str) else None
    kib = integer(with_unit[1] if with_unit is not None else value)
    if kib is not None and kib < 0:
        raise NotExactError("not a size")
    return integer(kib * 1024) if kib is not None else None


def unix_time(value: JsonValue) -> str | None:
    """Return an RFC 3339 time in UTC from seconds since 1970: an integer, or text with or without `@` and a fraction.

    Raises:
        NotExactError: it is anything else, before 1970 or after 9999.
    """
    if value is None:
        return None
    text = str(integer(value)) if not isinstance(value, str) else value
    parts = _UNIX_TIME.fullmatch(text)
    if parts is None or int(parts[1]) > _LATEST:
        raise NotExactError("not a time")
    instant = _EPOCH + timedelta(seconds=int(parts[1]))
    fraction = f".{parts[2]}" if parts[2] else ""
    return f"{instant:%Y-%m-%dT%H:%M:%S}{fraction}Z".rjust(20 + len(fraction), "0")


def none_if(value: JsonValue, marker: JsonValue) -> JsonValue:
    """Return `null` if the value is the marker, or one of the markers in a list; else the value."""
    markers = marker if isinstance(marker, list) else [marker]
    return None if identity(value) in set(map(identity, markers)) else value


def before_last(value: JsonValue, separator: str) -> str | None:
    """Return what stands before the last separator of a text, such as the address before its port.

    Raises:
        NotExactError: it is no text, or the separator is empty or does not stand in it.
    """
    return _split(value, separator)[0] if value is not None else None


def after_last(value: JsonValue, separator: str) -> str | None:
    """Return what stands after the last separator of a text, such as the port after its address.

    Raises:
        NotExactError: it is no text, or the separator is empty or does not stand in it.
    """
    return _split(value, separator)[1] if value is not None else None


def _split(value: JsonValue, separator: str) -> tuple[str, str]:
    if not isinstance(value, str) or not separator or separator not in value:
        raise NotExactError("not in two parts")
    before, _, after = value.rpartition(separator)
    return before, after


def where(rows: list[JsonValue], key: str, value: JsonValue) -> list[JsonObject]:
    """Return the rows whose member `key` equals `value`; a row without the member is none of them.

    Raises:
        NotExactError: a row is not an object.
    """
    wanted = identity(value)
    found: list[JsonObject] = []
    for row in rows:
        if not isinstance(row, dict):
            raise NotExactError("a row is not an object")
        if key in row and identity(row[key]) == wanted:
            found.append(row)
    return found


def one(rows: list[JsonValue], key: str, value: JsonValue) -> JsonObject:
    """Return the one row whose member `key` equals `value`.

    Raises:
        NotExactError: there is none, or more than one.
    """
    found = where(rows, key, value)
    if len(found) != 1:
        raise NotExactError("not exactly one row")
    return found[0]


class StrictFunctions(Functions):
    """JMESPath's functions and ours; which of them a selection may call is decided when it is loaded."""

    @signature({"types": []})
    def _func_integer(self, value: JsonValue) -> JsonValue:
        return integer(value)

    @signature({"types": []})
    def _func_number(self, value: JsonValue) -> JsonValue:
        return number(value)

    @signature({"types": []})
    def _func_kib_bytes(self, value: JsonValue) -> JsonValue:
        return kib_bytes(value)

    @signature({"types": []})
    def _func_unix_time(self, value: JsonValue) -> JsonValue:
        return unix_time(value)

    @signature({"types": []}, {"types": []})
    def _func_none_if(self, value: JsonValue, marker: JsonValue) -> JsonValue:
        return none_if(value, marker)

    @signature({"types": []}, {"types": ["string"]})
    def _func_before_last(self, value: JsonValue, separator: str) -> JsonValue:
        return before_last(value, separator)

    @signature({"types": []}, {"types": ["string"]})
    def _func_after_last(self, value: JsonValue, separator: str) -> JsonValue:
        return after_last(value, separator)

    @signature({"types": ["array"]}, {"types": ["string"]}, {"types": []})
    def _func_where(self, rows: list[JsonValue], key: str, value: JsonValue) -> JsonValue:
        return [*where(rows, key, value)]

    @signature({"types": ["array"]}, {"types": ["string"]}, {"types": []})
    def _func_one(self, rows: list[JsonValue], key: str, value: JsonValue) -> JsonValue:
        return one(rows, key, value)


_STANDARD = (
    "abs ceil contains ends_with floor join keys length map max max_by merge min min_by not_null reverse sort sort_by "
    "starts_with sum to_array type values"
)
_STRICT = "after_last before_last integer kib_bytes none_if number one unix_time where"


@dataclass(frozen=True, slots=True)
class Arity:
    """How many arguments a function takes."""

    least: int
    is_open: bool


def _arity(name: str) -> Arity:
    parameters = StrictFunctions.FUNCTION_TABLE[name]["signature"]
    return Arity(len(parameters), bool(parameters and parameters[-1].get("variadic")))


ALLOWED: Mapping[str, Arity] = MappingProxyType({name: _arity(name) for name in [*_STANDARD.split(), *_STRICT.split()]})
"""Every function that a selection may call."""
