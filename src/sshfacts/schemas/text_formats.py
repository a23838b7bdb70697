"""The text formats that a contract may name, each exact and each bounded in length.

The package jsonschema has formats of its own. They are not used: an unknown or not installed one passes everything
without a word, and of the installed ones several accept a final newline or non-ASCII digits.
"""

import re
from collections.abc import Callable, Mapping
from datetime import date
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from types import MappingProxyType

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DATE_TIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt]([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9]|60)(?:\.[0-9]{1,18})?"
    r"(?:[Zz]|([+-])([01][0-9]|2[0-3]):([0-5][0-9]))"
)
_UUID = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOSTNAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_MINUTES_OF_DAY = 24 * 60


def is_date(text: str) -> bool:
    """RFC 3339 `full-date`, and a day that exists. Year 0000 does not, as in Python."""
    if _DATE.fullmatch(text) is None:
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def is_date_time(text: str) -> bool:
    """RFC 3339 `date-time`: an instant that exists. A leap second only stands at the end of a UTC day."""
    parts = _DATE_TIME.fullmatch(text)
    if parts is None or not is_date(parts[1]):
        return False
    if parts[4] != "60":
        return True
    offset = 0 if parts[5] is None else int(parts[6]) * 60 + int(parts[7])
    local = int(parts[2]) * 60 + int(parts[3])
    utc = local + offset if parts[5] == "-" else local - offset
    return utc % _MINUTES_OF_DAY == _MINUTES_OF_DAY - 1


def is_uuid(text: str) -> bool:
    """RFC 9562 text form, in either case."""
    return _UUID.fullmatch(text) is not None


def is_ipv4(text: str) -> bool:
    """Dotted quad without leading zeros, which some readers take for octal."""
    return _is_address(IPv4Address, text)


def is_ipv6(text: str) -> bool:
    """RFC 4291 text form without a zone, which means nothing on another host."""
    return "%" not in text and _is_address(IPv6Address, text)


def _is_address(read: Callable[[str], object], text: str) -> bool:
    try:
        read(text)
    except AddressValueError:
        return False
    return True


def is_hostname(text: str) -> bool:
    """RFC 1123 host name without a final dot; the last label is not a number, which would be an address.

    An internationalised label (`xn--...`) is judged by its letters alone.
    """
    if len(text) > 253 or _HOSTNAME.fullmatch(text) is None:
        return False
    return not text.rpartition(".")[2].isdigit()


FORMATS: Mapping[str, Callable[[str], bool]] = MappingProxyType(
    {
        "date": is_date,
        "date-time": is_date_time,
        "hostname": is_hostname,
        "ipv4": is_ipv4,
        "ipv6": is_ipv6,
        "uuid": is_uuid,
    }
)
"""Every format that a contract may name. Each bounds the length of its text: the longest is a host name, 253."""
