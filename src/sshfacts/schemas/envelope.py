"""The envelope: the only thing an agent gets, facts or a failure of a finite code."""

import json
import re
import secrets
import string
from datetime import UTC, datetime
from hashlib import sha256

from sshfacts.errors import Code, Refusal
from sshfacts.schemas.contract import Contract
from sshfacts.schemas.envelope_schema import TOOL_NAME, failure_schema, success_schema
from sshfacts.schemas.profile import Kind
from sshfacts.values import JsonObject, JsonValue

UNKNOWN_TOOL = "unknown"
"""Stands for a name that no operation can have, so that nothing an agent sent is echoed."""
HOSTS_TOOL = "hosts"
"""Lists hosts at the doors of agents; it runs nothing, so no operation can have its name."""

_TOOL_NAME = re.compile(TOOL_NAME.removeprefix("^").removesuffix("$"))
_ALPHABET = string.ascii_letters + string.digits
_ID_LENGTH = 20  # 62^20 is 119 bits: nobody guesses the id of another call


def is_tool_name(name: str) -> bool:
    """Tell whether an operation could have this name."""
    return _TOOL_NAME.fullmatch(name) is not None


def new_request_id() -> str:
    """Return a fresh request id, such as `req.J7q94MkP...`."""
    return f"req.{_random()}"


def new_approval_id() -> str:
    """Return a fresh approval id, such as `apr.8s2Kd03L...`."""
    return f"apr.{_random()}"


def _random() -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(_ID_LENGTH))


def success(tool: str, request_id: str, host: str, collected_at: datetime, facts: JsonObject) -> JsonObject:
    """Return the envelope of an answer with facts; the engine's own members come first.

    Args:
        collected_at: the instant before the command was started, aware; shown in whole seconds, rounded down, so
            that the facts never look younger than they are.

    Raises:
        ValueError: the facts hold a member of the engine's.
    """
    instant = f"{collected_at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    own: JsonObject = {"host": host, "collected_at": instant}
    if not own.keys().isdisjoint(facts):
        raise ValueError("facts with a member of the engine's")
    return {"tool": tool, "request_id": request_id, "outcome": "success", "data": own | facts}


def failure(
    tool: str, request_id: str, code: Code, *, retryable: bool | None = None, approval_id: str | None = None
) -> JsonObject:
    """Return the envelope of an answer without facts.

    Args:
        tool: the name that was asked for; one that no operation can have is not echoed.
        retryable: the code's own value if left out; never more than that.
        approval_id: for `APPROVAL_REQUIRED`, and for nothing else.

    Raises:
        ValueError: an approval id is missing, or given where none belongs.
    """
    if (code is Code.APPROVAL_REQUIRED) is (approval_id is None):
        raise ValueError("an approval id belongs to APPROVAL_REQUIRED and to nothing else")
    error: JsonObject = {"code": code.value, "retryable": code.retryable and retryable is not False}
    if approval_id is not None:
        error["approval_id"] = approval_id
    name = tool if is_tool_name(tool) else UNKNOWN_TOOL
    return {"tool": name, "request_id": request_id, "outcome": "failure", "error": error}


def facts_digest(envelope: JsonObject) -> str:
    """Return the SHA-256 of the facts in a successful envelope, in hex: what the record keeps of them.

    It covers `data` as JSON with sorted names and without blanks, which is RFC 8785 as long as no fact is a fraction.

    Raises:
        KeyError: the envelope holds no facts.
    """
    text = json.dumps(envelope["data"], ensure_ascii=False, separators=(",", ":"), sort_keys=True, allow_nan=False)
    return sha256(text.encode()).hexdigest()


class EnvelopeContract:
    """What one operation may answer, as a whole; the last gate before the agent.

    Args:
        tool: the operation's name.
        facts: its facts contract.

    Raises:
        ValueError: the facts contract has a problem.
    """

    __slots__ = ("_failure", "_success", "success_schema")

    def __init__(self, tool: str, facts: JsonObject) -> None:
        self.success_schema = success_schema(tool, facts)
        self._success = Contract(self.success_schema, Kind.FACTS)
        self._failure = Contract(failure_schema(tool), Kind.FACTS)

    def validate(self, envelope: JsonValue) -> None:
        """Accept an answer of this operation.

        Raises:
            Refusal: `internal`; the engine made an answer that it never promised.
        """
        is_success = isinstance(envelope, dict) and envelope.get("outcome") == "success"
        violation = (self._success if is_success else self._failure).violation(envelope)
        if violation is not None:
            raise Refusal("internal", f"the envelope: {violation}")
