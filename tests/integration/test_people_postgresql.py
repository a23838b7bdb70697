"""Approvals, pauses and tokens on PostgreSQL, where replicas really act at the same time."""

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from sshfacts.call import Pipeline
from sshfacts.commands.site import Site
from sshfacts.permission.request import Request
from sshfacts.storage import approvals, pauses, tokens
from sshfacts.storage.approvals import Approval, State, Subject
from sshfacts.storage.engine import open_for_writing, transaction
from sshfacts.storage.ledger import Actor, Change, Ledger
from sshfacts.storage.pauses import Scope
from sshfacts.storage.recorder import Recorder, open_recorder
from tests.support.people import Clock, Office
from tests.support.postgresql import Database, needs_postgresql
from tests.support.records import COMMAND, SHA256
from tests.support.sites import SiteFiles
from tests.support.transports import CannedTransport

pytestmark = needs_postgresql

RESTART = Request("restart", "web-1", {"unit": "nginx"})
RUNNING = b"Id=nginx\nState=active\n"
NOW = datetime(2026, 11, 30, 10, tzinfo=UTC)
REPLICAS = 6


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return SiteFiles(tmp_path).load()


@pytest.fixture
async def recorder(postgresql: Database) -> AsyncIterator[Recorder]:
    async with open_recorder(postgresql.url()) as opened:
        yield opened


def kinds(database: Database, kind: str) -> list[object]:
    return [body["reason"] for body in database.stored() if body["kind"] == kind]


def engines(database: Database) -> list[sa.Engine]:
    return [open_for_writing(database.url()) for _ in range(REPLICAS)]


def asked(number: int) -> Approval:
    subject = Subject(SHA256, "helper", "anna", "restart", "web-1", {"n": 1}, COMMAND, "change", SHA256, SHA256)
    return Approval(f"apr.number{number:03}", State.ASKED, subject, "req.asked000", NOW, NOW + timedelta(hours=1))


async def test_two_persons_and_one_call_on_many_replicas(postgresql: Database, recorder: Recorder, site: Site):
    clock, transport = Clock(), CannedTransport(RUNNING)
    agent = site.require_settings().callers["agent"]
    replicas = [Pipeline(site, transport, recorder, clock) for _ in range(REPLICAS)]

    first = await asyncio.gather(*(one.call(agent, RESTART, "test") for one in replicas))
    ids = {one["error"]["approval_id"] for one in first}
    assert len(ids) == 1, "whoever asks for the same call waits for the same approval"
    Office(site, recorder, clock).approve(ids.pop())
    second = await asyncio.gather(*(one.call(agent, RESTART, "test") for one in replicas))

    assert sorted(one["outcome"] for one in second) == ["failure"] * (REPLICAS - 1) + ["success"]
    assert len(transport.commands) == 1
    for one in replicas:
        await one.close()
    assert kinds(postgresql, "approval") == ["asked", "granted", "consumed", "asked"]


def test_of_many_that_ask_at_once_one_makes_the_approval(postgresql: Database):
    def ask(number: int, engine: sa.Engine) -> bool:
        with transaction(engine) as connection:
            made = approvals.ask(connection, asked(number))
            # The transaction goes on after the refused row.
            found = approvals.latest(connection, SHA256)
            assert found is not None
            return made

    with ThreadPoolExecutor(REPLICAS) as threads:
        assert sorted(threads.map(ask, range(REPLICAS), engines(postgresql))) == [False] * (REPLICAS - 1) + [True]


def test_of_many_that_use_a_grant_at_once_one_does(postgresql: Database, writing: sa.Engine):
    with transaction(writing) as connection:
        approvals.ask(connection, asked(0))
        approvals.grant(connection, asked(0), "grace", NOW, NOW + timedelta(minutes=15))
        granted = approvals.get(connection, asked(0).id)
    assert granted is not None

    def use(engine: sa.Engine) -> bool:
        def apply(connection: sa.Connection) -> Change[bool]:
            used = approvals.consume(connection, granted, "req.used0000", NOW)
            by = Actor(None, "test")
            return Change(used, [approvals.body(granted, State.CONSUMED, by, NOW)] if used else [])

        return Ledger(engine).change(apply)

    with ThreadPoolExecutor(REPLICAS) as threads:
        assert sorted(threads.map(use, engines(postgresql))) == [False] * (REPLICAS - 1) + [True]
    assert kinds(postgresql, "approval") == ["consumed"]


def test_a_pause_is_seen_by_every_replica_at_once(postgresql: Database, writing: sa.Engine):
    by = Actor("olga", "test")
    made = pauses.pause(writing, Scope(host="web-1"), "incident", "olga", by)
    for engine in engines(postgresql):
        assert pauses.pause_of(engine, "disk", "web-1", "helper") == made
        assert pauses.pause_of(engine, "disk", "web-2", "helper") is None
    assert pauses.resume(writing, Scope(host="web-1"), "over", "olga", by) == [made]
    assert [pauses.pause_of(engine, "disk", "web-1", "helper") for engine in engines(postgresql)] == [None] * REPLICAS
    assert kinds(postgresql, "pause") == ["paused", "resumed"]


def test_a_token_is_made_used_rotated_and_revoked(postgresql: Database, writing: sa.Engine):
    first = tokens.add_for_person(writing, "grace")
    second = tokens.rotate(writing, first.split("_")[1])
    assert second is not None
    assert tokens.find(writing, first) is None
    found = tokens.find(writing, second)
    assert found is not None
    assert found.person == "grace"
    assert tokens.revoke(writing, found.id)
    assert tokens.find(writing, second) is None
    assert kinds(postgresql, "token") == ["added", "revoked", "added", "revoked"]


def test_a_change_that_fails_is_neither_in_force_nor_on_record(postgresql: Database, writing: sa.Engine):
    def fail(connection: sa.Connection) -> Change[None]:
        approvals.ask(connection, asked(0))
        raise LookupError

    with pytest.raises(LookupError):
        Ledger(writing).change(fail)
    with transaction(writing) as connection:
        assert approvals.get(connection, asked(0).id) is None
    assert postgresql.stored() == []
