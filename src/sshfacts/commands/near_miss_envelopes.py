"""Near misses of an answer to an agent: success XOR failure is what an agent relies on, and these are neither."""

from collections.abc import Iterator

from sshfacts.errors import Code
from sshfacts.schemas.envelope import failure
from sshfacts.values import JsonObject

_APPROVAL = "apr.8s2Kd03L"


def envelope_flaws(success: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """Yield flawed forms of an envelope with facts, and of failures of the same call.

    Args:
        success: a valid envelope with facts.
    """
    tool, request_id = str(success["tool"]), str(success["request_id"])
    failed = failure(tool, request_id, Code.INVALID_RESPONSE)
    yield from _of_success(success, failed)
    yield from _of_failure(failed, success)
    yield from _of_error(failed)
    for envelope in (success, failed):
        yield from _of_both(envelope)


def _of_success(success: JsonObject, failed: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    data = success["data"]
    facts = data if isinstance(data, dict) else {}
    yield "success that also has an error", {**success, "error": failed["error"]}
    yield "success with an error for data", {**_without(success, "data"), "error": failed["error"]}
    yield "success without data", _without(success, "data")
    yield "success without a value for data", {**success, "data": None}
    yield "success with a list of data", {**success, "data": [data]}
    yield "data without a host", {**success, "data": _without(facts, "host")}
    yield "data without a time", {**success, "data": _without(facts, "collected_at")}
    yield "data with a host that is no alias", {**success, "data": {**facts, "host": "web 1"}}
    yield "data with a time without a zone", {**success, "data": {**facts, "collected_at": "2026-11-30T10:00:00"}}


def _of_failure(failed: JsonObject, success: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    yield "failure that also has data", {**failed, "data": success["data"]}
    yield "failure with data for an error", {**_without(failed, "error"), "data": success["data"]}
    yield "failure without an error", _without(failed, "error")
    yield "failure without a value for error", {**failed, "error": None}
    yield "failure with a text for an error", {**failed, "error": "INVALID_RESPONSE"}
    yield "failure with a message", {**failed, "message": "it did not work"}


def _of_error(failed: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    asking: JsonObject = {"code": "APPROVAL_REQUIRED", "retryable": True, "approval_id": _APPROVAL}
    errors: tuple[tuple[str, JsonObject], ...] = (
        ("an unknown code", {"code": "OK", "retryable": False}),
        ("a final code that invites to try again", {"code": "DENIED", "retryable": True}),
        ("a code in lower case", {"code": "denied", "retryable": False}),
        ("an error without a code", {"retryable": False}),
        ("an error that does not say whether to retry", {"code": "DENIED"}),
        ("an error that says in a text whether to retry", {"code": "DENIED", "retryable": "no"}),
        ("an error with a message", {"code": "DENIED", "retryable": False, "message": "ask again"}),
        ("an error with a detail", {"code": "DENIED", "retryable": False, "detail": "grant_missing"}),
        ("an approval that nothing asks for", {"code": "DENIED", "retryable": False, "approval_id": _APPROVAL}),
        ("an approval without an id", {"code": "APPROVAL_REQUIRED", "retryable": True}),
        ("an approval with an id that is none", {**asking, "approval_id": "8s2Kd03L"}),
        ("an approval that is not to be waited for", {**asking, "retryable": False}),
        ("an approval with a message", {**asking, "message": "ask again"}),
    )
    yield from ((flaw, {**failed, "error": error}) for flaw, error in errors)


def _of_both(envelope: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    outcome = envelope["outcome"]
    other = "failure" if outcome == "success" else "success"
    yield f"{outcome} that says {other}", {**envelope, "outcome": other}
    yield f"{outcome} that says neither", {**envelope, "outcome": "partial"}
    yield f"{outcome} without an outcome", _without(envelope, "outcome")
    yield f"{outcome} of another tool", {**envelope, "tool": f"{envelope['tool']}x"}
    yield f"{outcome} without a tool", _without(envelope, "tool")
    yield f"{outcome} without a request id", _without(envelope, "request_id")
    yield f"{outcome} with a request id that is none", {**envelope, "request_id": "req 1"}
    yield f"{outcome} with one more member", {**envelope, "near_miss": True}


def _without(value: JsonObject, name: str) -> JsonObject:
    return {key: member for key, member in value.items() if key != name}
