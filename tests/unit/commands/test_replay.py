"""Recorded calls judged again; the calls are made by the pipeline, on a transport that answers with bytes."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

import sshfacts.commands.replay
from sshfacts.call import Pipeline
from sshfacts.commands.replay import NotReplayable, Recorded, Verdict, judge_again, operation_of, recorded
from sshfacts.commands.site import Site
from sshfacts.errors import Refusal
from sshfacts.permission.request import Request
from sshfacts.storage.engine import open_for_reading
from sshfacts.storage.queries import story
from sshfacts.storage.recorder import Recorder, open_recorder
from sshfacts.values import JsonObject
from tests.support.people import Clock
from tests.support.sites import BACKUP, DISK, UNIT, SiteFiles
from tests.support.transports import CannedTransport

REQUESTS = {
    "disk": Request("disk", "web-1", {}),
    "unit": Request("unit", "web-1", {"unit": "nginx"}),
    "backup": Request("backup", "web-1", {"job": "nightly"}),
}
MOUNTS = b'{"mounts": [{"path": "/", "free_bytes": 1000}]}\n'
BACKED_UP = (
    b'{"host": "web-1", "job": "nightly", "at": "2026-11-30T09:59:00Z", "state": "done", "files": 2, "copied": 2,'
    b' "note": "", "volumes": [{"name": "backup", "free_bytes": 1}]}\n'
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    operations = {"disk": DISK, "unit": UNIT, "backup": BACKUP}
    return SiteFiles(tmp_path_factory.mktemp("site"), operations=operations).load()


@pytest.fixture
async def recorder(tmp_path: Path) -> AsyncIterator[Recorder]:
    async with open_recorder(f"sqlite:///{tmp_path}/audit.db") as opened:
        yield opened


async def bodies_of(site: Site, recorder: Recorder, transport: CannedTransport, tool: str) -> list[JsonObject]:
    caller = site.require_settings().callers["agent"]
    envelope = await Pipeline(site, transport, recorder, Clock()).call(caller, REQUESTS[tool], "test")
    return story(open_for_reading(str(recorder.engine.url)), str(envelope["request_id"]))


async def call_of(site: Site, recorder: Recorder, transport: CannedTransport, tool: str = "disk") -> Recorded:
    return recorded(await bodies_of(site, recorder, transport, tool))


@pytest.mark.parametrize(
    ("tool", "stdout", "status", "code", "detail"),
    [
        ("disk", MOUNTS, 0, "success", None),
        ("disk", MOUNTS.replace(b"}]}", b'}], "zz": 1}'), 0, "INVALID_RESPONSE", "contract.document"),
        ("disk", b"", 0, "INVALID_RESPONSE", "output.empty"),
        ("disk", b"no json", 0, "INVALID_RESPONSE", "output.leading_data"),
        ("disk", MOUNTS[:-3], 0, "INVALID_RESPONSE", "output.truncated"),
        ("unit", b"Id=nginx\nState=active\n", 0, "success", None),
        ("unit", b"Id=other\nState=active\n", 0, "INVALID_RESPONSE", "check.binding"),
        ("unit", b"Id=nginx\nState=not-found\n", 0, "NOT_FOUND", "not_found.rule"),
        ("unit", b"", 4, "NOT_FOUND", "not_found.exit"),
        ("unit", b"usage\n", 1, "COMMAND_FAILED", "command.exit_status"),
        ("backup", BACKED_UP, 0, "success", None),
        ("backup", BACKED_UP.replace(b"09:59", b"09:54"), 0, "INVALID_RESPONSE", "check.freshness"),
    ],
)
async def test_the_same_bytes_come_to_the_same_end(site, recorder, tool, stdout, status, code, detail):
    call = await call_of(site, recorder, CannedTransport(stdout, status), tool)
    again = judge_again(operation_of(call, site.operations.values()), call, stdout)

    assert (call.verdict.code, call.verdict.detail) == (code, detail)
    assert (call.verdict.facts_sha256 is not None) == (code == "success")
    assert call.verdict.differences(again) == []


async def test_age_is_judged_at_the_moment_of_the_call(site, recorder):
    """A year later the answer is old, and it was not when it was given."""
    call = await call_of(site, recorder, CannedTransport(BACKED_UP), "backup")
    assert judge_again(site.operations["backup"], call, BACKED_UP).code == "success"
    late = replace(call, judged_at=call.judged_at.replace(year=2027))
    assert judge_again(site.operations["backup"], late, BACKED_UP).detail == "check.freshness"


async def test_a_difference_is_found_and_named(site, recorder):
    call = await call_of(site, recorder, CannedTransport(MOUNTS))
    changed = replace(call, verdict=Verdict("INVALID_RESPONSE", "contract.facts", None))
    differences = changed.verdict.differences(judge_again(site.operations["disk"], changed, MOUNTS))
    assert [line.split(":")[0] for line in differences] == ["code", "detail", "facts_sha256"]


async def test_facts_of_another_hash_are_a_difference(site, recorder):
    call = await call_of(site, recorder, CannedTransport(MOUNTS))
    forged = replace(call.verdict, facts_sha256="0" * 64)
    [line] = forged.differences(judge_again(site.operations["disk"], call, MOUNTS))
    assert line.startswith("facts_sha256: recorded 0000")


async def test_an_output_over_its_limit_is_over_it_again(site, recorder):
    flood = b"x" * 20_000
    call = await call_of(site, recorder, CannedTransport(flood, error=Refusal("output.too_large")))
    assert call.verdict.differences(judge_again(site.operations["disk"], call, flood[:8_192])) == []
    small = replace(call, stdout_bytes=5)
    assert call.verdict.differences(judge_again(site.operations["disk"], small, b"x" * 5)) != []


async def test_other_bytes_than_the_recorded_ones_are_not_judged(site, recorder):
    call = await call_of(site, recorder, CannedTransport(MOUNTS))
    with pytest.raises(NotReplayable, match="not what the run printed"):
        judge_again(site.operations["disk"], call, MOUNTS + b" ")


async def test_a_fault_that_nobody_knows_is_one_again(site, recorder, monkeypatch):
    call = await call_of(site, recorder, CannedTransport(MOUNTS))
    monkeypatch.setattr(sshfacts.commands.replay, "answer", lambda *_: 1 / 0)
    assert judge_again(site.operations["disk"], call, MOUNTS) == Verdict("INTERNAL", "internal", None)


async def test_the_operation_is_found_by_its_digest_whatever_its_name_is(site, recorder, tmp_path):
    call = await call_of(site, recorder, CannedTransport(MOUNTS))
    renamed = SiteFiles(tmp_path / "renamed", operations={"disks": DISK}).load()
    assert operation_of(call, renamed.operations.values()).name == "disks"


@pytest.mark.parametrize(
    ("operations", "has"),
    [({"disk": DISK.replace("seconds: 5", "seconds: 6")}, "this site has "), ({"unit": UNIT}, "none of that name")],
)
async def test_a_site_without_that_digest_is_told_which_one_it_takes(site, recorder, tmp_path, operations, has):
    call = await call_of(site, recorder, CannedTransport(MOUNTS))
    other = SiteFiles(tmp_path / "other", operations=operations).load()
    with pytest.raises(NotReplayable, match=call.operation_digest) as caught:
        operation_of(call, other.operations.values())
    assert has in str(caught.value)


@pytest.mark.parametrize("detail", ["ssh.lost", "timeout.run", "command.stderr", "command.signal"])
async def test_a_call_that_its_output_did_not_end_cannot_be_judged_again(site, recorder, detail):
    with pytest.raises(NotReplayable, match=detail):
        await call_of(site, recorder, CannedTransport(MOUNTS, error=Refusal(detail)))


async def test_a_request_that_was_not_run_cannot_be_judged_again(site, recorder):
    bodies = await bodies_of(site, recorder, CannedTransport(MOUNTS), "disk")
    with pytest.raises(NotReplayable, match="was not run"):
        recorded(bodies[:1])
    with pytest.raises(NotReplayable, match="no request"):
        recorded([])
    with pytest.raises(NotReplayable, match="are not those of a call"):
        recorded([bodies[0], {**bodies[1], "stdout": None}])
