"""`sshfacts serve` as a process: that it listens where it should, and ends in order."""

import asyncio
import os
import signal
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest

from sshfacts.commands.settings import Doors
from sshfacts.commands.site import Site
from sshfacts.errors import UsageError
from sshfacts.service import server
from sshfacts.service.running import Service, started
from sshfacts.service.server import _listen
from sshfacts.ssh.embedded import new_key
from sshfacts.storage.engine import open_for_reading, open_for_writing
from sshfacts.storage.queries import requests
from sshfacts.storage.recorder import open_recorder
from sshfacts.storage.tokens import add
from tests.support.serving import LISTEN_ON_A_FREE_PORT, Serving
from tests.support.sites import SETTINGS, SiteFiles
from tests.support.transports import CannedTransport


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture
def root(tmp_path: Path) -> Path:
    settings = SETTINGS.replace("[service]\n", f"[service]\n{LISTEN_ON_A_FREE_PORT}")
    folder = SiteFiles(tmp_path, settings=settings).write()
    new_key(folder / "key")
    return folder


def test_it_answers_until_it_is_told_to_end(root: Path):
    with Serving(root) as serving:
        assert httpx2.get(f"{serving.url}/healthz").json() == {"alive": True}
        assert httpx2.get(f"{serving.url}/readyz").json() == {"ready": True}
        answer = httpx2.post(f"{serving.url}/mcp", json={})
        assert answer.status_code == 401
        assert "server" not in answer.headers
        assert serving.end() == 0

    log = "".join(serving.log)
    assert "serving 3 operations at http://127.0.0.1:" in log
    assert "every call has ended" in log
    assert "Traceback" not in log


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_it_listens_where_the_settings_say(address: str):
    with _listen(Doors(address, 0)) as listener:
        assert listener.getsockname()[0] == address


def test_a_port_that_is_taken_is_a_usage_error():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with (
            pytest.raises(UsageError, match=f"cannot listen on 127.0.0.1 port {port}: "),
            _listen(Doors("127.0.0.1", port)),
        ):
            pass


Door = Callable[[httpx2.AsyncClient], Awaitable[httpx2.Response]]


class Ending:
    """A service in this process with one call that hangs, told to end."""

    def __init__(self, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
        self.open, self.begun = asyncio.Event(), asyncio.Event()
        self.site = site
        monkeypatch.setattr(server, "open_service", self.open_service)

    @asynccontextmanager
    async def open_service(self, site: Site) -> AsyncIterator[Service]:
        async def hang() -> None:
            self.begun.set()
            await asyncio.Event().wait()

        url = site.require_settings().database_url
        async with open_recorder(url) as recorder, started(site, CannedTransport(on_run=hang), recorder) as service:
            self.token = await asyncio.to_thread(add, open_for_writing(url), "agent")
            asyncio.get_running_loop().call_soon(self.open.set)
            yield service

    async def run(self, door: Door, signals: int) -> str:
        """Serve, make the call, send the signals while it hangs, wait for the end, and return the answer."""
        serving = asyncio.create_task(server.serve(self.site))
        await asyncio.wait_for(self.open.wait(), 10)
        url = f"http://127.0.0.1:{self.site.require_settings().doors.port}"
        headers = {"Authorization": f"Bearer {self.token}"}
        async with httpx2.AsyncClient(base_url=url, headers=headers, timeout=30) as client:
            call = asyncio.create_task(door(client))
            await asyncio.wait_for(self.begun.wait(), 10)
            for _ in range(signals):
                os.kill(os.getpid(), signal.SIGTERM)
                await asyncio.sleep(0.3)
            await asyncio.wait_for(serving, 20)
            return (await call).text


MESSAGE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "disk", "arguments": {"host": "web-1"}},
}


def by_http(client: httpx2.AsyncClient) -> Awaitable[httpx2.Response]:
    return client.post("/v1/operations/disk", json={"host": "web-1"})


def by_mcp(client: httpx2.AsyncClient) -> Awaitable[httpx2.Response]:
    return client.post("/mcp", json=MESSAGE, headers={"Accept": "application/json, text/event-stream"})


@pytest.mark.parametrize("door", [by_http, by_mcp])
@pytest.mark.parametrize(("signals", "seconds"), [(1, 1), (2, 60)], ids=["after a while", "at a second signal"])
async def test_what_does_not_end_is_cancelled_and_on_record(site: Site, door, signals, seconds, monkeypatch):
    monkeypatch.setattr(server, "DRAIN_SECONDS", seconds)
    settings = site.require_settings()
    own = replace(site, settings=replace(settings, doors=replace(settings.doors, port=free_port())))

    answer = await Ending(own, monkeypatch).run(door, signals)

    assert ("TIMEOUT" if door is by_mcp else "INTERRUPTED") in answer
    [row] = requests(open_for_reading(settings.database_url))
    assert row.state == "CANCELLED"
