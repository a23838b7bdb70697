"""What SIGHUP does, and what it does not end."""

import asyncio
import logging
import os
import signal

import pytest

from sshfacts.errors import Finding, SiteError
from sshfacts.service.reloading import reloading_on_hangup


class Holder:
    """Reloads as it is told."""

    def __init__(self) -> None:
        self.reloads = 0
        self.done = asyncio.Event()
        self.result: frozenset[str] | SiteError = frozenset()

    async def reload(self) -> frozenset[str]:
        self.reloads += 1
        self.done.set()
        if isinstance(self.result, SiteError):
            raise self.result
        return self.result


@pytest.fixture
def holder(caplog: pytest.LogCaptureFixture) -> Holder:
    caplog.set_level(logging.INFO)
    return Holder()


async def _hang_up(holder: Holder) -> None:
    holder.done.clear()
    os.kill(os.getpid(), signal.SIGHUP)
    await asyncio.wait_for(holder.done.wait(), 5)
    await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("changed", "told"), [(frozenset(), "none"), (frozenset({"b", "a"}), "a, b")], ids=["nothing", "two"]
)
async def test_a_hangup_reloads_and_says_what_changed(holder: Holder, caplog, changed, told):
    holder.result = changed
    with reloading_on_hangup(holder):
        await _hang_up(holder)
        await _hang_up(holder)
    assert holder.reloads == 2
    assert [record.message for record in caplog.records] == [f"credentials read anew; changed: {told}"] * 2


async def test_a_reload_that_fails_is_told_and_ends_nothing(holder: Holder, caplog):
    holder.result = SiteError([Finding("sshfacts.toml", 0, 0, "settings.credential", "credential key: gone", "w", "f")])
    with reloading_on_hangup(holder):
        await _hang_up(holder)
        holder.result = frozenset({"key"})
        await _hang_up(holder)
    assert [record.message for record in caplog.records] == [
        "credentials stay as they were: credential key: gone",
        "credentials read anew; changed: key",
    ]


async def test_the_signal_is_given_back_at_the_end(holder: Holder):
    before = signal.getsignal(signal.SIGHUP)
    with reloading_on_hangup(holder):
        assert signal.getsignal(signal.SIGHUP) != before
    assert signal.getsignal(signal.SIGHUP) == before
