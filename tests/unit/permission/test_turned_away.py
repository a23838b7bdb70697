import asyncio
from collections.abc import Awaitable, Callable

import pytest

from sshfacts.permission import turned_away
from sshfacts.permission.turned_away import UNAUTHENTICATED, TurnedAway
from sshfacts.storage.unavailable import RecordUnavailable
from sshfacts.values import JsonObject
from tests.support.people import Clock


class Records:
    """Keeps bodies, unless the disk is full."""

    def __init__(self) -> None:
        self.bodies: list[JsonObject] = []
        self.full = False

    async def append(self, body: JsonObject) -> bytes:
        if self.full:
            raise RecordUnavailable("SQLITE_FULL")
        self.bodies.append(body)
        return b""

    def told(self) -> list[tuple[object, object, object, object]]:
        return [(body["since"], body["caller"], body["detail"], body["count"]) for body in self.bodies]


@pytest.fixture
def sleep(monkeypatch: pytest.MonkeyPatch) -> Callable[[Clock], None]:
    """Lets waiting be a move of the clock."""

    def use(clock: Clock) -> None:
        real = asyncio.sleep

        async def pass_by(seconds: float) -> None:
            await real(0)
            clock.move(seconds=seconds)

        monkeypatch.setattr(turned_away.asyncio, "sleep", pass_by)

    return use


async def turns() -> None:
    for _ in range(20):
        waiting: Awaitable[None] = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(waiting.set_result, None)  # type: ignore[attr-defined]  # it is a future
        await waiting


async def test_a_flood_is_one_record_for_each_caller_reason_and_minute(sleep):
    clock, records = Clock(), Records()
    counted = TurnedAway(records.append, clock)
    for _ in range(1_000):
        counted.add("helper", "busy.rate")
    counted.add("helper", "busy.caller")
    counted.add(None, UNAUTHENTICATED)
    assert records.bodies == []
    sleep(clock)
    await turns()
    minute = "2026-11-30T10:00:00.000000Z"
    assert sorted(records.told(), key=str) == sorted(
        [
            (minute, "helper", "busy.rate", 1_000),
            (minute, "helper", "busy.caller", 1),
            (minute, None, UNAUTHENTICATED, 1),
        ],
        key=str,
    )
    counted.add("helper", "busy.rate")
    await turns()
    assert records.told()[-1] == ("2026-11-30T10:01:00.000000Z", "helper", "busy.rate", 1)
    await counted.close()
    assert len(records.bodies) == 4


async def test_what_cannot_be_recorded_is_recorded_later(sleep, caplog):
    clock, records = Clock(), Records()
    records.full = True
    counted = TurnedAway(records.append, clock)
    counted.add("helper", "busy.rate")
    sleep(clock)
    await turns()
    assert "SQLITE_FULL" in caplog.text
    records.full = False
    await turns()
    assert records.told() == [("2026-11-30T10:00:00.000000Z", "helper", "busy.rate", 1)]
    await counted.close()


async def test_what_was_counted_last_is_recorded_at_the_end():
    records = Records()
    counted = TurnedAway(records.append, Clock())
    await counted.close()
    counted.add("helper", "busy.rate")
    await counted.close()
    await counted.close()
    assert len(records.bodies) == 1


async def test_a_record_says_what_the_agent_saw():
    records = Records()
    counted = TurnedAway(records.append, Clock())
    counted.add("helper", "busy.rate")
    counted.add(None, UNAUTHENTICATED)
    await counted.close()
    assert [(body["code"], body["stage"]) for body in records.bodies] == [("BUSY", "limits"), (None, None)]
