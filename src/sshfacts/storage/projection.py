"""The one mapping from a record's body to the columns that queries use.

The recorder applies it when it writes and a verifier applies it again when it checks, so a column that was
edited alone shows. A column is the body's field of the same name, whatever the kind of the record; the few
columns that are not are `_NESTED` and the count of attempts. A body without the field has no value there.

A column that an index holds is short: PostgreSQL refuses a longer value, and with it the whole batch.
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
        "token",
        "pause",
        "turned_away",
        "signing_key",
        "raw_read",
        "raw_purged",
        "raw_rewrapped",
    }
)
"""Every kind of record."""

_REQUIRED = {
    "intent": ("request_id", "caller", "operation", "decision"),
    "started": ("request_id",),
    "outcome": ("request_id", "code"),
    "orphan": ("request_id",),
    "approval": ("request_id", "reason"),
    "token": ("reason",),
    "pause": ("reason",),
    "turned_away": ("detail",),
    "signing_key": ("reason",),
    "raw_read": ("request_id", "reason"),
    "raw_purged": ("request_id",),
}
_TEXT_BYTES = 1_024
"""UTF-8 of the text of one column; an index of PostgreSQL takes 2,704 bytes for all of its columns."""
_LONG_TEXTS = frozenset({"command"})
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
    "policy_digest",
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
    columns: dict[str, Column] = {"kind": kind, "at": _instant("at", body.get("at"))}
    deadline = body.get("deadline_at")
    columns["deadline_at"] = None if deadline is None else _instant("deadline_at", deadline)
    for name in _TEXTS:
        columns[name] = _text(name, body.get(name))
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


def _instant(name: str, value: JsonValue) -> datetime:
    if not isinstance(value, str):
        raise BodyError(f"a record's instant `{name}` is RFC 3339 text")
    try:
        instant = datetime.fromisoformat(value)
    except ValueError:
        raise BodyError(f"a record's instant `{name}` is RFC 3339 text") from None
    if instant.tzinfo is None:
        raise BodyError(f"a record's instant `{name}` has no time zone")
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


def _text(name: str, value: JsonValue) -> str | int | None:
    text = _typed(name, value, str)
    # Counting characters is cheap, and hardly any text is long enough for its bytes to be counted.
    may_be_long = isinstance(text, str) and len(text) > _TEXT_BYTES // 4 and name not in _LONG_TEXTS
    if may_be_long and len(str(text).encode("utf-8", "surrogatepass")) > _TEXT_BYTES:
        raise BodyError(f"{name} is longer than {_TEXT_BYTES} bytes")
    return text


def _count(attempts: JsonValue) -> int | None:
    if attempts is None:
        return None
    if not isinstance(attempts, list):
        raise BodyError("attempts is a list")
    return len(attempts)
