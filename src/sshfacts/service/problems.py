"""What a door refuses before it has a request: a closed list of codes.

A request that was understood and came from a known caller gets an envelope, whose codes are those of `errors.Code`.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from sshfacts.errors import SshfactsError
from sshfacts.values import JsonObject


class Problem(StrEnum):
    """Why something that came in is no request."""

    BODY_DUPLICATE_NAME = "BODY_DUPLICATE_NAME"
    BODY_ENCODING = "BODY_ENCODING"
    BODY_NOT_JSON = "BODY_NOT_JSON"
    BODY_NOT_MESSAGE = "BODY_NOT_MESSAGE"
    BODY_NOT_OBJECT = "BODY_NOT_OBJECT"
    BODY_NUMBER = "BODY_NUMBER"
    BODY_SLOW = "BODY_SLOW"
    BODY_TOO_DEEP = "BODY_TOO_DEEP"
    BODY_TOO_LARGE = "BODY_TOO_LARGE"
    BODY_TYPE = "BODY_TYPE"
    FAULT = "FAULT"
    HOST_REFUSED = "HOST_REFUSED"
    INSUFFICIENT_SCOPE = "INSUFFICIENT_SCOPE"
    INTERRUPTED = "INTERRUPTED"
    METHOD_REFUSED = "METHOD_REFUSED"
    NO_SUCH_PATH = "NO_SUCH_PATH"
    ORIGIN_REFUSED = "ORIGIN_REFUSED"
    QUERY_REFUSED = "QUERY_REFUSED"
    RECORD_UNAVAILABLE = "RECORD_UNAVAILABLE"
    SHUTTING_DOWN = "SHUTTING_DOWN"
    UNAUTHENTICATED = "UNAUTHENTICATED"

    @property
    def status(self) -> int:
        """The status of the HTTP answer."""
        return _ENTRIES[self][0]

    @property
    def meaning(self) -> str:
        """What is wrong, in one sentence."""
        return _ENTRIES[self][1]

    @property
    def retryable(self) -> bool:
        """Whether the same request may be taken later."""
        return self in _PASSING


_PASSING = frozenset({Problem.BODY_SLOW, Problem.RECORD_UNAVAILABLE, Problem.SHUTTING_DOWN})
_ENTRIES: Mapping[Problem, tuple[int, str]] = MappingProxyType(
    {
        Problem.BODY_DUPLICATE_NAME: (400, "An object of the body holds a name twice, so that readers differ."),
        Problem.BODY_ENCODING: (400, "The body is not UTF-8."),
        Problem.BODY_NOT_JSON: (400, "The body is not one JSON document; NaN and Infinity are no JSON."),
        Problem.BODY_NOT_MESSAGE: (400, "The body is no request and no notification of JSON-RPC 2.0."),
        Problem.BODY_NOT_OBJECT: (400, "The body must be one JSON object, with nothing before it."),
        Problem.BODY_NUMBER: (400, "A number of the body is longer or larger than any that is asked for."),
        Problem.BODY_SLOW: (408, "The body did not arrive in time."),
        Problem.BODY_TOO_DEEP: (400, "The body is nested more deeply than any request."),
        Problem.BODY_TOO_LARGE: (413, "The body, or a text or list in it, is larger than any request."),
        Problem.BODY_TYPE: (415, "The body must be application/json, without a content encoding."),
        Problem.FAULT: (500, "The service has a fault."),
        Problem.HOST_REFUSED: (421, "The header Host does not name this service; see service.allowed_hosts."),
        Problem.INSUFFICIENT_SCOPE: (403, "The token lacks a scope that this service requires."),
        Problem.INTERRUPTED: (503, "The service ended before the call did; the call may have had its effect."),
        Problem.METHOD_REFUSED: (405, "This path does not take this method."),
        Problem.NO_SUCH_PATH: (404, "There is nothing at this path."),
        Problem.ORIGIN_REFUSED: (403, "Web pages of this origin may not call; see service.allowed_origins."),
        Problem.QUERY_REFUSED: (400, "The query holds a parameter that is not known here, not valid, or there twice."),
        Problem.RECORD_UNAVAILABLE: (503, "The record is not available, so nothing is run."),
        Problem.SHUTTING_DOWN: (503, "The service is shutting down."),
        Problem.UNAUTHENTICATED: (401, "The request comes with no token that is valid here."),
    }
)  # fmt: skip


class NotARequest(SshfactsError):
    """What came in is not taken as a request.

    Args:
        headers: of the HTTP answer, beside those that every answer has.
    """

    def __init__(self, problem: Problem, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(problem.meaning)
        self.problem = problem
        self.headers = headers or {}


def as_json(problem: Problem) -> JsonObject:
    """Return the body of the HTTP answer: `error` has the members it has in an envelope, and a sentence for people."""
    return {"error": {"code": problem.value, "retryable": problem.retryable, "message": problem.meaning}}
