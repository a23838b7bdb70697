"""MCP over stdin and stdout: frames and nothing else, whatever a child prints."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from sshfacts.storage.engine import open_for_reading, open_for_writing, prepare
from sshfacts.storage.queries import requests, story
from sshfacts.storage.tokens import add, revoke
from tests.support.doors import BOTH_ERAS, text_of
from tests.support.sites import SiteFiles

ROOT = Path(__file__).parents[3]
PROGRAM = Path(__file__).with_name("stdio_program.py")
SECONDS = 30
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "disk", "arguments": {"host": "web-1"}}}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}},
}


class Folder:
    """A site's folder with a token of its agent."""

    def __init__(self, root: Path) -> None:
        self.root = SiteFiles(root).write()
        self.url = f"sqlite:///{root}/audit.db"
        prepare(open_for_writing(self.url))
        self.token = add(open_for_writing(self.url), "agent")

    def environment(self) -> dict[str, str]:
        return {
            "SSHFACTS_TOKEN": self.token,
            "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}",
            "PATH": os.environ["PATH"],
        }

    @contextmanager
    def running(self, *words: str) -> "Iterator[subprocess.Popen[str]]":
        argv = [sys.executable, str(PROGRAM), str(self.root), *words]
        with subprocess.Popen(
            argv,
            env=self.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            yield process
            process.kill()


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def send(process: "subprocess.Popen[str]", *messages: object) -> None:
    assert process.stdin is not None
    for message in messages:
        process.stdin.write((message if isinstance(message, str) else json.dumps(message)) + "\n")
    process.stdin.flush()


def receive(process: "subprocess.Popen[str]") -> dict[str, object]:
    assert process.stdout is not None
    found: dict[str, object] = json.loads(process.stdout.readline())
    return found


def test_stdout_carries_frames_only(folder: Folder):
    with folder.running() as process:
        send(process, INITIALIZE, CALL)
        assert receive(process)["id"] == 0
        answer = receive(process)
        out, errors = process.communicate(timeout=SECONDS)

    assert answer["id"] == 1
    assert out == ""
    assert errors.count("NOISE") >= 3
    assert process.returncode == 0


def test_a_line_that_is_no_message_is_answered(folder: Folder):
    with folder.running() as process:
        send(process, INITIALIZE)
        receive(process)
        send(process, '{"jsonrpc":"2.0","id":5,"id":6,"method":"tools/list"}')
        refused = receive(process)
        send(process, {"jsonrpc": "2.0", "id": 7, "method": "ping"})
        assert receive(process) == {"jsonrpc": "2.0", "id": 7, "result": {}}
        process.communicate(timeout=SECONDS)

    assert refused["id"] is None
    assert refused["error"]["code"] == -32700
    assert refused["error"]["message"].startswith("BODY_DUPLICATE_NAME: ")


def wait_until_running(process: "subprocess.Popen[str]") -> None:
    assert process.stderr is not None
    while "running" not in process.stderr.readline():
        assert process.poll() is None


def test_a_client_that_takes_its_call_back_cancels_it(folder: Folder):
    with folder.running("hang") as process:
        send(process, INITIALIZE, CALL)
        wait_until_running(process)
        send(process, {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
        send(process, {"jsonrpc": "2.0", "id": 7, "method": "ping"})
        assert [receive(process)["id"] for _ in range(2)] == [0, 7]
        process.communicate(timeout=SECONDS)

    [row] = requests(open_for_reading(folder.url))
    assert row.state == "CANCELLED"


@pytest.mark.parametrize("leave", ["close stdin", "SIGTERM", "SIGINT"])
def test_a_call_under_way_at_the_end_is_recorded_as_cancelled(folder: Folder, leave: str):
    with folder.running("hang") as process:
        send(process, INITIALIZE, CALL)
        wait_until_running(process)
        if leave == "close stdin":
            process.stdin.close()
            process.stdin = None
        else:
            process.send_signal(getattr(signal, leave))
        process.wait(SECONDS)

    assert process.returncode == 0
    [row] = requests(open_for_reading(folder.url))
    assert row.state == "CANCELLED"
    intent = story(open_for_reading(folder.url), row.request_id)[0]
    assert (intent["door"], intent["os_user"]) == ("mcp.stdio", "tester")


def test_a_revoked_token_counts_no_more(folder: Folder):
    with folder.running() as process:
        send(process, INITIALIZE, CALL)
        receive(process)
        assert receive(process)["result"]["isError"] is False
        revoke(open_for_writing(folder.url), folder.token.split("_")[1])
        send(process, {**CALL, "id": 2}, {"jsonrpc": "2.0", "id": 3, "method": "tools/list"})
        answers = {answer["id"]: answer["result"] for answer in (receive(process), receive(process))}
        process.communicate(timeout=SECONDS)

    assert json.loads(answers[2]["content"][0]["text"])["error"]["code"] == "DENIED"
    assert answers[3]["tools"] == []


@pytest.mark.parametrize("era", BOTH_ERAS)
async def test_a_real_client_in_both_eras(folder: Folder, era: str):
    server = StdioServerParameters(
        command=sys.executable, args=[str(PROGRAM), str(folder.root)], env=folder.environment()
    )
    async with Client(server, mode=era) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        result = await client.call_tool("disk", {"host": "web-1"})
        denied = await client.call_tool("nothing_here", {"host": "web-1"})

    assert names == ["disk", "restart", "unit"]
    assert result.structured_content == text_of(result)
    assert text_of(denied)["error"]["code"] == "DENIED"
