"""The service is killed while it records; what it acknowledged must be there."""

import os
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from sshfacts.storage.canonical import dumps, leaf_hash
from sshfacts.storage.engine import open_for_reading
from sshfacts.storage.orphans import record_orphans
from sshfacts.storage.queries import MAY_HAVE_RUN, Filters, requests
from sshfacts.storage.recorder import open_recorder
from tests.support.appending import HANGING
from tests.support.records import stored, url_of

ACKNOWLEDGED = 300


def kill_while_appending(database: Path, children: int) -> set[str]:
    """Let services record calls, kill each with SIGKILL, and return the hashes that they acknowledged."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "tests.support.appending", url_of(database)]
    services = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(children)]
    acknowledged: list[str] = []
    for service in services:
        assert service.stdout is not None
        acknowledged += [service.stdout.readline() for _ in range(ACKNOWLEDGED)]
        service.send_signal(signal.SIGKILL)
    for service in services:
        with service:
            assert service.stdout is not None
            acknowledged += service.stdout.readlines()
        assert service.returncode == -signal.SIGKILL
    return {line.strip() for line in acknowledged if line.endswith("\n")}  # the last line may be cut


@pytest.mark.parametrize("children", [1, 2])
def test_what_was_acknowledged_survives_a_kill(database: Path, children: int):
    acknowledged = kill_while_appending(database, children)
    bodies = stored(database)  # checks that every chain is dense and linked
    assert len(acknowledged) >= ACKNOWLEDGED * children
    assert acknowledged <= {leaf_hash(dumps(body)).hex() for body in bodies}
    assert len({body["writer"] for body in bodies}) == children


async def test_calls_that_were_cut_off_are_visible_at_once_and_closed_later(database: Path):
    kill_while_appending(database, 1)
    reader = open_for_reading(url_of(database))
    cut_off = requests(reader, limit=1_000, filters=Filters(only_open=True))
    assert HANGING in {row.request_id for row in cut_off}
    assert {row.state for row in cut_off} == {MAY_HAVE_RUN}
    async with open_recorder(url_of(database)) as recorder:
        later = datetime(2026, 11, 30, 10, tzinfo=UTC) + timedelta(hours=1)
        closed = await record_orphans(reader, recorder, later)
    assert sorted(closed) == sorted(row.request_id for row in cut_off)
