"""The record at the command line: lists with filters, saved questions, and the story of one request."""

import asyncio
import json
from pathlib import Path

import pytest

from sshfacts.cli.telling import stages
from sshfacts.storage.recorder import open_recorder
from sshfacts.storage.saved import saved_queries
from tests.support.command_line import inside
from tests.support.records import intent, outcome, refused, url_of
from tests.support.sites import DISK, SETTINGS, SiteFiles


def minute(number: int) -> str:
    return f"2026-11-30T10:{number:02}:00.000000Z"


async def write(database: Path) -> None:
    async with open_recorder(url_of(database)) as recorder:
        leaf = await recorder.append(intent("req.done", at=minute(0)))
        await recorder.append(outcome(leaf, "req.done", at=minute(1)))
        leaf = await recorder.append(intent("req.hostile", at=minute(2), caller="other", host="web-2"))
        body = outcome(leaf, "req.hostile", at=minute(3), code="INVALID_RESPONSE", stage="document")
        stderr = {"bytes": 4, "sha256": "0" * 64, "text": "\x9b2J"}
        await recorder.append({**body, "detail": "contract.document", "where": "#/a", "stderr": stderr})
        await recorder.append(refused("req.denied", at=minute(4), operation="net_addresses"))
        await recorder.append(intent("req.cut_off", at=minute(5), principal="berta"))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A site whose database all tests of this module only read."""
    root = SiteFiles(tmp_path_factory.mktemp("site"), {"disk": DISK}, settings=SETTINGS).write()
    asyncio.run(write(root / "audit.db"))
    return str(root)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ([], ["req.cut_off", "req.denied", "req.hostile", "req.done"]),
        (["--limit", "1"], ["req.cut_off"]),
        (["--caller", "other"], ["req.hostile"]),
        (["--principal", "berta"], ["req.cut_off"]),
        (["--operation", "net_addresses"], ["req.denied"]),
        (["--host", "web-2"], ["req.hostile"]),
        (["--decision", "deny"], ["req.denied"]),
        (["--code", "success"], ["req.done"]),
        (["--code", "DENIED"], ["req.denied"]),
        (["--since", "2026-11-30T10:04:00Z"], ["req.cut_off", "req.denied"]),
        (["--until", "2026-11-30T11:02:00+01:00"], ["req.done"]),
        (["--open"], ["req.cut_off"]),
        (["--caller", "other", "--code", "success"], []),
    ],
)
def test_requests_are_listed_as_they_are_asked_for(site: str, words: list[str], found: list[str]):
    done = inside("audit", "list", "--site", site, "--json", *words)
    assert [json.loads(line)["request_id"] for line in done.stdout.splitlines()] == found


@pytest.mark.parametrize("words", [["--since", "yesterday"], ["--decision", "perhaps"], ["--limit", "0"]])
def test_a_filter_that_means_nothing_is_refused(site: str, words: list[str]):
    assert inside("audit", "list", "--site", site, *words).returncode == 2


def test_the_saved_questions_are_listed():
    told = inside("audit", "query").stdout
    assert [name for name in saved_queries() if name not in told] == []


def test_a_saved_question_is_answered(site: str):
    words = ("audit", "query", "refusals", "since=2026-11-30", "until=2026-12-01", "--site", site)
    assert "req.denied" in inside(*words).stdout
    [row] = map(json.loads, inside(*words, "--json").stdout.splitlines())
    assert (row["request_id"], row["at"]) == ("req.denied", "2026-11-30 10:04:00.000000")


@pytest.mark.parametrize("words", [["nothing"], ["refusals"], ["refusals", "since=2026-11-30", "until"]])
def test_a_question_that_is_not_asked_right_is_refused(site: str, words: list[str]):
    assert inside("audit", "query", *words, "--site", site).returncode == 2


def test_what_a_host_wrote_does_not_steer_the_terminal(site: str):
    for words in (("show", "req.hostile"), ("query", "request", "request_id=req.hostile")):
        done = inside("audit", *words, "--site", site)
        assert done.returncode == 0
        assert "\x9b" not in done.stdout


@pytest.mark.parametrize(
    ("request_id", "lines"),
    [
        (
            "req.done",
            ["decide ok", "record ok", "run ok", "read ok", "document ok", "checks ok", "facts ok", "record ok"],
        ),
        (
            "req.hostile",
            ["decide ok", "record ok", "run ok", "read ok", "document refused", "checks not", "facts not", "record ok"],
        ),
        ("req.denied", ["decide refused", "record ok"]),
        ("req.cut_off", ["decide ok", "record ok", "run unknown"]),
    ],
)
def test_the_story_is_told_stage_by_stage(site: str, request_id: str, lines: list[str]):
    told = inside("audit", "show", request_id, "--site", site).stdout.split("\n\n")[0].splitlines()
    assert [" ".join(line.split()[:2]) for line in told if not line.startswith("answer")] == lines


def test_the_story_says_where_it_ended_and_why(site: str):
    told = inside("audit", "show", "req.hostile", "--site", site).stdout
    assert "contract.document (#/a)" in told
    assert "answer" in told
    assert "INVALID_RESPONSE after 1500.0 ms" in told


def test_a_cancelled_call_and_records_without_an_intent_have_no_invented_stages():
    cancelled = outcome(bytes(32), code="CANCELLED", judged_at=None)
    assert [state for stage, state, _ in stages([intent(), cancelled]) if stage in ("run", "facts")] == ["unknown"] * 2
    assert list(stages([cancelled])) == []
