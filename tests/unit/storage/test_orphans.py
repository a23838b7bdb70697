from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from sshfacts.limits import SECONDS
from sshfacts.storage.engine import open_for_reading
from sshfacts.storage.orphans import GRACE, WINDOW, deadline, record_orphans
from sshfacts.storage.queries import MAY_HAVE_RUN, OpenIntent, requests, story
from sshfacts.storage.recorder import Recorder, open_recorder
from tests.support.records import intent, outcome, refused, url_of

TEN = datetime(2026, 11, 30, 10, tzinfo=UTC)
DEADLINE = TEN + timedelta(seconds=11)
LATER = TEN + timedelta(hours=1)


@pytest.fixture
async def recorder(database: Path) -> AsyncIterator[Recorder]:
    async with open_recorder(url_of(database)) as opened:
        yield opened


@pytest.fixture
def reader(recorder: Recorder, database: Path) -> sa.Engine:
    assert recorder.available
    return open_for_reading(url_of(database))


async def test_a_call_that_was_cut_off_is_closed_and_still_may_have_run(reader: sa.Engine, recorder: Recorder):
    leaf = await recorder.append(intent("req.cut_off"))
    assert await record_orphans(reader, recorder, LATER) == ["req.cut_off"]
    assert [body["kind"] for body in story(reader, "req.cut_off")] == ["intent", "orphan"]
    assert story(reader, "req.cut_off")[1]["intent"] == leaf.hex()
    assert requests(reader)[0].state == MAY_HAVE_RUN


async def test_it_is_closed_once(reader: sa.Engine, recorder: Recorder):
    await recorder.append(intent("req.cut_off"))
    await record_orphans(reader, recorder, LATER)
    assert await record_orphans(reader, recorder, LATER) == []


async def test_only_calls_that_were_to_run_and_did_not_end_are_orphans(reader: sa.Engine, recorder: Recorder):
    leaf = await recorder.append(intent("req.answered"))
    await recorder.append(outcome(leaf, "req.answered"))
    await recorder.append(refused("req.denied"))
    await recorder.append(intent("req.unrunnable", code="INTERNAL"))
    assert await record_orphans(reader, recorder, LATER) == []


@pytest.mark.parametrize(("now", "closed"), [(DEADLINE + GRACE, []), (DEADLINE + GRACE * 1.01, ["req.slow"])])
async def test_a_call_has_until_its_deadline_and_a_grace(
    reader: sa.Engine, recorder: Recorder, now: datetime, closed: list[str]
):
    await recorder.append(intent("req.slow"))
    assert await record_orphans(reader, recorder, now) == closed


async def test_a_pass_looks_back_as_far_as_it_is_told(reader: sa.Engine, recorder: Recorder):
    await recorder.append(intent("req.old"))
    after_a_week = TEN + WINDOW + timedelta(days=1)
    assert await record_orphans(reader, recorder, after_a_week) == []
    assert await record_orphans(reader, recorder, after_a_week, window=timedelta(days=30)) == ["req.old"]


async def test_an_outcome_after_all_is_taken(reader: sa.Engine, recorder: Recorder):
    leaf = await recorder.append(intent("req.cut_off"))
    await record_orphans(reader, recorder, LATER)
    await recorder.append(outcome(leaf, "req.cut_off", late=True))
    assert requests(reader)[0].state == "success"


def test_an_intent_without_a_deadline_has_the_longest_one():
    assert deadline(OpenIntent("req.x", TEN, bytes(32), None)) == TEN + timedelta(seconds=SECONDS + 1)
