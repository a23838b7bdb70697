"""The Python MCP client against a served site with a real sshd: both eras, over HTTP and over stdio."""

import httpx2
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from sshfacts.commands.site import load_site
from tests.support.client_story import CALLS, Told, check
from tests.support.doors import BOTH_ERAS, mcp_client, text_of
from tests.support.live import LiveDoors
from tests.support.sshd import needs_sshd

pytestmark = [needs_sshd, pytest.mark.parametrize("era", BOTH_ERAS)]


def offered(doors: LiveDoors, grants: set[str]) -> list[str]:
    operations = load_site(doors.root, need_settings=True).operations
    return [name for name, operation in operations.items() if operation.grants <= grants]


async def story_of(client: Client) -> Told:
    tools = [tool.name for tool in (await client.list_tools()).tools]
    results = []
    for name, arguments in CALLS:
        result = await client.call_tool(name, arguments)
        results.append(
            {"isError": result.is_error, "structuredContent": result.structured_content, "text": text_of(result)}
        )
    return Told(tools=tools, results=results)


async def test_over_http(doors: LiveDoors, era: str):
    headers = {"Authorization": f"Bearer {doors.tokens['agent']}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http, mcp_client(doors.mcp_url, http, era) as client:
        check(await story_of(client), offered(doors, {"host.read", "disk.read", "systemd.read"}))

    row = doors.rows()[0]
    assert (row.caller, row.operation, row.host, row.decision) == ("agent", "nothing_here", "web-1", "deny")


async def test_over_stdio(doors: LiveDoors, era: str):
    command, *words = doors.stdio()
    server = StdioServerParameters(command=command, args=words, env=doors.environment("guest"))
    async with Client(server, mode=era) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        result = await client.call_tool("host_os", {"host": "web-1"})
        denied = await client.call_tool("disk_usage", {"host": "web-1"})

    assert tools == sorted(offered(doors, {"host.read"}))
    assert result.structured_content == text_of(result)
    assert text_of(denied)["error"]["code"] == "DENIED"
    assert doors.rows()[0].caller == "guest"
