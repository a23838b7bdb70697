from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from sshfacts.commands.site import Site
from sshfacts.permission.configuration import Configuration, recorded_policy
from sshfacts.permission.policy import Policy, policy_of
from sshfacts.storage.engine import reading
from sshfacts.storage.recorder import Recorder, RecordUnavailable, open_recorder
from tests.support.records import kinds
from tests.support.sites import SiteFiles


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return SiteFiles(tmp_path / "site").load()


@pytest.fixture
async def recorder(tmp_path: Path) -> AsyncIterator[Recorder]:
    async with open_recorder(f"sqlite:///{tmp_path}/audit.db") as opened:
        yield opened


def changed(folder: Path) -> Site:
    settings = SiteFiles(folder).settings.replace("grants = []", 'grants = ["disk.read"]')
    return SiteFiles(folder, settings=settings).load()


async def test_a_policy_is_recorded_when_it_is_not_the_last_one(tmp_path, site, recorder):
    other = changed(tmp_path / "changed")
    for one in (site, site, other, other, site):
        configuration = Configuration(one, recorder)
        await configuration.record()
        await configuration.record()

    assert kinds(tmp_path / "audit.db") == ["writer_start", "config", "config", "config"]


async def test_the_policy_of_a_past_time_is_found(tmp_path, site, recorder):
    begin = datetime.now(UTC)
    await Configuration(site, recorder).record()
    between = datetime.now(UTC)
    await Configuration(changed(tmp_path / "changed"), recorder).record()
    engine = reading(recorder.engine)

    assert recorded_policy(engine, begin - timedelta(seconds=1)) is None
    then, now = (recorded_policy(engine, at) for at in (between, datetime.now(UTC)))
    assert then is not None
    assert now is not None
    assert then[0] == policy_of(site)
    assert {rule.caller for rule in Policy(then[0]).matrix()} == {"agent"}
    assert {rule.caller for rule in Policy(now[0]).matrix()} == {"agent", "guest"}
    assert then[1] < now[1]


async def test_a_policy_that_could_not_be_recorded_is_tried_again(tmp_path, site, recorder, monkeypatch):
    async def full(_: object) -> bytes:
        raise RecordUnavailable("SQLITE_FULL")

    configuration = Configuration(site, recorder)
    with monkeypatch.context() as broken:
        broken.setattr(recorder, "append", full)
        with pytest.raises(RecordUnavailable):
            await configuration.record()
    await configuration.record()

    assert kinds(tmp_path / "audit.db") == ["writer_start", "config"]
