"""A call that asks a person, from the doors: told at one, made at another, decided at none."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from sshfacts.commands.settings import Person, Role
from sshfacts.commands.site import Site
from sshfacts.permission.approving import grant
from sshfacts.storage.engine import open_for_writing
from sshfacts.storage.ledger import Actor
from sshfacts.storage.tokens import add_for_person
from tests.support.doors import BOTH_ERAS, Served, text_of
from tests.support.transports import CannedTransport

RESTART = {"host": "web-1", "unit": "nginx"}
PATH = "/v1/operations/restart"


@pytest.fixture
def site(site: Site) -> Site:
    """The site with a person who approves."""
    people = {"grace": Person("grace", frozenset({Role.APPROVER}))}
    return replace(site, settings=replace(site.require_settings(), people=people))


@pytest.fixture
def transport() -> CannedTransport:
    return CannedTransport(b"Id=nginx\nState=active\n")


def approve(doors: Served, approval_id: str) -> None:
    engine = open_for_writing(doors.service.settings.database_url)
    grant(engine, doors.service.site, approval_id, Actor("grace", "test"), datetime.now(UTC))


@pytest.mark.parametrize("era", BOTH_ERAS)
async def test_what_is_asked_by_mcp_runs_once_by_http(doors: Served, transport: CannedTransport, era: str):
    async with doors.mcp(era) as mcp:
        asked = text_of(await mcp.call_tool("restart", RESTART))
        again = text_of(await mcp.call_tool("restart", RESTART))
    assert asked["error"]["code"] == "APPROVAL_REQUIRED"
    assert asked["error"]["retryable"] is True
    assert again["error"]["approval_id"] == asked["error"]["approval_id"]
    assert transport.commands == []

    approve(doors, asked["error"]["approval_id"])

    async with doors.client() as http:
        another = await http.post(PATH, json={**RESTART, "unit": "sshd"})
        ran = await http.post(PATH, json=RESTART)
        after = await http.post(PATH, json=RESTART)
    assert (another.status_code, ran.status_code, after.status_code) == (409, 200, 409)
    assert ran.json()["data"]["unit"] == "nginx"
    assert len(transport.commands) == 1
    assert after.json()["error"]["approval_id"] != asked["error"]["approval_id"]


@pytest.mark.parametrize("path", ["/mcp", PATH])
async def test_a_person_has_no_business_at_the_doors_of_agents(doors: Served, path: str):
    token = add_for_person(open_for_writing(doors.service.settings.database_url), "grace")
    async with doors.client(None, Authorization=f"Bearer {token}") as http:
        assert (await http.post(path, json=RESTART)).status_code == 401
