"""What a running service does beside calls."""

from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from sshfacts.commands.settings import AuditSettings
from sshfacts.commands.site import Site
from sshfacts.service.running import sealed, started
from sshfacts.storage.checkpoint import open_checkpoint
from sshfacts.storage.engine import open_for_reading, transaction
from sshfacts.storage.recorder import open_recorder
from sshfacts.storage.stored_tree import newest_note
from sshfacts.storage.tables import ENTRY
from tests.support.sealed import KEY, ORIGIN, new_sqlite
from tests.support.transports import CannedTransport


def note_in(url: str) -> str | None:
    with transaction(open_for_reading(url)) as connection:
        return newest_note(connection)


def records_in(url: str) -> int:
    with transaction(open_for_reading(url)) as connection:
        return connection.execute(sa.select(sa.func.count()).select_from(ENTRY)).scalar_one()


@pytest.mark.parametrize("table", [True, False])
async def test_the_record_is_sealed_to_its_end_if_the_settings_say_so(site: Site, tmp_path: Path, table: bool):
    record = new_sqlite(tmp_path / "log")
    audit = AuditSettings(ORIGIN, record.log.key_file, record.log.state_file, tmp_path / "checkpoints", 60)
    (tmp_path / "checkpoints").mkdir()
    settings = replace(site.require_settings(), database_url=record.url, audit=audit if table else None)

    async with (
        sealed(settings),
        open_recorder(record.url) as recorder,
        started(replace(site, settings=settings), CannedTransport(), recorder),
    ):
        pass

    note = note_in(record.url)
    assert (note is not None) is table
    assert any(path.is_file() for path in (tmp_path / "checkpoints").rglob("*")) is table
    if note is not None:
        assert open_checkpoint(note, [KEY.public]).size == records_in(record.url)


async def test_a_service_is_ready_once_it_has_looked_at_its_database(site: Site):
    url = site.require_settings().database_url
    async with open_recorder(url) as recorder, started(site, CannedTransport(), recorder) as service:
        assert service.ready
        service.calls.refuse_more()
        assert not service.ready
