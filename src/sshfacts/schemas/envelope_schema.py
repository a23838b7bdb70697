"""The schemas of what an agent gets: `python -m sshfacts.schemas.envelope_schema` prints the one for all operations.

`schemas/envelope.schema.json` holds what this prints; a test fails when the two differ.
"""

import json
import sys

from sshfacts.errors import Code
from sshfacts.schemas.inline import inlined
from sshfacts.schemas.keywords import DIALECT
from sshfacts.values import JsonObject, JsonValue

TOOL_NAME = "^[a-z][a-z0-9_]{2,39}$"
"""The form of an operation's name."""
REQUEST_ID = "^[A-Za-z0-9][A-Za-z0-9_.]{7,63}$"
"""The form of a request id; ours begin with `req.`."""
APPROVAL_ID = r"^apr\.[A-Za-z0-9]{8,40}$"
"""The form of an approval id."""
HOST_ALIAS = "^[a-z0-9][a-z0-9_.-]{0,62}$"
"""The form of a host's alias."""


def _text(pattern: str, longest: int, description: str) -> JsonObject:
    return {"type": "string", "maxLength": longest, "pattern": pattern, "description": description}


_REQUEST_ID = _text(REQUEST_ID, 64, "Names this call in the record; quote it to a person.")
_HOST = _text(HOST_ALIAS, 63, "The host that was asked.")
_COLLECTED_AT: JsonObject = {
    "type": "string",
    "format": "date-time",
    "description": "The instant before the command was started, in UTC.",
}
_WRITTEN_BY_THE_ENGINE: JsonObject = {"host": _HOST, "collected_at": _COLLECTED_AT}


def _closed(properties: JsonObject) -> JsonObject:
    return {"type": "object", "additionalProperties": False, "required": [*properties], "properties": properties}


def _form(tool: JsonObject, outcome: str, name: str, content: JsonObject) -> JsonObject:
    return _closed({"tool": tool, "request_id": _REQUEST_ID, "outcome": {"const": outcome}, name: content})


def _errors() -> tuple[JsonObject, JsonObject]:
    """Return the two forms of an error: one asks for an approval, all others do not.

    A code that is final never invites to try again; one that is not may still say no, as for a change that may have
    happened.
    """
    final: list[JsonValue] = [code.value for code in Code if not code.retryable]
    passing: list[JsonValue] = [code.value for code in Code if code.retryable and code is not Code.APPROVAL_REQUIRED]
    retryable: JsonObject = {"type": "boolean", "description": "Whether the same call may succeed later."}
    plain: JsonObject = {
        "oneOf": [
            _closed({"code": {"enum": final}, "retryable": {"const": False}}),
            _closed({"code": {"enum": passing}, "retryable": retryable}),
        ]
    }
    asking = _closed(
        {
            "code": {"const": Code.APPROVAL_REQUIRED.value},
            "retryable": {"const": True},
            "approval_id": _text(APPROVAL_ID, 44, "Names the approval that a person must give."),
        }
    )
    return plain, asking


def success_schema(tool: str, facts: JsonObject) -> JsonObject:
    """Return the schema of an operation's answer with facts: closed, an object at the root, without references.

    Args:
        facts: the facts contract; the engine's own members are added to it.
    """
    data = inlined(facts)
    described, required = data.get("properties"), data.get("required")
    data["properties"] = {**_WRITTEN_BY_THE_ENGINE, **(described if isinstance(described, dict) else {})}
    data["required"] = [*_WRITTEN_BY_THE_ENGINE, *(required if isinstance(required, list) else [])]
    return {"$schema": DIALECT, **_form({"const": tool}, "success", "data", data)}


def failure_schema(tool: str) -> JsonObject:
    """Return the schema of an operation's answer without facts."""
    return {"$schema": DIALECT, **_form({"const": tool}, "failure", "error", {"oneOf": [*_errors()]})}


def envelope_schema() -> JsonObject:
    """Return the schema that every answer of every operation keeps to."""
    tool = _text(TOOL_NAME, 40, "The operation that was called.")
    data: JsonObject = {
        "type": "object",
        "x-open-because": "The facts contract of the operation names the other members and closes the object.",
        "required": [*_WRITTEN_BY_THE_ENGINE],
        "properties": _WRITTEN_BY_THE_ENGINE,
    }
    return {
        "$schema": DIALECT,
        "$id": "urn:sshfacts:envelope:1",
        "title": "What an agent gets: facts, or a failure of a finite code",
        "oneOf": [
            _form(tool, "success", "data", data),
            *(_form(tool, "failure", "error", error) for error in _errors()),
        ],
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(envelope_schema(), indent=2, ensure_ascii=False) + "\n")
