"""Who may decide about whose calls, and what of."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from sshfacts.commands.settings import Person, Role
from sshfacts.commands.site import Site
from sshfacts.errors import UsageError
from sshfacts.permission import approving
from sshfacts.permission.approvals import may_not_approve
from sshfacts.permission.approving import find, may_not_grant
from sshfacts.permission.deciding import Decider
from sshfacts.permission.request import Request
from sshfacts.storage.approvals import Approval, State
from sshfacts.storage.engine import reading
from sshfacts.storage.ledger import Actor
from sshfacts.storage.recorder import Recorder, open_recorder
from tests.support.people import Clock, Office
from tests.support.sites import SiteFiles

RESTART = Request("restart", "web-1", {"unit": "nginx"})


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
async def asked(site, recorder, office) -> Approval:
    """An approval that waits for a person."""
    decider = Decider(site, recorder.engine)
    agent = site.require_settings().callers["agent"]
    ruling = await decider.decide(agent, RESTART, "req.asked000", Actor(None, "test"), office.clock.now)
    assert ruling.approval is not None
    return find(reading(recorder.engine), ruling.approval.id)


PEOPLE = {
    name: Person(name, frozenset({role}))
    for name, role in [
        ("grace", Role.APPROVER),
        ("anna", Role.APPROVER),
        ("Anna", Role.APPROVER),
        ("agent", Role.APPROVER),
        ("olga", Role.OPERATOR),
        ("emil", Role.AUDITOR),
    ]
}


@pytest.mark.parametrize(
    ("person", "reason"),
    [
        ("grace", None),
        ("anna", "the caller works for anna"),
        ("Anna", "the caller works for Anna"),
        ("agent", "agent is the caller"),
        ("olga", "olga is no approver"),
        ("emil", "emil is no approver"),
        ("nobody", "nobody is no approver"),
    ],
)
def test_the_approver_is_neither_the_caller_nor_its_principal(site, person, reason):
    settings = replace(site.require_settings(), people=PEOPLE)

    assert may_not_approve(settings, person, "agent", "anna") == reason


def test_what_waits_is_granted_for_a_while(asked, office):
    granted = office.approve(asked.id)

    assert (granted.state, granted.approver) == (State.GRANTED, "grace")
    assert granted.expires_at == office.clock.now + timedelta(minutes=15)


@pytest.mark.parametrize(
    ("person", "reason"),
    [("anna", "the caller works for anna"), ("olga", "olga is no approver"), ("agent", "agent is no approver")],
)
def test_others_neither_approve_nor_refuse(asked, office, recorder, person, reason):
    for decide in (office.approve, office.refuse):
        with pytest.raises(UsageError, match=reason):
            decide(asked.id, person)
    assert find(reading(recorder.engine), asked.id) == asked


def test_nobody_decides_without_being_known(site, asked, office):
    assert may_not_grant(site, asked, None, office.clock.now) == "who decides is known by a token"


def test_a_principal_that_came_later_cannot_approve_either(tmp_path, asked, recorder, office):
    settings = SiteFiles(tmp_path).settings.replace('principal = "anna"', 'principal = "grace"')
    now = SiteFiles(tmp_path / "now", settings=settings).load()

    for person in ("anna", "grace"):
        with pytest.raises(UsageError, match=f"works for {person}"):
            Office(now, recorder, office.clock).approve(asked.id, person)


def test_what_is_over_is_not_approved(asked, office):
    office.clock.move(hours=1)

    with pytest.raises(UsageError, match="its time is over"):
        office.approve(asked.id)
    with pytest.raises(UsageError, match="its time is over"):
        office.refuse(asked.id)


@pytest.mark.parametrize("first", ["approve", "refuse"])
@pytest.mark.parametrize("second", ["approve", "refuse"])
def test_what_is_decided_is_not_decided_again(asked, office, first, second):
    getattr(office, first)(asked.id)

    with pytest.raises(UsageError, match=r"it is (granted|refused) already"):
        getattr(office, second)(asked.id)


def test_no_door_of_agents_can_reach_what_approvers_do():
    package = Path(approving.__file__).parents[1]
    beyond_reach = [package / "call.py", *(package / "service").rglob("*.py")]
    assert len(beyond_reach) > 1
    assert [path.name for path in beyond_reach if "approving" in path.read_text(encoding="utf-8")] == []


def test_an_unknown_approval(office):
    with pytest.raises(UsageError, match="no approval of this id"):
        office.approve("apr.unknown0")


def test_another_catalogue_is_not_approved_but_may_be_refused(tmp_path, asked, recorder, office):
    files = SiteFiles(tmp_path / "changed")
    files.operations["restart"] = files.operations["restart"].replace("print-unit", "print-units")
    changed = Office(files.load(), recorder, office.clock)

    with pytest.raises(UsageError, match="the catalogue has changed"):
        changed.approve(asked.id)
    assert changed.refuse(asked.id).state is State.REFUSED


def test_a_command_that_is_not_the_one_asked_for_is_not_approved(site, asked, office):
    other = replace(asked, subject=replace(asked.subject, command="exec reboot"))

    assert "another one" in str(may_not_grant(site, other, "grace", office.clock.now))
    assert may_not_grant(site, asked, "grace", office.clock.now) is None
