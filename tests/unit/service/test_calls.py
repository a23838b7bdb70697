"""Calls that are left, cancelled in many ways, and waited for."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable

import anyio
import pytest

from sshfacts.commands.settings import CallerSettings
from sshfacts.commands.site import Site
from sshfacts.permission.request import Request
from sshfacts.service.calls import Calls, Interrupted, as_request, as_text
from sshfacts.service.running import Service, started
from sshfacts.storage.engine import open_for_reading
from sshfacts.storage.queries import requests
from sshfacts.storage.recorder import open_recorder
from tests.support.transports import CannedTransport

DISK = Request("disk", "web-1", {})


class Hang:
    """A run that goes on until it is cancelled, or told to end."""

    def __init__(self) -> None:
        self.begun, self.go_on = asyncio.Event(), asyncio.Event()

    async def __call__(self) -> None:
        self.begun.set()
        await self.go_on.wait()


@pytest.fixture
async def hang() -> Hang:
    return Hang()


@pytest.fixture
async def service(site: Site, transport: CannedTransport, hang: Hang) -> AsyncIterator[Service]:
    transport.on_run = hang
    url = site.require_settings().database_url
    async with open_recorder(url) as recorder, started(site, transport, recorder) as running:
        yield running


@pytest.fixture
def make(service: Service) -> Callable[[], Awaitable[object]]:
    caller = service.settings.callers["agent"]
    return lambda: service.calls.make(caller, DISK, "test")


def states(service: Service) -> list[str]:
    return [row.state for row in requests(open_for_reading(service.settings.database_url))]


async def test_a_call_that_is_left_is_recorded_as_cancelled(service: Service, make, hang: Hang):
    call = asyncio.create_task(make())
    await hang.begun.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    await service.calls.drain(0)
    assert states(service) == ["CANCELLED"]


async def test_cancelling_again_and_again_does_not_disturb_the_record(service: Service, make, hang: Hang):
    # As the SDK does it: a scope that is cancelled interrupts every await inside, for as long as there is one.
    async with anyio.create_task_group() as group:
        group.start_soon(make)
        await hang.begun.wait()
        group.cancel_scope.cancel()

    await service.calls.drain(0)
    assert states(service) == ["CANCELLED"]


async def test_draining_lets_a_call_end(service: Service, make, hang: Hang):
    call = asyncio.create_task(make())
    await hang.begun.wait()
    asyncio.get_running_loop().call_later(0.05, hang.go_on.set)

    await service.calls.drain(10)

    assert (await call)["outcome"] == "success"
    assert states(service) == ["success"]


async def test_draining_cancels_what_takes_too_long(service: Service, make, hang: Hang):
    call = asyncio.create_task(make())
    await hang.begun.wait()

    await service.calls.drain(0.01)

    with pytest.raises(Interrupted):
        await call
    assert states(service) == ["CANCELLED"]


async def test_after_that_nothing_is_run(service: Service, make):
    await service.calls.drain(0)

    envelope = await make()

    assert envelope["error"] == {"code": "BUSY", "retryable": True}
    assert states(service) == []


async def test_a_fault_that_nobody_waits_for_is_logged_without_its_text(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    begun = asyncio.Event()

    class Broken:
        async def call(self, *_: object) -> None:
            begun.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                raise RuntimeError("PLANTED-MARKER") from None

    calls = Calls(Broken())
    call = asyncio.create_task(calls.make(CallerSettings("agent"), DISK, "test"))
    await begun.wait()
    call.cancel()
    await calls.drain(1)
    await asyncio.sleep(0)

    assert "RuntimeError" in caplog.text
    assert "PLANTED" not in caplog.text


@pytest.mark.parametrize(
    ("given", "request_"),
    [
        ({"host": "web-1"}, Request("disk", "web-1", {})),
        ({"unit": "a", "host": "web-1"}, Request("disk", "web-1", {"unit": "a"})),
        ({}, Request("disk", "", {})),
        ({"host": 7}, Request("disk", "", {})),
        ({"host": None, "x": [1]}, Request("disk", "", {"x": [1]})),
    ],
)
def test_host_and_arguments_stand_side_by_side(given, request_: Request):
    before = dict(given)
    assert as_request("disk", given) == request_
    assert given == before


def test_the_text_is_compact_and_not_escaped():
    assert as_text({"a": "\u00e9", "b": [1, None]}) == '{"a":"\u00e9","b":[1,null]}'
