import asyncio
from dataclasses import dataclass

import pytest

from sshfacts.commands.settings import CallerSettings
from sshfacts.errors import Refusal
from sshfacts.permission import limits
from sshfacts.permission.limits import Limiter


@dataclass
class Seconds:
    """Seconds that only a test lets pass."""

    passed: float = 0.0

    def __call__(self) -> float:
        return self.passed


async def outcome(limiter: Limiter, caller: CallerSettings, hold: asyncio.Event | None = None) -> str:
    try:
        async with limiter.place(caller):
            if hold is not None:
                await hold.wait()
            return "ran"
    except Refusal as refusal:
        return refusal.detail


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_minutes_calls_may_come_at_once_and_then_at_their_rate():
    clock = Seconds()
    limiter, caller = Limiter(clock), CallerSettings("helper", calls_per_minute=6)
    assert [await outcome(limiter, caller) for _ in range(7)] == ["ran"] * 6 + ["busy.rate"]
    clock.passed += 9.9
    assert await outcome(limiter, caller) == "busy.rate"
    clock.passed += 0.2
    assert [await outcome(limiter, caller) for _ in range(2)] == ["ran", "busy.rate"]
    clock.passed += 3_600
    assert [await outcome(limiter, caller) for _ in range(7)] == ["ran"] * 6 + ["busy.rate"]


async def test_callers_do_not_use_up_each_others_calls():
    limiter = Limiter(Seconds())
    one, other = (CallerSettings(name, calls_per_minute=1) for name in ("one", "other"))
    assert [await outcome(limiter, caller) for caller in (one, one, other)] == ["ran", "busy.rate", "ran"]


async def test_what_the_rate_refuses_takes_no_place():
    limiter, caller = Limiter(Seconds()), CallerSettings("helper", calls_per_minute=2, concurrent=1, queue=1)
    held = asyncio.Event()
    calls = [asyncio.create_task(outcome(limiter, caller, held)) for _ in range(3)]
    await settle()
    assert calls[2].result() == "busy.rate"
    held.set()
    assert [await call for call in calls] == ["ran", "ran", "busy.rate"]


@pytest.mark.parametrize("queue", [0, 1, 3])
async def test_so_many_run_and_so_many_wait(queue: int):
    limiter, caller = Limiter(Seconds()), CallerSettings("helper", concurrent=2, queue=queue)
    held = asyncio.Event()
    calls = [asyncio.create_task(outcome(limiter, caller, held)) for _ in range(2 + queue + 2)]
    await settle()
    assert [call.result() for call in calls if call.done()] == ["busy.caller"] * 2
    held.set()
    assert [await call for call in calls].count("ran") == 2 + queue


async def test_calls_run_in_the_order_in_which_they_came():
    limiter, caller = Limiter(Seconds()), CallerSettings("helper", concurrent=1)
    order: list[int] = []

    async def call(number: int) -> None:
        async with limiter.place(caller):
            order.append(number)
            await asyncio.sleep(0)

    await asyncio.gather(*(call(number) for number in range(6)))
    assert order == [*range(6)]


async def test_a_call_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(limits, "QUEUE_SECONDS", 0.01)
    limiter, caller = Limiter(Seconds()), CallerSettings("helper", concurrent=1)
    held = asyncio.Event()
    running = asyncio.create_task(outcome(limiter, caller, held))
    await settle()
    assert await outcome(limiter, caller) == "busy.caller"
    held.set()
    assert await running == "ran"
    assert await outcome(limiter, caller) == "ran"


@pytest.mark.parametrize("turn_has_come", [False, True])
async def test_a_call_that_goes_away_leaves_its_place(turn_has_come: bool):
    limiter, caller = Limiter(Seconds()), CallerSettings("helper", concurrent=1)
    async with limiter.place(caller):
        gone, last = (asyncio.create_task(outcome(limiter, caller)) for _ in range(2))
        await settle()
        if not turn_has_come:
            gone.cancel()
            await settle()
    # The place was passed on just now, and whoever got it has not run yet.
    gone.cancel()
    assert await asyncio.wait_for(last, 1) == "ran"
    assert gone.cancelled()
    assert await outcome(limiter, caller) == "ran"


async def test_a_call_that_fails_frees_its_place():
    limiter, caller = Limiter(Seconds()), CallerSettings("helper", concurrent=1, queue=0)
    for _ in range(3):
        with pytest.raises(LookupError):
            async with limiter.place(caller):
                raise LookupError
