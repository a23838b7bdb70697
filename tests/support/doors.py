"""The doors of a site, served in this process: in memory, or on a free port of 127.0.0.1."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx2
import uvicorn
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult, TextContent
from starlette.applications import Starlette

from sshfacts.commands.site import Site
from sshfacts.service.app import build_app
from sshfacts.service.jwks import KeySet
from sshfacts.service.running import Service, started
from sshfacts.ssh.transport import Transport
from sshfacts.storage.engine import open_for_writing
from sshfacts.storage.recorder import open_recorder
from sshfacts.storage.tokens import add
from sshfacts.values import JsonObject

BASE = "http://127.0.0.1:8722"
BOTH_ERAS = ("legacy", "2026-07-28")
"""What `mcp.Client` calls the protocol with a handshake, and the one without."""


@dataclass(frozen=True)
class Served:
    """A running service, its application, and a token of each caller."""

    service: Service
    app: Starlette
    tokens: dict[str, str]

    def client(self, caller: str | None = "agent", **headers: str) -> httpx2.AsyncClient:
        """Return an HTTP client of a caller, connected in memory."""
        if caller is not None:
            headers["Authorization"] = f"Bearer {self.tokens[caller]}"
        return httpx2.AsyncClient(transport=httpx2.ASGITransport(self.app), base_url=BASE, headers=headers)

    @asynccontextmanager
    async def mcp(self, era: str, caller: str = "agent") -> AsyncIterator[Client]:
        """Give an MCP client of a caller, connected in memory."""
        async with self.client(caller) as http, mcp_client(f"{BASE}/mcp", http, era) as client:
            yield client


@asynccontextmanager
async def mcp_client(url: str, http: httpx2.AsyncClient, era: str) -> AsyncIterator[Client]:
    """Give an MCP client over HTTP."""
    async with Client(streamable_http_client(url, http_client=http), mode=era) as client:
        yield client


@asynccontextmanager
async def served(site: Site, transport: Transport, keys: KeySet | None = None) -> AsyncIterator[Served]:
    """Serve a site on a transport; every caller of its settings has a token."""
    settings = site.require_settings()
    async with open_recorder(settings.database_url) as recorder, started(site, transport, recorder, keys) as service:
        engine = open_for_writing(settings.database_url)
        tokens = {name: await asyncio.to_thread(add, engine, name) for name in settings.callers}
        app = build_app(service)
        async with _living(app):
            yield Served(service, app, tokens)


@asynccontextmanager
async def _living(app: Starlette) -> AsyncIterator[None]:
    """Run the application's lifespan in a task of its own: the two halves of a pytest fixture are two tasks."""
    begun, ending = asyncio.Event(), asyncio.Event()

    async def live() -> None:
        async with app.router.lifespan_context(app):
            begun.set()
            await ending.wait()

    life = asyncio.create_task(live())
    await asyncio.wait([life, asyncio.create_task(begun.wait())], return_when=asyncio.FIRST_COMPLETED)
    try:
        yield
    finally:
        ending.set()
        await life


@asynccontextmanager
async def listening(app: Starlette) -> AsyncIterator[str]:
    """Give the URL of an application that has started already, on a real socket."""
    server = uvicorn.Server(
        uvicorn.Config(app, port=0, http="httptools", ws="none", lifespan="off", log_config=None, access_log=False)
    )
    serving = asyncio.create_task(server._serve())
    while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
        await asyncio.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        await serving


def text_of(result: CallToolResult) -> JsonObject:
    """Return the JSON of the one block of text that a result has."""
    [block] = result.content
    assert isinstance(block, TextContent)
    found: JsonObject = json.loads(block.text)
    return found
