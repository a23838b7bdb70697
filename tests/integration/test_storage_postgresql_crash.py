"""Services, connections and the server itself end while records are written; what was acknowledged must be there."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest

from sshfacts.storage.canonical import dumps, leaf_hash
from sshfacts.storage.engine import open_for_reading
from sshfacts.storage.orphans import record_orphans
from sshfacts.storage.queries import MAY_HAVE_RUN, Filters, requests
from sshfacts.storage.recorder import open_recorder
from tests.support.appending import HANGING
from tests.support.postgresql import Cluster, Database, needs_postgresql

pytestmark = needs_postgresql

ACKNOWLEDGED = 200


@pytest.fixture(scope="module")
def fragile() -> Iterator[Cluster]:
    """A server that is ended at once: recovery looks at all of its files, so it holds no other tests' databases."""
    with Cluster() as running:
        yield running


ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


class Service:
    """A process that records calls without end, and says what was acknowledged."""

    def __init__(self, database: Database) -> None:
        command = [sys.executable, "-m", "tests.support.appending", database.url()]
        self._process = subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)
        self._lines: list[str] = []

    def wait_for(self, records: int) -> None:
        """Wait until so many more records were acknowledged."""
        assert self._process.stdout is not None
        self._lines += [self._process.stdout.readline() for _ in range(records)]

    def kill(self) -> set[str]:
        """End it with SIGKILL, and return the hashes of all that was acknowledged."""
        ended_by_itself = self._process.poll() is not None
        self._process.send_signal(signal.SIGKILL)
        with self._process:
            assert self._process.stdout is not None
            self._lines += self._process.stdout.readlines()
        assert not ended_by_itself
        return {line.strip() for line in self._lines if line.endswith("\n")}  # the last line may be cut


@contextmanager
def services(database: Database, number: int) -> Iterator[list[Service]]:
    """Give services that have begun to record; at the end everything they acknowledged is in the database."""
    running = [Service(database) for _ in range(number)]
    try:
        for service in running:
            service.wait_for(ACKNOWLEDGED)
        yield running
    finally:
        acknowledged = {leaf for service in running for leaf in service.kill()}
    # Of a commit that was under way the server does not say how it ends; it ends soon.
    while database.end_connections():
        time.sleep(0.05)
    bodies = database.stored()  # checks that every chain is dense and linked
    assert acknowledged <= {leaf_hash(dumps(body)).hex() for body in bodies}
    assert len(acknowledged) >= ACKNOWLEDGED * number
    assert len({(body["writer"], body["seq"]) for body in bodies}) == len(bodies)


@pytest.mark.parametrize("number", [1, 2])
def test_services_that_are_killed(postgresql: Database, number: int):
    with services(postgresql, number):
        pass
    assert len({body["writer"] for body in postgresql.stored()}) == number


def test_connections_that_are_ended_again_and_again(postgresql: Database):
    with services(postgresql, 1) as [service]:
        ended = 0
        for _ in range(8):
            ended += postgresql.end_connections()
            service.wait_for(ACKNOWLEDGED)
    assert ended >= 8
    writers = {body["writer"] for body in postgresql.stored()}
    assert len(writers) == 1, "one chain goes on over all of its connections"


def test_a_server_that_ends_at_once_and_recovers(fragile: Cluster):
    with services(fragile.new_database(), 2) as running:
        for _ in range(2):
            fragile.stop(signal.SIGQUIT)
            fragile.start()
            for service in running:
                service.wait_for(ACKNOWLEDGED)


async def test_calls_that_were_cut_off_are_visible_at_once_and_closed_later(postgresql: Database):
    with services(postgresql, 1):
        pass
    reader = open_for_reading(postgresql.url("facts_auditor"))
    cut_off = requests(reader, limit=1_000, filters=Filters(only_open=True))
    assert HANGING in {row.request_id for row in cut_off}
    assert {row.state for row in cut_off} == {MAY_HAVE_RUN}
    async with open_recorder(postgresql.url()) as recorder:
        later = datetime(2026, 11, 30, 10, tzinfo=UTC) + timedelta(hours=1)
        closed = await record_orphans(reader, recorder, later)
    assert sorted(closed) == sorted(row.request_id for row in cut_off)
    reader.dispose()
