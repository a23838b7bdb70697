"""What every client does at the doors, and what must come of it: one story, told by many clients."""

from collections.abc import Iterable
from typing import TypedDict

from sshfacts.values import JsonObject

CALLS: list[tuple[str, JsonObject]] = [
    ("host_os", {"host": "web-1"}),
    ("host_os", {"host": "nowhere"}),
    ("service_status", {"host": "web-1", "unit": "--all"}),
    ("net_addresses", {"host": "web-1"}),
    ("nothing_here", {"host": "web-1"}),
]
"""A success, and four ways of getting none; `net_addresses` needs a grant that nobody has."""

CODES = [None, "DENIED", "INVALID_ARGUMENTS", "DENIED", "DENIED"]


class Told(TypedDict):
    """What a client saw; each client writes this as JSON."""

    tools: list[str]
    results: list[JsonObject]
    """Each with `isError`, `structuredContent` and `text`: the content, whose blocks are joined."""


def check(told: Told, expected_tools: Iterable[str]) -> None:
    """Hold what a client saw against the story."""
    assert told["tools"] == sorted(expected_tools)
    assert len(told["results"]) == len(CALLS)
    for (tool, _), code, result in zip(CALLS, CODES, told["results"], strict=True):
        text = result["text"]
        assert isinstance(text, dict)
        assert text["tool"] == tool
        if code is None:
            assert not result["isError"]
            assert result["structuredContent"] == text
            assert text["outcome"] == "success"
        else:
            assert result["isError"]
            assert result["structuredContent"] is None
            assert text["error"] == {"code": code, "retryable": False}
