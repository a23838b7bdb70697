"""Sites with as many operations as a test wants, and the cheapest client there is."""

import asyncio
import json
from pathlib import Path

from starlette.types import ASGIApp, Message

from tests.support.sites import DISK, SETTINGS, SiteFiles

ANSWER = b'{"mounts": [{"path": "/", "free_bytes": 1000}]}\n'
MODERN = "2026-07-28"
_META = {
    f"io.modelcontextprotocol/{name}": value
    for name, value in (("protocolVersion", MODERN), ("clientCapabilities", {}))
}


def site_with(operations: int, folder: Path) -> SiteFiles:
    """Return the files of a site with so many operations, all alike, and a caller that may use them without end."""
    names = [f"disk_{number:03}" for number in range(operations)]
    settings = SETTINGS.replace("[callers.agent]\n", "[callers.agent]\ncalls_per_minute = 60_000\n")
    return SiteFiles(folder, operations=dict.fromkeys(names, DISK), settings=settings)


def http_call(token: str) -> tuple[str, dict[str, str], bytes]:
    """Return path, headers and body of one call by HTTP."""
    return "/v1/operations/disk_000", _headers(token), json.dumps({"host": "web-1"}).encode()


def mcp_call(token: str, *, modern: bool) -> tuple[str, dict[str, str], bytes]:
    """Return path, headers and body of the same call by MCP, in one of the two eras."""
    params: dict[str, object] = {"name": "disk_000", "arguments": {"host": "web-1"}}
    headers = {**_headers(token), "accept": "application/json, text/event-stream"}
    if modern:
        params["_meta"] = _META
        headers |= {"mcp-protocol-version": MODERN, "mcp-method": "tools/call", "mcp-name": "disk_000"}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return "/mcp", headers, json.dumps(message).encode()


def _headers(token: str) -> dict[str, str]:
    return {"host": "127.0.0.1", "authorization": f"Bearer {token}", "content-type": "application/json"}


async def ask(app: ASGIApp, path: str, headers: dict[str, str], body: bytes) -> bytes:
    """Send one request straight into an application, and return the body of the answer."""
    incoming: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
    answer: list[bytes] = []

    async def receive() -> Message:
        if incoming:
            return incoming.pop()
        await asyncio.Event().wait()  # The client stays.
        raise AssertionError

    async def send(message: Message) -> None:
        answer.append(message.get("body", b""))

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    await app(scope, receive, send)
    return b"".join(answer)
