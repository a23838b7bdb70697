"""Whole calls on PostgreSQL with the rights of the service, and the command line on a database from nothing."""

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sshfacts.call import Pipeline
from sshfacts.commands.site import Site
from sshfacts.permission.approving import grant
from sshfacts.permission.request import Request
from sshfacts.storage.engine import open_for_writing
from sshfacts.storage.ledger import Actor
from sshfacts.storage.recorder import Recorder, open_recorder
from sshfacts.values import JsonObject
from tests.support.command_line import envelope_of, sshfacts
from tests.support.postgresql import Cluster, Database, needs_postgresql
from tests.support.sites import SETTINGS, SiteFiles
from tests.support.sshd import keygen
from tests.support.transports import CannedTransport

pytestmark = needs_postgresql

GOOD = b'{"mounts": [{"path": "/", "free_bytes": 1000}]}\n'
DISK = Request("disk", "web-1", {})
RESTART = Request("restart", "web-1", {"unit": "nginx"})
RUNNING = b"Id=nginx\nState=active\n"
PATIENCE = 0.3


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return SiteFiles(tmp_path_factory.mktemp("site")).load()


@pytest.fixture
async def recorder(postgresql: Database, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Recorder]:
    monkeypatch.setattr("sshfacts.storage.recorder.REOPEN_SECONDS", 0.05)
    async with open_recorder(postgresql.url(), patience=PATIENCE) as opened:
        yield opened


async def call(
    site: Site,
    recorder: Recorder,
    transport: CannedTransport,
    request: Request = DISK,
    pipeline: Pipeline | None = None,
) -> JsonObject:
    made = pipeline or Pipeline(site, transport, recorder)
    return await made.call(site.require_settings().callers["agent"], request, "test")


def bodies(database: Database, kind: str) -> list[JsonObject]:
    return [body for body in database.stored() if body["kind"] == kind]


async def test_facts_are_on_record_before_they_are_seen(site: Site, recorder: Recorder, postgresql: Database):
    envelope = await call(site, recorder, CannedTransport(GOOD))
    assert envelope["outcome"] == "success"
    [intent], [outcome] = bodies(postgresql, "intent"), bodies(postgresql, "outcome")
    assert intent["request_id"] == outcome["request_id"] == envelope["request_id"]


async def test_what_a_site_allows_is_recorded_once_whatever_the_replicas(site: Site, postgresql: Database):
    for _ in range(2):
        async with open_recorder(postgresql.url()) as recorder:
            await call(site, recorder, CannedTransport(GOOD))
    assert len(bodies(postgresql, "config")) == 1


async def test_with_the_database_down_nothing_is_run(site: Site, recorder: Recorder, postgresql: Database):
    transport = CannedTransport(GOOD)
    pipeline = Pipeline(site, transport, recorder)
    await call(site, recorder, transport, pipeline=pipeline)
    postgresql.refuse_connections()
    envelope = await call(site, recorder, transport, pipeline=pipeline)
    assert envelope["error"] == {"code": "AUDIT_UNAVAILABLE", "retryable": True}
    assert len(transport.commands) == 1
    postgresql.refuse_connections(refused=False)


async def test_with_the_database_down_after_the_run_facts_are_withheld_and_recorded_late(
    site: Site, recorder: Recorder, postgresql: Database
):
    async def go_down() -> None:
        await asyncio.to_thread(postgresql.refuse_connections)

    envelope = await call(site, recorder, CannedTransport(GOOD, on_run=go_down))
    assert envelope["error"] == {"code": "AUDIT_UNAVAILABLE", "retryable": True}
    assert "data" not in envelope
    postgresql.refuse_connections(refused=False)
    async with asyncio.timeout(10):
        while not bodies(postgresql, "outcome"):  # noqa: ASYNC110 - nothing tells an onlooker when it is there
            await asyncio.sleep(0.05)
    [outcome] = bodies(postgresql, "outcome")
    assert (outcome["code"], outcome["late"], outcome["request_id"]) == ("success", True, envelope["request_id"])


async def test_one_grant_runs_one_call_however_many_replicas_try(site: Site, recorder: Recorder, postgresql: Database):
    asked = await call(site, recorder, CannedTransport(RUNNING), RESTART)
    error = asked["error"]
    assert isinstance(error, dict)
    assert error["code"] == "APPROVAL_REQUIRED"
    by = Actor("grace", "test")
    grant(open_for_writing(postgresql.url()), site, str(error["approval_id"]), by, datetime.now(UTC))
    transports = [CannedTransport(RUNNING) for _ in range(6)]
    async with open_recorder(postgresql.url()) as other:
        recorders = [recorder, other] * 3
        envelopes = await asyncio.gather(
            *(
                call(site, recorder, transport, RESTART)
                for recorder, transport in zip(recorders, transports, strict=True)
            )
        )
    assert [one["outcome"] for one in envelopes].count("success") == 1
    assert sum(len(transport.commands) for transport in transports) == 1
    steps = [body["reason"] for body in bodies(postgresql, "approval")]
    assert steps[:3] == ["asked", "granted", "consumed"]
    assert steps.count("consumed") == 1


def test_from_an_empty_database_to_a_recorded_call(cluster: Cluster, tmp_path: Path):
    database = cluster.new_database("template0")
    table = f'[database]\nurl = "{database.url().partition("?")[0]}"\npassword_file = "{cluster.password_file}"\n'
    root = str(SiteFiles(tmp_path, settings=SETTINGS + table).write())
    keygen(tmp_path / "key")
    migration, auditor = (
        ("--url", database.url(login).partition("?")[0], "--password-file", str(cluster.password_file))
        for login in ("facts_migration", "facts_auditor")
    )

    roles = sshfacts("database", "roles").stdout
    psql = ["psql", "--quiet", "--set=ON_ERROR_STOP=1", "--single-transaction"]
    place = ["--host", str(cluster.folder), "--port", str(cluster.port), "--username", "postgres", database.name]
    subprocess.run([*psql, *place], input=roles, text=True, check=True, timeout=30)
    assert sshfacts("database", "current", *auditor).returncode == 1
    refused = sshfacts("tokens", "add", "agent", "--site", root)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "sshfacts database upgrade" in refused.stderr
    unrecorded = sshfacts("call", "disk", "--host", "web-1", "--site", root, token="any")  # noqa: S106 - it is none
    assert envelope_of(unrecorded)["error"] == {"code": "AUDIT_UNAVAILABLE", "retryable": True}
    assert "sshfacts database upgrade" in unrecorded.stderr

    assert sshfacts("database", "upgrade", *migration).returncode == 0
    assert sshfacts("database", "current", "--site", root).stdout == "0001\n"
    assert sshfacts("audit", "doctor", "--site", root).returncode == 0
    assert sshfacts("audit", "doctor", *migration).returncode == 1
    token = sshfacts("tokens", "add", "agent", "--site", root).stdout.strip()
    envelope = envelope_of(sshfacts("call", "disk", "--host", "web-1", "--site", root, token=token))
    assert envelope["outcome"] == "failure"  # there is no such host

    listed = sshfacts("audit", "list", "--json", *auditor)
    assert [json.loads(line)["request_id"] for line in listed.stdout.splitlines()] == [envelope["request_id"]]
    shown = sshfacts("audit", "show", str(envelope["request_id"]), "--json", *auditor)
    assert [json.loads(line)["kind"] for line in shown.stdout.splitlines()] == ["intent", "outcome"]
    hidden = sshfacts("audit", "show", str(envelope["request_id"]), "--site", root)
    assert (hidden.returncode, hidden.stdout) == (2, "")
    assert "42501" in hidden.stderr, "the service's login reads no record"
