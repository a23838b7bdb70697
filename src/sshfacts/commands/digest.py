"""Digests of what was vetted: the same for the same content, whatever the folder, the comments or the order of keys."""

import json
from collections.abc import Iterable
from hashlib import sha256

from sshfacts.values import JsonObject, JsonValue

_FORMAT = 1
"""Part of every digest; raised when the way of digesting changes."""


def operation_digest(command: JsonValue, document: JsonValue, facts: JsonValue, adapter: bytes | None) -> str:
    """Return the SHA-256 (hex) of an operation's content: command file, both contracts and adapter.

    It changes whenever anything changes that decides what runs or what is believed, so it stands in
    every record and an approval is bound to it.
    """
    return _digest(
        {
            "format": _FORMAT,
            "command": command,
            "document": document,
            "facts": facts,
            "adapter": None if adapter is None else sha256(adapter).hexdigest(),
        }
    )


def catalogue_digest(operations: Iterable[tuple[str, str]]) -> str:
    """Return the SHA-256 (hex) over all served operations, given as name and digest."""
    pairs: list[JsonValue] = [[name, digest] for name, digest in sorted(operations)]
    return _digest({"format": _FORMAT, "operations": pairs})


def _digest(value: JsonObject) -> str:
    # One fixed form: sorted names, no white space. The values come from files that hold no NaN.
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return sha256(text.encode("utf-8")).hexdigest()
