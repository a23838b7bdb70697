"""What is taken as a request body, and the code of each flaw that is not."""

import json

import pytest

from sshfacts.limits import REQUEST
from sshfacts.service.body import check_message, parse_object
from sshfacts.service.problems import NotARequest, Problem


def problem_of(body: bytes) -> Problem:
    with pytest.raises(NotARequest) as caught:
        parse_object(body)
    return caught.value.problem


@pytest.mark.parametrize(
    "body",
    [b'{"host": "web-1", "n": 3}', b' \r\n\t{"host": "web-1", "n": 3}\n\n ', b'{"host":"\\u0077eb-1","n":3}'],
    ids=["plain", "white space around", "escapes"],
)
def test_one_object_is_taken(body: bytes):
    assert parse_object(body) == {"host": "web-1", "n": 3}


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"", Problem.BODY_NOT_OBJECT),
        (b"  ", Problem.BODY_NOT_OBJECT),
        (b"[]", Problem.BODY_NOT_OBJECT),
        (b'"text"', Problem.BODY_NOT_OBJECT),
        (b"null", Problem.BODY_NOT_OBJECT),
        (b"\xef\xbb\xbf{}", Problem.BODY_NOT_OBJECT),
        (b"host=web-1", Problem.BODY_NOT_OBJECT),
        (b'{"a": 1', Problem.BODY_NOT_JSON),
        (b"{'a': 1}", Problem.BODY_NOT_JSON),
        (b'{"a": NaN}', Problem.BODY_NOT_JSON),
        (b'{"a": Infinity}', Problem.BODY_NOT_JSON),
        (b'{"a": -Infinity}', Problem.BODY_NOT_JSON),
        (b'{"a": 1} {"b": 2}', Problem.BODY_NOT_JSON),
        (b'{"a": 1, /* why */ "b": 2}', Problem.BODY_NOT_JSON),
        (b'{"a": 1,}', Problem.BODY_NOT_JSON),
        (b'{"a": "\xff"}', Problem.BODY_ENCODING),
        (b'{"a": 1e999}', Problem.BODY_NUMBER),
        (b'{"a": ' + b"9" * 40 + b"}", Problem.BODY_NUMBER),
        (b'{"host": "web-1", "host": "web-2"}', Problem.BODY_DUPLICATE_NAME),
        (b'{"host": "web-1", "\\u0068ost": "web-2"}', Problem.BODY_DUPLICATE_NAME),
        (b'{"a": {"b": 1, "b": 1}}', Problem.BODY_DUPLICATE_NAME),
        (b'{"a":' * 20 + b"1" + b"}" * 20, Problem.BODY_TOO_DEEP),
        (b"[" * 60_000, Problem.BODY_TOO_DEEP),
        (b'{"a": "' + b"x" * 9_000 + b'"}', Problem.BODY_TOO_LARGE),
        (b'{"a": "' + b"x" * REQUEST.bytes + b'"}', Problem.BODY_TOO_LARGE),
    ],
)
def test_each_flaw_has_its_code(body: bytes, problem: Problem):
    assert problem_of(body) is problem


def test_a_flaw_is_told_without_the_body():
    with pytest.raises(NotARequest) as caught:
        parse_object(b'{"MARKER": "MARKER", "MARKER": 1}')
    assert "MARKER" not in str(caught.value)
    assert caught.value.__suppress_context__


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": {"name": "disk"}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
    ],
)
def test_a_message_of_json_rpc_is_taken(message: dict[str, object]):
    check_message(json.dumps(message).encode())


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"jsonrpc": "1.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "id": 1},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": None, "method": "ping"},
        {"jsonrpc": "2.0", "id": 1.5, "method": "ping"},
        {"jsonrpc": "2.0", "id": 1, "method": 7},
        {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []},
    ],
)
def test_what_is_no_message_is_not(message: dict[str, object]):
    with pytest.raises(NotARequest) as caught:
        check_message(json.dumps(message).encode())
    assert caught.value.problem is Problem.BODY_NOT_MESSAGE
