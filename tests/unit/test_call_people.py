"""The pipeline with people: approvals, pauses and limits, on a transport that answers with bytes."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from sshfacts.call import Pipeline
from sshfacts.commands.settings import CallerSettings
from sshfacts.commands.site import Site
from sshfacts.errors import UsageError
from sshfacts.permission.request import Request
from sshfacts.storage import pauses
from sshfacts.storage.engine import open_for_reading
from sshfacts.storage.ledger import Actor
from sshfacts.storage.pauses import Scope
from sshfacts.storage.queries import requests, story
from sshfacts.storage.recorder import Recorder, RecordUnavailable, open_recorder
from sshfacts.values import JsonObject
from tests.support.people import Clock, Office
from tests.support.records import stored
from tests.support.sites import SiteFiles
from tests.support.transports import CannedTransport

RESTART = Request("restart", "web-1", {"unit": "nginx"})
RUNNING = b"Id=nginx\nState=active\n"
TWO_HOSTS = SiteFiles(Path()).settings.replace('groups = ["network"]', 'groups = ["linux"]')


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return SiteFiles(tmp_path / "site", settings=TWO_HOSTS).load()


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/audit.db"


@pytest.fixture
async def recorder(url: str) -> AsyncIterator[Recorder]:
    async with open_recorder(url) as opened:
        yield opened


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def transport() -> CannedTransport:
    return CannedTransport(RUNNING)


@pytest.fixture
async def pipeline(site, recorder, clock, transport) -> AsyncIterator[Pipeline]:
    made = Pipeline(site, transport, recorder, clock)
    yield made
    await made.close()


@pytest.fixture
def office(site, recorder, clock) -> Office:
    return Office(site, recorder, clock)


def agent(site: Site, **changes: object) -> CallerSettings:
    return replace(site.require_settings().callers["agent"], **changes)  # type: ignore[arg-type]  # fields of callers


def error_of(envelope: JsonObject) -> JsonObject:
    error = envelope["error"]
    assert isinstance(error, dict)
    return error


def story_of(url: str, envelope: JsonObject) -> list[JsonObject]:
    return story(open_for_reading(url), str(envelope["request_id"]))


async def test_two_persons_and_one_call(site, pipeline, office, transport):
    first = await pipeline.call(agent(site), RESTART, "test")
    again = await pipeline.call(agent(site), RESTART, "test")
    assert error_of(first)["code"] == "APPROVAL_REQUIRED"
    assert error_of(again)["approval_id"] == error_of(first)["approval_id"]
    assert transport.commands == []

    office.approve(error_of(first)["approval_id"])
    ran = await pipeline.call(agent(site), RESTART, "test")
    assert ran["outcome"] == "success"
    assert len(transport.commands) == 1

    anew = await pipeline.call(agent(site), RESTART, "test")
    assert error_of(anew)["code"] == "APPROVAL_REQUIRED"
    assert error_of(anew)["approval_id"] != error_of(first)["approval_id"]
    assert len(transport.commands) == 1


async def test_each_step_is_on_record_before_the_agent_hears_of_it(site, url, pipeline, office):
    first = await pipeline.call(agent(site), RESTART, "test")
    approval = error_of(first)["approval_id"]
    assert [(body["kind"], body["reason"]) for body in story_of(url, first)] == [
        ("approval", "asked"),
        ("intent", "approval_required"),
    ]

    office.approve(approval)
    asked, _, granted = story_of(url, first)
    assert (granted["reason"], granted["approver"], granted["os_user"]) == ("granted", "grace", "someone")
    assert granted["command"] == asked["command"]
    assert asked["arguments"] == {"unit": "nginx"}

    ran = await pipeline.call(agent(site), RESTART, "test")
    consumed, intent, started, outcome = story_of(url, ran)
    assert (consumed["reason"], consumed["approval"], consumed["asked_by"]) == (
        "consumed",
        approval,
        first["request_id"],
    )
    assert (intent["approver"], intent["decision"]["approval"]) == ("grace", approval)
    assert (started["kind"], outcome["code"]) == ("started", "success")


@pytest.mark.parametrize(
    "other",
    [
        Request("restart", "web-1", {"unit": "sshd"}),
        Request("restart", "router-1", {"unit": "nginx"}),
    ],
)
async def test_another_argument_or_host_needs_its_own_approval(site, pipeline, office, transport, other):
    first = await pipeline.call(agent(site), RESTART, "test")
    office.approve(error_of(first)["approval_id"])

    envelope = await pipeline.call(agent(site), other, "test")

    assert error_of(envelope)["code"] == "APPROVAL_REQUIRED"
    assert error_of(envelope)["approval_id"] != error_of(first)["approval_id"]
    assert transport.commands == []


@pytest.mark.parametrize("changes", [{"name": "agent-2"}, {"principal": "grace"}, {"principal": None}])
async def test_another_caller_or_principal_needs_its_own_approval(site, pipeline, office, transport, changes):
    first = await pipeline.call(agent(site), RESTART, "test")
    office.approve(error_of(first)["approval_id"])

    envelope = await pipeline.call(agent(site, **changes), RESTART, "test")

    assert error_of(envelope)["code"] == "APPROVAL_REQUIRED"
    assert transport.commands == []


async def test_a_changed_catalogue_needs_a_new_approval(tmp_path, site, recorder, pipeline, office, clock, transport):
    first = await pipeline.call(agent(site), RESTART, "test")
    office.approve(error_of(first)["approval_id"])
    files = SiteFiles(tmp_path / "changed", settings=TWO_HOSTS)
    files.operations["restart"] = files.operations["restart"].replace("seconds: 5", "seconds: 6")
    changed = files.load()

    envelope = await Pipeline(changed, transport, recorder, clock).call(agent(changed), RESTART, "test")

    assert error_of(envelope)["code"] == "APPROVAL_REQUIRED"
    assert transport.commands == []


async def test_nobody_approves_what_another_catalogue_was_asked_for(tmp_path, site, recorder, pipeline, clock):
    first = await pipeline.call(agent(site), RESTART, "test")
    files = SiteFiles(tmp_path / "changed", settings=TWO_HOSTS)
    files.operations["disk"] = files.operations["disk"].replace("seconds: 5", "seconds: 6")

    with pytest.raises(UsageError, match="the catalogue has changed"):
        Office(files.load(), recorder, clock).approve(error_of(first)["approval_id"])


async def test_of_two_parallel_repeats_exactly_one_runs(site, pipeline, office, transport):
    first = await pipeline.call(agent(site), RESTART, "test")
    office.approve(error_of(first)["approval_id"])

    envelopes = await asyncio.gather(*(pipeline.call(agent(site), RESTART, "test") for _ in range(5)))

    assert sorted(envelope["outcome"] for envelope in envelopes) == ["failure"] * 4 + ["success"]
    assert len(transport.commands) == 1
    assert len({error_of(one)["approval_id"] for one in envelopes if one["outcome"] == "failure"}) == 1


async def test_of_two_replicas_exactly_one_runs(site, recorder, clock, office, transport):
    replicas = [Pipeline(site, transport, recorder, clock) for _ in range(4)]
    first = await replicas[0].call(agent(site), RESTART, "test")
    office.approve(error_of(first)["approval_id"])

    envelopes = await asyncio.gather(*(one.call(agent(site), RESTART, "test") for one in replicas))

    assert sorted(envelope["outcome"] for envelope in envelopes) == ["failure"] * 3 + ["success"]
    assert len(transport.commands) == 1


async def test_an_approval_is_used_up_even_if_the_run_fails(site, pipeline, office, transport):
    first = await pipeline.call(agent(site), RESTART, "test")
    office.approve(error_of(first)["approval_id"])
    transport.status = 1

    failed = await pipeline.call(agent(site), RESTART, "test")
    anew = await pipeline.call(agent(site), RESTART, "test")

    assert [error_of(one)["code"] for one in (failed, anew)] == ["COMMAND_FAILED", "APPROVAL_REQUIRED"]


async def test_a_refusal_stands_until_its_time_is_over(site, url, pipeline, office, clock, transport):
    first = await pipeline.call(agent(site), RESTART, "test")
    office.refuse(error_of(first)["approval_id"])

    refused = await pipeline.call(agent(site), RESTART, "test")
    clock.move(minutes=59)
    still = await pipeline.call(agent(site), RESTART, "test")
    clock.move(minutes=1)
    anew = await pipeline.call(agent(site), RESTART, "test")

    assert error_of(refused) == error_of(still) == {"code": "DENIED", "retryable": False}
    [intent] = story_of(url, refused)
    assert (intent["detail"], intent["decision"]["reason"]) == ("approval_refused", "approval_refused")
    assert story_of(url, first)[-1]["because"] == "not now"
    assert error_of(anew)["code"] == "APPROVAL_REQUIRED"
    assert error_of(anew)["approval_id"] != error_of(first)["approval_id"]
    assert transport.commands == []


@pytest.mark.parametrize(("granted", "minutes"), [(False, 60), (True, 15)])
async def test_an_approval_that_came_too_late_is_told_once(
    site, url, pipeline, office, clock, transport, granted, minutes
):
    first = await pipeline.call(agent(site), RESTART, "test")
    if granted:
        office.approve(error_of(first)["approval_id"])
    clock.move(minutes=minutes)

    expired = await pipeline.call(agent(site), RESTART, "test")
    anew = await pipeline.call(agent(site), RESTART, "test")

    assert error_of(expired)["code"] == "DENIED"
    record, intent = story_of(url, expired)
    assert (record["reason"], intent["detail"]) == ("expired", "approval_expired")
    assert error_of(anew)["code"] == "APPROVAL_REQUIRED"
    assert transport.commands == []


@pytest.mark.parametrize(("granted", "minutes"), [(False, 59.9), (True, 14.9)])
async def test_an_approval_in_time_counts(site, pipeline, office, clock, granted, minutes):
    first = await pipeline.call(agent(site), RESTART, "test")
    if granted:
        office.approve(error_of(first)["approval_id"])
    clock.move(minutes=minutes)
    if not granted:
        office.approve(error_of(first)["approval_id"])

    assert (await pipeline.call(agent(site), RESTART, "test"))["outcome"] == "success"


async def test_a_grant_of_somebody_who_is_no_approver_any_more_has_expired(
    tmp_path, recorder, clock, office, pipeline, site, transport
):
    first = await pipeline.call(agent(site), RESTART, "test")
    office.approve(error_of(first)["approval_id"])
    settings = TWO_HOSTS.replace('[people.grace]\nroles = ["approver"]', '[people.grace]\nroles = ["auditor"]')
    demoted = SiteFiles(tmp_path / "demoted", settings=settings).load()

    envelope = await Pipeline(demoted, transport, recorder, clock).call(agent(demoted), RESTART, "test")

    assert error_of(envelope)["code"] == "DENIED"
    assert transport.commands == []


async def test_a_caller_cannot_put_any_number_of_calls_before_people(site, url, pipeline):
    caller = agent(site, pending_approvals=2)
    units = [Request("restart", "web-1", {"unit": unit}) for unit in ("a", "b", "c")]

    envelopes = [await pipeline.call(caller, request, "test") for request in units]
    repeated = await pipeline.call(caller, units[0], "test")

    assert [error_of(one)["code"] for one in envelopes] == ["APPROVAL_REQUIRED", "APPROVAL_REQUIRED", "BUSY"]
    assert error_of(repeated)["approval_id"] == error_of(envelopes[0])["approval_id"]
    assert story_of(url, envelopes[2]) == []


async def test_a_call_that_waits_no_longer_makes_room(site, pipeline, office):
    caller = agent(site, pending_approvals=1)
    first = await pipeline.call(caller, RESTART, "test")
    office.refuse(error_of(first)["approval_id"])

    envelope = await pipeline.call(caller, Request("restart", "web-1", {"unit": "b"}), "test")

    assert error_of(envelope)["code"] == "APPROVAL_REQUIRED"


async def test_without_a_record_nobody_is_asked_and_nothing_is_used(site, pipeline, office, transport, monkeypatch):
    first = await pipeline.call(agent(site), RESTART, "test")
    office.approve(error_of(first)["approval_id"])

    with monkeypatch.context() as broken:
        broken.setattr("sshfacts.storage.insertion.Insertion.execute", _unwritable)
        failed = await pipeline.call(agent(site), RESTART, "test")
    ran = await pipeline.call(agent(site), RESTART, "test")

    assert error_of(failed) == {"code": "AUDIT_UNAVAILABLE", "retryable": True}
    assert ran["outcome"] == "success"
    assert len(transport.commands) == 1


def _unwritable(*_: object) -> None:
    raise OSError(28, "no space")


PAUSES = [
    (Scope(), True),
    (Scope(operation="unit"), True),
    (Scope(host="web-1"), True),
    (Scope(caller="agent"), True),
    (Scope("unit", "web-1", "agent"), True),
    (Scope(operation="disk"), False),
    (Scope(host="router-1"), False),
    (Scope(caller="guest"), False),
    (Scope("unit", "web-1", "guest"), False),
]
UNIT = Request("unit", "web-1", {"unit": "nginx"})


@pytest.mark.parametrize(("scope", "stops"), PAUSES, ids=str)
async def test_a_pause_stops_what_it_names_at_once_and_a_resume_starts_it(
    site, url, recorder, pipeline, transport, scope, stops
):
    assert (await pipeline.call(agent(site), UNIT, "test"))["outcome"] == "success"

    by = Actor("olga", "test")
    made = pauses.pause(recorder.engine, scope, "an incident", "olga", by)
    paused = await pipeline.call(agent(site), UNIT, "test")
    if stops:
        assert error_of(paused) == {"code": "DENIED", "retryable": False}
        [intent] = story_of(url, paused)
        assert (intent["detail"], intent["where"], intent["decision"]["reason"]) == ("paused", made.id, "paused")
    else:
        assert paused["outcome"] == "success"

    assert pauses.resume(recorder.engine, scope, "it is over", "olga", by) == [made]
    assert (await pipeline.call(agent(site), UNIT, "test"))["outcome"] == "success"
    assert len(transport.commands) == (2 if stops else 3)


async def test_a_paused_call_neither_asks_nor_uses_an_approval(site, recorder, pipeline, office):
    first = await pipeline.call(agent(site), RESTART, "test")
    office.approve(error_of(first)["approval_id"])
    by = Actor("olga", "test")
    pauses.pause(recorder.engine, Scope(host="web-1"), "an incident", "olga", by)
    assert error_of(await pipeline.call(agent(site), RESTART, "test"))["code"] == "DENIED"

    pauses.resume(recorder.engine, Scope(host="web-1"), "it is over", "olga", by)

    assert (await pipeline.call(agent(site), RESTART, "test"))["outcome"] == "success"


async def test_pauses_are_not_told_to_whoever_may_not_call(site, url, recorder, pipeline):
    pauses.pause(recorder.engine, Scope(), "an incident", "olga", Actor("olga", "test"))
    guest = site.require_settings().callers["guest"]

    envelope = await pipeline.call(guest, UNIT, "test")

    assert story_of(url, envelope)[0]["detail"] == "grant_missing"


async def test_a_call_that_may_be_paused_is_not_run(site, pipeline, transport, monkeypatch):
    def unreadable(*_: object) -> None:
        raise RecordUnavailable("SQLITE_IOERR")

    monkeypatch.setattr("sshfacts.permission.deciding.pause_of", unreadable)

    envelope = await pipeline.call(agent(site), UNIT, "test")

    assert error_of(envelope) == {"code": "AUDIT_UNAVAILABLE", "retryable": True}
    assert transport.commands == []


async def test_over_its_rate_a_caller_is_turned_away_and_counted_once(site, url, tmp_path, pipeline, transport):
    caller = agent(site, calls_per_minute=2)
    envelopes = [await pipeline.call(caller, UNIT, "test") for _ in range(5)]
    other = await pipeline.call(agent(site, name="agent-2"), UNIT, "test")
    await pipeline.close()

    assert [one["outcome"] for one in envelopes] == ["success"] * 2 + ["failure"] * 3
    assert error_of(envelopes[-1]) == {"code": "BUSY", "retryable": True}
    assert other["outcome"] == "success"
    assert len(requests(open_for_reading(url))) == len(transport.commands) == 3
    [body] = [body for body in stored(tmp_path / "audit.db") if body["kind"] == "turned_away"]
    assert (body["caller"], body["detail"], body["code"], body["count"]) == ("agent", "busy.rate", "BUSY", 3)


async def test_a_caller_has_so_many_calls_at_a_time_and_so_many_that_wait(site, pipeline, transport):
    held = asyncio.Event()
    transport.on_run = held.wait  # type: ignore[assignment]  # what it gives is of no interest
    caller = agent(site, concurrent=2, queue=1)

    running = [asyncio.create_task(pipeline.call(caller, UNIT, "test")) for _ in range(4)]
    done, waiting = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
    held.set()
    await asyncio.wait(waiting)

    assert [error_of(one.result())["code"] for one in done] == ["BUSY"]
    assert [one.result()["outcome"] for one in waiting] == ["success"] * 3


async def test_who_is_not_known_is_counted(pipeline, tmp_path):
    for _ in range(3):
        pipeline.count_unauthenticated()
    await pipeline.close()

    [body] = [body for body in stored(tmp_path / "audit.db") if body["kind"] == "turned_away"]
    assert (body["caller"], body["detail"], body["count"]) == (None, "unauthenticated", 3)


async def test_the_policy_is_recorded_before_the_first_call_and_when_it_has_changed(
    tmp_path, site, recorder, transport
):
    agent_of = site.require_settings().callers["agent"]
    for _ in range(2):
        pipeline = Pipeline(site, transport, recorder)
        await pipeline.call(agent_of, UNIT, "test")
        await pipeline.call(agent_of, UNIT, "test")
    more = SiteFiles(tmp_path / "more", settings=TWO_HOSTS.replace("grants = []", 'grants = ["disk.read"]')).load()
    await Pipeline(more, transport, recorder).call(agent_of, UNIT, "test")

    kinds = [body["kind"] for body in stored(tmp_path / "audit.db")]
    assert kinds[:3] == ["writer_start", "config", "intent"]
    first, second = [body for body in stored(tmp_path / "audit.db") if body["kind"] == "config"]
    assert first["catalogue_digest"] == second["catalogue_digest"] == site.digest
    assert first["policy_digest"] != second["policy_digest"]
    assert "127.0.0.1" not in json.dumps(first)
