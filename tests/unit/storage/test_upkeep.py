import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from sshfacts.storage.recorder import Recorder, open_recorder
from sshfacts.storage.upkeep import Upkeep, open_upkeep
from tests.support.records import intent, kinds, url_of


@pytest.fixture
async def recorder(database: Path) -> AsyncIterator[Recorder]:
    async with open_recorder(url_of(database), patience=0.2) as opened:
        yield opened


async def until(upkeep: Upkeep, *, ready: bool) -> None:
    async with asyncio.timeout(5):
        while upkeep.ready is not ready:  # noqa: ASYNC110 - the service asks in the same way
            await asyncio.sleep(0.01)


async def test_nothing_is_ready_before_it_was_looked_at(recorder: Recorder):
    upkeep = Upkeep(recorder, keep_free=1)
    assert not upkeep.ready
    await upkeep.round()
    assert upkeep.ready
    upkeep.close()


async def test_a_disk_that_is_nearly_full_is_not_ready_and_says_so_once(
    recorder: Recorder, caplog: pytest.LogCaptureFixture
):
    async with open_upkeep(recorder, keep_free=2**62) as upkeep:
        assert [defect.name for defect in upkeep.defects] == ["disk"]
        assert not upkeep.ready
        await upkeep.round()
        assert caplog.text.count("MiB are free on the disk") == 1
        await recorder.append(intent())  # what is under way is still recorded


async def test_what_is_mended_is_ready_again(recorder: Recorder, database: Path):
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        async with open_upkeep(recorder, keep_free=1, seconds=0.02) as upkeep:
            connection.execute("CREATE TRIGGER mine BEFORE INSERT ON token BEGIN SELECT 1; END")
            await until(upkeep, ready=False)
            connection.execute("DROP TRIGGER mine")
            await until(upkeep, ready=True)


async def test_a_database_that_is_away_is_not_ready(recorder: Recorder, database: Path):
    async with open_upkeep(recorder, keep_free=1, seconds=0.02) as upkeep:
        await asyncio.to_thread(database.rename, database.with_name("moved.db"))
        await until(upkeep, ready=False)
        await asyncio.to_thread(database.with_name("moved.db").rename, database)
        await until(upkeep, ready=True)


async def test_the_first_round_closes_what_was_cut_off_long_ago(recorder: Recorder, database: Path):
    month_ago = datetime.now(UTC) - timedelta(days=30)
    await recorder.append(intent("req.cut_off", at=month_ago.isoformat(), deadline_at=month_ago.isoformat()))
    async with open_upkeep(recorder, keep_free=1):
        assert kinds(database)[-1] == "orphan"
