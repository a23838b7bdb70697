"""MCP clients of both eras: what they see, what they get, and what they never learn."""

import json
import logging

import pytest
from mcp import MCPError

from sshfacts.call import Pipeline
from sshfacts.service.offers import Offers
from tests.support.doors import BOTH_ERAS, Served, text_of

pytestmark = pytest.mark.parametrize("era", BOTH_ERAS)
DISK = {"host": "web-1"}


async def test_a_tool_is_described_by_its_operation(doors: Served, era: str):
    async with doors.mcp(era) as client:
        listed = await client.list_tools()

    assert [tool.name for tool in listed.tools] == ["disk", "restart", "unit"]
    unit = next(tool for tool in listed.tools if tool.name == "unit")
    assert (unit.title, unit.description) == ("State of one unit", "You must know whether a unit runs.")
    assert unit.input_schema["required"] == ["host", "unit"]
    assert unit.input_schema["properties"]["host"]["enum"] == ["web-1"]
    assert unit.output_schema is not None
    assert unit.output_schema["type"] == "object"
    assert unit.output_schema["properties"]["tool"] == {"const": "unit"}


async def test_annotations_say_what_is_true(doors: Served, era: str):
    async with doors.mcp(era) as client:
        tools = {tool.name: tool.annotations for tool in (await client.list_tools()).tools}

    reads, changes = tools["unit"], tools["restart"]
    assert reads is not None
    assert changes is not None
    assert (reads.read_only_hint, reads.destructive_hint, reads.idempotent_hint) == (True, False, True)
    assert (changes.read_only_hint, changes.destructive_hint, changes.idempotent_hint) == (False, True, False)
    assert reads.open_world_hint is changes.open_world_hint is False


async def test_success_says_the_same_twice(doors: Served, era: str):
    async with doors.mcp(era) as client:
        result = await client.call_tool("disk", DISK)

    assert not result.is_error
    assert result.structured_content == text_of(result)
    assert result.structured_content["data"]["mounts"] == [{"path": "/", "free_bytes": 1000}]


async def test_failure_is_one_block_of_text(doors: Served, transport, era: str):
    transport.stdout = b"no json"

    async with doors.mcp(era) as client:
        result = await client.call_tool("disk", DISK)

    assert result.is_error
    assert result.structured_content is None
    assert text_of(result)["error"] == {"code": "INVALID_RESPONSE", "retryable": False}


async def test_two_callers_see_different_tools(doors: Served, era: str):
    async with doors.mcp(era, "guest") as client:
        listed = await client.list_tools()

    assert listed.tools == []


async def test_unknown_and_not_granted_look_alike(doors: Served, era: str):
    asked = [("nothing_here", DISK), ("disk", DISK), ("disk", {"host": "nowhere"}), ("unit", {}), ("hosts", {})]
    async with doors.mcp(era, "guest") as client:
        results = [await client.call_tool(name, arguments) for name, arguments in asked]

    assert all(result.is_error and result.structured_content is None for result in results)
    errors = {json.dumps(text_of(result)["error"]) for result in results}
    assert errors == {'{"code": "DENIED", "retryable": false}'}


@pytest.mark.parametrize(
    "arguments", [{"host": "web-1", "unit": "--all"}, {"host": "web-1"}, {"host": "web-1", "x": 1}]
)
async def test_wrong_arguments_are_coded(doors: Served, era: str, arguments: dict[str, object]):
    async with doors.mcp(era) as client:
        result = await client.call_tool("unit", arguments)

    assert text_of(result)["error"] == {"code": "INVALID_ARGUMENTS", "retryable": False}


@pytest.mark.parametrize("host", [None, 7, ["web-1"], "nowhere", "router-1"])
async def test_what_is_no_host_of_the_caller_is_denied(doors: Served, era: str, host: object):
    async with doors.mcp(era) as client:
        result = await client.call_tool("disk", {} if host is None else {"host": host})

    assert text_of(result)["error"]["code"] == "DENIED"


async def fail(*_: object) -> None:
    raise RuntimeError("PLANTED-MARKER root@192.0.2.7")


@pytest.mark.parametrize("place", [(Pipeline, "call"), (Pipeline, "_run"), (Offers, "of")], ids=lambda place: place[1])
async def test_a_fault_leaks_nothing(doors: Served, era: str, place, monkeypatch, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr(*place, fail if place[0] is Pipeline else lambda *_: fail().send(None))

    async with doors.mcp(era) as client:
        told = [str(await client.call_tool("hosts" if place[0] is Offers else "disk", DISK))]
        try:
            told.append(str(await client.list_tools()))
        except MCPError as error:
            assert place[0] is Offers
            told.append(f"{error.error.code} {error.error.message} {error.error.data}")

    assert "INTERNAL" in told[0]
    shown = "".join([*told, caplog.text, *capfd.readouterr()])
    assert "RuntimeError" in caplog.text
    assert "PLANTED" not in shown
    assert "192.0.2.7" not in shown


async def test_a_list_of_tools_is_private(doors: Served, era: str):
    async with doors.mcp(era) as client:
        listed = await client.list_tools()

    # The older era has no such members, and the client then assumes the safe ones.
    assert (listed.cache_scope, listed.ttl_ms) == ("private", 0 if era == "legacy" else 60_000)
