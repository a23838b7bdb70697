"""`sshfacts serve` on a real sshd: calls that are left or interrupted, and what its log never holds."""

import asyncio
import signal
import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import httpx2
import pytest
from mcp import MCPError

from tests.support.doors import BOTH_ERAS, mcp_client
from tests.support.live import LiveDoors, live_doors
from tests.support.sshd import needs_sshd

pytestmark = needs_sshd


@pytest.fixture
def own_doors(tmp_path: Path) -> Iterator[LiveDoors]:
    """Doors of one test, which ends them."""
    with live_doors(tmp_path) as doors:
        yield doors


def client(doors: LiveDoors, caller: str = "agent") -> httpx2.AsyncClient:
    headers = {"Authorization": f"Bearer {doors.tokens[caller]}"}
    return httpx2.AsyncClient(base_url=doors.serving.url, headers=headers, timeout=60)


async def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        await asyncio.sleep(0.05)


def newest(doors: LiveDoors) -> tuple[str, str] | None:
    """Operation and state of the newest request on record."""
    rows = doors.rows()
    return (rows[0].operation, rows[0].state) if rows else None


def is_running(doors: LiveDoors, operation: str) -> bool:
    """Whether the newest request has been recorded as one that may have run, and has not ended."""
    return newest(doors) == (operation, "may have run")


def is_cancelled(doors: LiveDoors) -> bool:
    return newest(doors) == ("hang", "CANCELLED")


async def test_a_client_of_http_that_leaves_cancels_its_call(doors: LiveDoors):
    async with client(doors) as http:
        call = asyncio.create_task(http.post("/v1/operations/hang", json={"host": "web-1"}))
        await until(lambda: is_running(doors, "hang"))
        call.cancel()
    await until(lambda: is_cancelled(doors))


async def test_a_client_of_mcp_that_gives_up_cancels_its_call(doors: LiveDoors):
    # Only since 2026-07-28: before, a client without a session cannot take a call back.
    async with client(doors) as http, mcp_client(doors.mcp_url, http, "2026-07-28") as mcp:
        with pytest.raises(MCPError, match="timed out"):
            await mcp.call_tool("hang", {"host": "web-1"}, read_timeout_seconds=2)
        await until(lambda: is_cancelled(doors))


@pytest.mark.parametrize("era", BOTH_ERAS)
async def test_a_connection_of_mcp_that_closes_cancels_its_call(doors: LiveDoors, era: str):
    async def call() -> None:
        async with client(doors) as http, mcp_client(doors.mcp_url, http, era) as mcp:
            await mcp.call_tool("hang", {"host": "web-1"})

    calling = asyncio.create_task(call())
    await until(lambda: is_running(doors, "hang"))
    calling.cancel()
    await until(lambda: is_cancelled(doors))


async def test_a_call_under_way_ends_before_the_service_does(own_doors: LiveDoors):
    async with client(own_doors) as http:
        await http.get("/readyz")
        call = asyncio.create_task(http.post("/v1/operations/nap", json={"host": "web-1"}))
        await until(lambda: is_running(own_doors, "nap"))
        status = await asyncio.to_thread(own_doors.serving.end)
        answer = await call

    assert status == 0
    # `sleep` prints nothing, and that is no document: what counts is that it was waited for.
    assert answer.json()["error"]["code"] == "INVALID_RESPONSE"
    assert [(row.operation, row.state) for row in own_doors.rows()] == [("nap", "INVALID_RESPONSE")]


async def test_a_second_signal_ends_it_at_once(own_doors: LiveDoors):
    async with client(own_doors) as http:
        call = asyncio.create_task(http.post("/v1/operations/hang", json={"host": "web-1"}))
        await until(lambda: is_running(own_doors, "hang"))
        own_doors.serving.process.send_signal(signal.SIGTERM)
        await asyncio.sleep(0.5)
        begun = time.monotonic()
        status = await asyncio.to_thread(own_doors.serving.end)
        answer = await call

    assert status == 0
    assert answer.json()["error"]["code"] == "INTERRUPTED"
    assert time.monotonic() - begun < 15
    assert is_cancelled(own_doors)


async def test_no_token_no_key_and_no_address_is_in_the_log(tmp_path: Path):
    """Every door and many errors, with every logger at DEBUG."""
    with live_doors(tmp_path, verbose=True) as doors:
        wrong = "sf_AAAAAAAAAAAA_" + "WRONGTOKEN" * 4 + "xxx"
        for caller, era in product(doors.tokens, BOTH_ERAS):
            async with client(doors, caller) as http, mcp_client(doors.mcp_url, http, era) as mcp:
                await mcp.list_tools()
                for name, host in [("host_os", "web-1"), ("host_os", "gone"), ("nothing_here", "web-1")]:
                    await mcp.call_tool(name, {"host": host})
                    await http.post(f"/v1/operations/{name}", json={"host": host})
        async with client(doors) as http:
            await http.post("/v1/operations/host_os", content=b"\xff", headers={"Content-Type": "application/json"})
            await http.post("/mcp", json={}, headers={"Authorization": f"Bearer {wrong}"})
            await http.get("/v1/openapi.json", headers={"Host": "evil.example"})
        assert doors.serving.end() == 0

        log = "".join(doors.serving.log)
        states = {row.state for row in doors.rows()}
    assert "DEBUG" in log
    assert {"success", "DENIED", "UPSTREAM_UNAVAILABLE"} <= states
    markers = [*doors.tokens.values(), *(token.split("_")[2] for token in doors.tokens.values()), wrong]
    markers += [str(doors.root / "key"), doors.gone_address, "evil.example", "OPENSSH PRIVATE KEY"]
    assert [marker for marker in markers if marker in log] == []
