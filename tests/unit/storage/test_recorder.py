import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from sshfacts.storage.canonical import CanonicalError
from sshfacts.storage.chain import Entry
from sshfacts.storage.projection import BodyError
from sshfacts.storage.recorder import RecordUnavailable, open_recorder
from sshfacts.storage.sqlite import BUSY_SECONDS
from sshfacts.storage.writer import RETRY_SECONDS, Writer
from tests.support.records import intent, kinds, outcome, refused, stored, url_of


async def test_one_service_is_one_chain_with_a_first_and_a_last_record(database: Path):
    async with open_recorder(url_of(database), {"service_version": "0.1.0"}) as recorder:
        leaf = await recorder.append(intent())
        await recorder.append(outcome(leaf))
        await recorder.append(refused())
    bodies = stored(database)
    assert [body["kind"] for body in bodies] == ["writer_start", "intent", "outcome", "intent", "writer_stop"]
    assert bodies[0]["service_version"] == "0.1.0"
    assert isinstance(bodies[0]["pid"], int)
    assert bodies[2]["intent"] == leaf.hex()


async def test_a_record_is_durable_when_append_returns(database: Path):
    async with open_recorder(url_of(database)) as recorder:
        await recorder.append(intent())
        assert kinds(database) == ["writer_start", "intent"]


async def test_each_start_is_a_new_chain(database: Path):
    for _ in range(3):
        async with open_recorder(url_of(database)) as recorder:
            await recorder.append(intent())
    assert len({body["writer"] for body in stored(database)}) == 3


async def test_many_callers_at_once_all_get_their_own_hash(database: Path):
    async with open_recorder(url_of(database)) as recorder:
        leaves = await asyncio.gather(*(recorder.append(intent(f"req.{number:08}")) for number in range(300)))
    intents = [body for body in stored(database) if body["kind"] == "intent"]
    assert len(set(leaves)) == len(intents) == 300
    assert [body["request_id"] for body in intents] == [f"req.{number:08}" for number in range(300)]


async def test_a_cancelled_caller_does_not_break_the_chain(database: Path):
    async with open_recorder(url_of(database)) as recorder:
        calls = [asyncio.create_task(recorder.append(intent(f"req.{number:08}"))) for number in range(20)]
        await asyncio.sleep(0)
        for call in calls[::2]:
            call.cancel()
        results = await asyncio.gather(*calls, return_exceptions=True)
        assert [isinstance(result, bytes) for result in results] == [False, True] * 10
        await recorder.append(intent("req.afterwards"))
    requests = [body["request_id"] for body in stored(database) if body["kind"] == "intent"]
    assert requests == [*(f"req.{number:08}" for number in range(20)), "req.afterwards"]


async def test_a_bad_body_fails_its_caller_alone(database: Path):
    async with open_recorder(url_of(database)) as recorder:
        results = await asyncio.gather(
            recorder.append(intent("req.good0001")),
            recorder.append(intent(caller=None)),
            recorder.append(intent(arguments={"limit": 0.5})),
            recorder.append(intent("req.good0002")),
            return_exceptions=True,
        )
    assert [type(result) for result in results[1:3]] == [
        BodyError,
        CanonicalError,
    ]
    assert kinds(database) == ["writer_start", "intent", "intent", "writer_stop"]


async def test_two_recorders_share_one_new_file(database: Path):
    async def service() -> None:
        async with open_recorder(url_of(database)) as recorder:
            for number in range(40):
                leaf = await recorder.append(intent(f"req.{number:08}"))
                await recorder.append(outcome(leaf, f"req.{number:08}"))

    await asyncio.gather(service(), service())
    bodies = stored(database)
    assert len(bodies) == 2 * (1 + 80 + 1)
    assert len({body["writer"] for body in bodies}) == 2


async def test_a_closed_recorder_takes_nothing(database: Path):
    async with open_recorder(url_of(database)) as recorder:
        assert recorder.available
    assert not recorder.available
    with pytest.raises(RecordUnavailable, match="closed"):
        await recorder.append(intent())
    assert kinds(database) == ["writer_start", "writer_stop"]


async def test_leaving_by_an_error_still_ends_the_chain(database: Path):
    async def fail() -> None:
        async with open_recorder(url_of(database)) as recorder:
            await recorder.append(intent())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    assert kinds(database) == ["writer_start", "intent", "writer_stop"]


async def test_a_disk_that_hangs_is_answered_for(database: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sshfacts.storage.recorder._HANG_SECONDS", 0.05)
    release = threading.Event()
    async with open_recorder(url_of(database), patience=0.1) as recorder:
        commit = Writer._commit

        def hanging(self: Writer, entries: Sequence[Entry], *, doubtful: bool) -> None:
            release.wait(10)
            commit(self, entries, doubtful=doubtful)

        monkeypatch.setattr(Writer, "_commit", hanging)
        with pytest.raises(RecordUnavailable, match="does not answer"):
            await recorder.append(intent())
        release.set()
        await recorder.append(intent("req.afterwards"))
    assert kinds(database) == ["writer_start", "intent", "intent", "writer_stop"]


def test_nobody_waits_longer_than_about_six_seconds():
    assert RETRY_SECONDS + BUSY_SECONDS <= 6
