"""The one mapping from a record's body to the columns that queries use.

The recorder applies it when it writes and a verifier applies it again when it checks, so a column that was
edited alone shows. A column is the body's field of the same name, whatever the kind of the record; the few
columns that are not are `_NESTED` and the count of attempts. A body without the field has no value there.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TypeAlias

from sshfacts.values import JsonObject, JsonValue

Column: TypeAlias = str | int | datetime | None
"""What one projected column of one row holds."""

KINDS = frozenset(
    {
        "writer_start",
        "writer_stop",
        "intent",
        "started",
        "outcome",
        "orphan",
        "approval",
        "config",
        "raw_read",
        "raw_purged",
    }
)
"""Every kind of record."""

_REQUIRED = {
    "intent": ("request_id", "caller", "operation", "decision"),
    "started": ("request_id",),
    "outcome": ("request_id", "code"),
    "orphan": ("request_id",),
    "approval": ("request_id",),
}
_VERDICTS = frozenset({"allow", "deny", "ask"})

_TEXTS = (
    "request_id",
    "caller",
    "principal",
    "operation",
    "host",
    "effect",
    "reason",
    "approver",
    "code",
    "stage",
    "detail",
    "command",
    "host_key",
    "key_fingerprint",
    "catalogue_digest",
    "operation_digest",
    "service_version",
    "facts_sha256",
)
_NUMBERS = ("exit_status", "duration_us")
_NESTED = (
    ("decision", "decision", "decision", str),
    ("stdout_bytes", "stdout", "bytes", int),
    ("stdout_sha256", "stdout", "sha256", str),
    ("stderr_bytes", "stderr", "bytes", int),
    ("stderr_sha256", "stderr", "sha256", str),
)


class BodyError(ValueError):
    """A body cannot be a record; the text names the field and never holds its value."""


def project(body: JsonObject) -> dict[str, Column]:
    """Return every projected column of the row that holds `body`.

    Raises:
        BodyError: its kind is unknown, an identity is missing, or a field has a type that its column cannot hold.
    """
    kind = _kind(body)
    columns: dict[str, Column] = {"kind": kind, "at": _instant(body.get("at"))}
    for name in _TEXTS:
        columns[name] = _typed(name, body.get(name), str)
    for name in _NUMBERS:
        columns[name] = _typed(name, body.get(name), int)
    for name, outer, inner, type_ in _NESTED:
        columns[name] = _typed(name, _member(body, outer, inner), type_)
    columns["attempts"] = _count(body.get("attempts"))
    for name in _REQUIRED.get(kind, ()):
        if columns[name] is None:
            raise BodyError(f"a record of kind {kind} says its {name}")
    if kind == "intent" and columns["decision"] not in _VERDICTS:
        raise BodyError("an intent's decision is allow, deny or ask")
    return columns


def _kind(body: JsonObject) -> str:
    kind = body.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise BodyError("a record's kind is none that is known")
    return kind


def _instant(value: JsonValue) -> datetime:
    if not isinstance(value, str):
        raise BodyError("a record's instant `at` is RFC 3339 text")
    try:
        instant = datetime.fromisoformat(value)
    except ValueError:
        raise BodyError("a record's instant `at` is RFC 3339 text") from None
    if instant.tzinfo is None:
        raise BodyError("a record's instant `at` has no time zone")
    return instant.astimezone(UTC)


def _member(body: JsonObject, outer: str, inner: str) -> JsonValue:
    value = body.get(outer)
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise BodyError(f"{outer} is an object")
    return value.get(inner)


def _typed(name: str, value: JsonValue, type_: type[str] | type[int]) -> str | int | None:
    if value is None:
        return None
    if not isinstance(value, type_) or isinstance(value, bool):
        raise BodyError(f"{name} is of type {type_.__name__}")
    # An enum's member is its plain value in the column, as it is in the body: psycopg would write its name.
    return type_(value)


def _count(attempts: JsonValue) -> int | None:
    if attempts is None:
        return None
    if not isinstance(attempts, list):
        raise BodyError("attempts is a list")
    return len(attempts)
