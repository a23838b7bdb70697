"""What `policy explain` says, for each reason that a decision can have."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sshfacts.commands.site import Site
from sshfacts.permission.deciding import Decider, Ruling
from sshfacts.permission.explanation import Holds, Line, explain, summary
from sshfacts.permission.request import Request
from sshfacts.storage import pauses
from sshfacts.storage.ledger import Actor
from sshfacts.storage.pauses import Scope
from sshfacts.storage.recorder import Recorder, open_recorder
from tests.support.people import Clock, Office
from tests.support.records import kinds
from tests.support.sites import SiteFiles

UNIT = Request("unit", "web-1", {"unit": "nginx"})
RESTART = Request("restart", "web-1", {"unit": "nginx"})
AGENT = Actor(None, "test")


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return SiteFiles(tmp_path / "site").load()


@pytest.fixture
async def recorder(tmp_path: Path) -> AsyncIterator[Recorder]:
    async with open_recorder(f"sqlite:///{tmp_path}/audit.db") as opened:
        yield opened


@pytest.fixture
def office(site, recorder) -> Office:
    return Office(site, recorder, Clock())


@pytest.fixture
def decider(site, recorder) -> Decider:
    return Decider(site, recorder.engine)


def explained(site: Site, decider: Decider, office: Office, request: Request, caller: str = "agent"):
    """The ruling, and the first line that does not hold."""
    by = site.require_settings().callers[caller]
    ruling = decider.preview(by, request, office.clock.now)
    lines = explain(site, by, request, ruling)
    held = [line.holds for line in lines]
    after = held[held.index(Holds.NO) + 1 :] if Holds.NO in held else []
    assert set(held) - {Holds.NO, Holds.NOT_JUDGED} == {Holds.YES} or held == [Holds.NO]
    assert set(after) <= {Holds.NOT_JUDGED}
    return ruling, next((line for line in lines if line.holds is Holds.NO), None)


async def ask(site: Site, decider: Decider, office: Office) -> str:
    agent = site.require_settings().callers["agent"]
    ruling = await decider.decide(agent, RESTART, "req.asked000", AGENT, office.clock.now)
    assert ruling.approval is not None
    return ruling.approval.id


def told(ruling: Ruling, line: Line | None) -> tuple[str, str | None, str | None]:
    return ruling.decision.reason, line.term if line is not None else None, line.remedy if line is not None else None


@pytest.mark.parametrize(
    ("request_", "caller", "reason", "term", "remedy"),
    [
        (UNIT, "agent", "ok", None, None),
        (
            Request("nothing", "web-1", {}),
            "agent",
            "tool_not_allowlisted",
            "operation",
            "an operator (anna, olga) can add it as a file of `commands/`; `sshfacts operations` lists what is served",
        ),
        (
            UNIT,
            "guest",
            "grant_missing",
            "grants",
            "an operator (anna, olga) can add unit.read to `grants` of [callers.guest] in sshfacts.toml",
        ),
        (
            Request("unit", "web-9", {"unit": "nginx"}),
            "agent",
            "host_not_allowed",
            "host",
            "an operator (anna, olga) can add [hosts.web-9] to sshfacts.toml",
        ),
        (
            Request("unit", "router-1", {"unit": "nginx"}),
            "agent",
            "host_not_allowed",
            "host",
            "an operator (anna, olga) can change `hosts` of unit.yaml and `host_groups` of [callers.agent]",
        ),
        (
            Request("unit", "web-1", {"unit": "--all"}),
            "agent",
            "arguments_invalid",
            "arguments",
            "the agent can correct them",
        ),
        (RESTART, "agent", "approval_required", "approval", "who can approve it: grace"),
    ],
)
async def test_each_reason_of_the_files(site, decider, office, request_, caller, reason, term, remedy):
    assert told(*explained(site, decider, office, request_, caller)) == (reason, term, remedy)


def test_a_pause(site, recorder, decider, office):
    made = pauses.pause(recorder.engine, Scope(host="web-1"), "incident", "olga", Actor("olga", "test"))
    ruling, line = explained(site, decider, office, UNIT)
    assert told(ruling, line)[:2] == ("paused", "not paused")
    assert line is not None
    assert made.id in line.told


@pytest.mark.parametrize(
    ("act", "reason", "words"),
    [
        (lambda *_: None, "approval_required", "is asked"),
        (Office.approve, "ok", "is granted by grace"),
        (Office.refuse, "approval_refused", "is refused"),
        (lambda office, _: office.clock.move(hours=2), "approval_expired", "is expired"),
    ],
    ids=["nothing", "approved", "refused", "over"],
)
async def test_what_people_decided(site, decider, office, act, reason, words):
    act(office, await ask(site, decider, office))

    agent = site.require_settings().callers["agent"]
    ruling = decider.preview(agent, RESTART, office.clock.now)
    assert ruling.decision.reason == reason
    assert words in explain(site, agent, RESTART, ruling)[-1].told


def test_explaining_asks_nobody_and_leaves_no_record(tmp_path, site, decider, office):
    explained(site, decider, office, RESTART)
    explained(site, decider, office, UNIT)

    assert kinds(tmp_path / "audit.db") == ["writer_start"]


def test_a_rule_that_asks_sometimes_is_told(tmp_path, recorder, office):
    files = SiteFiles(tmp_path / "sometimes")
    rule = "hosts: [linux]\nask_when: arguments.unit == 'sshd'"
    files.operations = {"unit": files.operations["unit"].replace("hosts: [linux]", rule)}
    site = files.load()
    decider = Decider(site, recorder.engine)
    agent = site.require_settings().callers["agent"]

    def last(unit: str) -> Line:
        request = Request("unit", "web-1", {"unit": unit})
        return explain(site, agent, request, decider.preview(agent, request, office.clock.now))[-1]

    assert last("nginx").told == "the operation asks only when arguments.unit == 'sshd'"
    assert last("sshd").told.startswith("this call makes it ask")


def test_the_summary_says_what_the_agent_sees(site, decider, office):
    denied, _ = explained(site, decider, office, UNIT, "guest")
    allowed, _ = explained(site, decider, office, UNIT)

    assert summary(denied).startswith("deny (grant_missing): ")
    assert summary(denied).endswith("The agent sees DENIED.")
    assert summary(allowed) == "allow: every term holds"
