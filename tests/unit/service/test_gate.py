"""What never reaches a door: by Host, by Origin, by path, by method, by size, without a token."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator

import pytest

from sshfacts.limits import REQUEST
from sshfacts.service import body, http_door
from sshfacts.service.identity import Identity
from tests.support.doors import Served

CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
ACCEPT = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
POSTS = ["/mcp", "/mcp/", "/v1/operations/disk"]


def code_of(answer) -> str:
    """The code of a problem: at /mcp it begins the message of a JSON-RPC error."""
    error = answer.json()["error"]
    return error["message"].split(":")[0] if isinstance(error["code"], int) else error["code"]


async def post(doors: Served, path: str, content: bytes | None = None, caller: str | None = "agent", **headers: str):
    sent = json.dumps(CALL if path.startswith("/mcp") else {"host": "web-1"}).encode() if content is None else content
    async with doors.client(caller, **{**ACCEPT, **headers}) as client:
        return await client.post(path, content=sent)


@pytest.mark.parametrize("path", POSTS)
async def test_what_is_in_order_comes_in(doors: Served, path: str):
    assert (await post(doors, path)).status_code == 200


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "evil.example:8722",
        "",
        "127.0.0.1@evil",
        "[::2]:8722",
        "127.0.0.1:\xb2",
    ],
)
async def test_another_host_is_refused(doors: Served, path: str, host: str):
    answer = await post(doors, path, Host=host.encode("latin-1"))
    assert (answer.status_code, code_of(answer)) == (421, "HOST_REFUSED")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:1", "localhost:8722", "LOCALHOST", "[::1]", "[::1]:8722"])
async def test_its_own_host_is_taken_with_any_port(doors: Served, host: str):
    assert (await post(doors, "/mcp", Host=host)).status_code == 200


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:8722", ""])
async def test_a_web_page_is_refused(doors: Served, path: str, origin: str):
    answer = await post(doors, path, Origin=origin)
    assert (answer.status_code, code_of(answer)) == (403, "ORIGIN_REFUSED")


@pytest.mark.parametrize("path", POSTS)
async def test_two_types_of_a_body_are_none(doors: Served, path: str):
    headers = [("Content-Type", "application/json"), ("Content-Type", "text/plain"), ("Accept", ACCEPT["Accept"])]
    async with doors.client() as client:
        answer = await client.post(path, content=json.dumps(CALL), headers=headers)
    assert answer.status_code == 415


async def test_two_hosts_are_none(doors: Served):
    async with doors.client() as client:
        twice = [("Host", "127.0.0.1"), ("Host", "127.0.0.1"), *ACCEPT.items()]
        answer = await client.post("/mcp", json=CALL, headers=twice)
    assert answer.status_code == 421


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize(
    "authorization",
    ["", "Basic YTpi", "Bearer", "Bearer ", "Bearer sf_AAAAAAAAAAAA_" + "x" * 43, "Bearer a.b.c", "bearer s\xf6"],
)
async def test_without_a_valid_token_nobody_comes_in(doors: Served, path: str, authorization: str):
    headers = {"Authorization": authorization.encode("latin-1")} if authorization else {}
    async with doors.client(None, **ACCEPT) as client:
        answer = await client.post(path, content=json.dumps(CALL), headers=headers)
    assert (answer.status_code, code_of(answer)) == (401, "UNAUTHENTICATED")
    challenge = answer.headers["WWW-Authenticate"]
    assert challenge in ("Bearer", 'Bearer error="invalid_token"')
    assert "resource_metadata" not in challenge


async def test_the_scheme_is_read_in_any_case(doors: Served):
    async with doors.client(None, Authorization=f"bEARER {doors.tokens['agent']}") as client:
        assert (await client.get("/v1/openapi.json")).status_code == 200


async def test_two_tokens_are_none(doors: Served):
    async with doors.client(None) as client:
        header = ("Authorization", f"Bearer {doors.tokens['agent']}")
        answer = await client.get("/v1/openapi.json", headers=[header, header])
    assert answer.status_code == 401


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize(
    ("content", "status", "code"),
    [
        (b'{"host": "web-1", "host": "web-2"}', 400, "BODY_DUPLICATE_NAME"),
        (b'{"host": NaN}', 400, "BODY_NOT_JSON"),
        (b'{"a":' * 30 + b"1" + b"}" * 30, 400, "BODY_TOO_DEEP"),
        (b"[]", 400, "BODY_NOT_OBJECT"),
        (b"\xff", 400, "BODY_NOT_OBJECT"),
        (b'"' + b"x" * REQUEST.bytes + b'"', 413, "BODY_TOO_LARGE"),
    ],
)
async def test_a_flaw_in_the_body_has_its_code(doors: Served, path: str, content: bytes, status: int, code: str):
    answer = await post(doors, path, content)
    assert (answer.status_code, code_of(answer)) == (status, code)


async def test_a_body_is_refused_while_it_arrives(doors: Served):
    sent = 0

    async def flood() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(1_000):
            sent += 1
            yield b"x" * 8_192

    async with doors.client(**ACCEPT) as client:
        answer = await client.post("/v1/operations/disk", content=flood())

    assert answer.status_code == 413
    assert sent <= REQUEST.bytes // 8_192 + 2


async def test_a_slow_body_is_not_waited_for(doors: Served, monkeypatch):
    monkeypatch.setattr(body, "BODY_SECONDS", 0.01)

    async def slow() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.sleep(60)

    async with doors.client(**ACCEPT) as client:
        answer = await client.post("/v1/operations/disk", content=slow())
    assert (answer.status_code, code_of(answer)) == (408, "BODY_SLOW")


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "text/plain"},
        {"Content-Type": ""},
        {"Content-Type": "application/jsonx"},
        {"Content-Encoding": "gzip"},
    ],
)
async def test_another_type_is_refused(doors: Served, path: str, headers: dict[str, str]):
    answer = await post(doors, path, **headers)
    assert (answer.status_code, code_of(answer)) == (415, "BODY_TYPE")


@pytest.mark.parametrize(
    ("method", "path", "status", "allowed"),
    [
        ("GET", "/mcp", 405, "POST"),
        ("DELETE", "/mcp/", 405, "POST"),
        ("OPTIONS", "/mcp", 405, "POST"),
        ("GET", "/v1/operations/disk", 405, "POST"),
        ("POST", "/v1/openapi.json", 405, "GET, HEAD"),
        ("GET", "/", 404, None),
        ("POST", "/v1/operations/", 404, None),
        ("POST", "/v1/operations/disk/", 404, None),
        ("GET", "/.well-known/oauth-protected-resource", 404, None),
        ("GET", "/.well-known/oauth-protected-resource/mcp", 404, None),
        ("GET", "/.well-known/oauth-authorization-server", 404, None),
    ],
)
async def test_other_paths_and_methods_are_refused_in_json(doors: Served, method, path, status, allowed):
    async with doors.client() as client:
        answer = await client.request(method, path)
    assert answer.status_code == status
    assert code_of(answer) in ("NO_SUCH_PATH", "METHOD_REFUSED")
    assert answer.headers.get("Allow") in (allowed, "HEAD, GET" if allowed == "GET, HEAD" else allowed)


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
async def test_probes_need_no_token_and_no_name(doors: Served, path: str):
    async with doors.client(None, Host="10.1.2.3:8722") as client:
        assert (await client.get(path)).status_code == 200


async def test_a_service_that_ends_takes_no_more_calls(doors: Served):
    doors.service.calls.refuse_more()
    for path in POSTS:
        answer = await post(doors, path)
        assert (answer.status_code, code_of(answer)) == (503, "SHUTTING_DOWN")
    async with doors.client(None) as client:
        assert [(await client.get(path)).status_code for path in ("/healthz", "/readyz")] == [200, 503]


@pytest.mark.parametrize(
    ("place", "path"),
    [
        ((Identity, "caller"), "/mcp"),
        ((Identity, "caller"), "/v1/operations/disk"),
        ((http_door, "as_request"), "/v1/operations/disk"),
        ((http_door, "receive_body"), "/v1/operations/disk"),
    ],
    ids=lambda place: place if isinstance(place, str) else place[1],
)
async def test_a_fault_is_coded_and_its_text_is_nowhere(doors: Served, place, path, monkeypatch, caplog, capfd):
    caplog.set_level(logging.DEBUG)

    def fail(*_: object) -> None:
        raise RuntimeError("PLANTED-MARKER")

    monkeypatch.setattr(*place, fail)
    answer = await post(doors, path)

    assert (answer.status_code, code_of(answer)) == (500, "FAULT")
    assert "RuntimeError" in caplog.text
    assert "PLANTED" not in "".join([answer.text, caplog.text, *capfd.readouterr()])
