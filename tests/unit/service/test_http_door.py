"""Calls by plain HTTP: the envelope, its status, and what a client that leaves does."""

import asyncio

import httpx2
import pytest

from sshfacts.errors import Code, Refusal
from sshfacts.storage.engine import open_for_reading
from sshfacts.storage.queries import requests
from tests.support.doors import Served, listening
from tests.support.transports import CannedTransport


async def test_success_is_the_envelope(doors: Served):
    async with doors.client() as client:
        answer = await client.post("/v1/operations/disk", json={"host": "web-1"})

    assert answer.status_code == 200
    assert answer.headers["Cache-Control"] == "no-store"
    envelope = answer.json()
    assert list(envelope) == ["tool", "request_id", "outcome", "data"]
    assert envelope["data"]["mounts"] == [{"path": "/", "free_bytes": 1000}]
    [row] = requests(open_for_reading(doors.service.settings.database_url))
    assert (row.request_id, row.caller, row.operation, row.state) == (
        envelope["request_id"],
        "agent",
        "disk",
        "success",
    )


@pytest.mark.parametrize(
    ("detail", "code"),
    [
        ("ssh.unreachable", Code.UPSTREAM_UNAVAILABLE),
        ("ssh.host_key", Code.UPSTREAM_REFUSED),
        ("command.exit_status", Code.COMMAND_FAILED),
        ("timeout.run", Code.TIMEOUT),
        ("busy.host", Code.BUSY),
        ("output.syntax", Code.INVALID_RESPONSE),
        ("internal", Code.INTERNAL),
    ],
)
async def test_a_failure_has_the_status_of_its_code(doors: Served, transport: CannedTransport, detail: str, code: Code):
    transport.error = Refusal(detail)

    async with doors.client() as client:
        answer = await client.post("/v1/operations/disk", json={"host": "web-1"})

    assert answer.status_code == code.http_status
    assert answer.json()["error"] == {"code": code.value, "retryable": code.retryable}


@pytest.mark.parametrize(
    ("path", "given", "status", "code"),
    [
        ("unit", {"host": "web-1", "unit": "--all"}, 422, "INVALID_ARGUMENTS"),
        ("unit", {"host": "web-1", "unit": 7}, 422, "INVALID_ARGUMENTS"),
        ("nothing_here", {"host": "web-1"}, 404, "DENIED"),
        ("disk", {"host": "router-1"}, 404, "DENIED"),
        ("restart", {"host": "web-1", "unit": "nginx"}, 409, "APPROVAL_REQUIRED"),
    ],
)
async def test_a_refused_request_has_the_status_of_its_code(doors: Served, path, given, status, code):
    async with doors.client() as client:
        answer = await client.post(f"/v1/operations/{path}", json=given)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


async def test_unknown_and_not_granted_look_alike(doors: Served):
    async with doors.client("guest") as client:
        answers = [
            await client.post(f"/v1/operations/{name}", json={"host": host})
            for name, host in [("nothing_here", "web-1"), ("disk", "web-1"), ("disk", "nowhere"), ("unit", "web-1")]
        ]
    assert {(answer.status_code, str(answer.json()["error"])) for answer in answers} == {
        (404, "{'code': 'DENIED', 'retryable': False}")
    }


@pytest.mark.parametrize("name", ["DROP TABLE", "%2e%2e", "x" * 300, "a\u00e9"])
async def test_a_name_that_no_operation_has_is_not_echoed(doors: Served, name: str):
    async with doors.client() as client:
        answer = await client.post(f"/v1/operations/{name}", json={"host": "web-1"})
    assert (answer.status_code, answer.json()["tool"]) == (404, "unknown")


async def test_a_client_that_leaves_cancels_its_call(doors: Served, transport: CannedTransport):
    begun, ended = asyncio.Event(), asyncio.Event()

    async def hang() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    transport.on_run = hang
    headers = {"Authorization": f"Bearer {doors.tokens['agent']}"}
    async with listening(doors.app) as url, httpx2.AsyncClient(base_url=url, headers=headers) as client:
        waiting = asyncio.create_task(client.post("/v1/operations/disk", json={"host": "web-1"}))
        await asyncio.wait_for(begun.wait(), 10)
        waiting.cancel()
        await asyncio.wait_for(ended.wait(), 10)
        await doors.service.calls.drain(10)

    [row] = requests(open_for_reading(doors.service.settings.database_url))
    assert row.state == "CANCELLED"
