"""The list of hosts, page by page."""

from dataclasses import replace

import pytest

from sshfacts.commands.site import Site
from sshfacts.errors import Refusal
from sshfacts.schemas.contract import Contract
from sshfacts.schemas.keywords import DIALECT
from sshfacts.schemas.profile import Kind
from sshfacts.service import hosts
from sshfacts.service.offers import Offer, Offers
from tests.support.doors import BOTH_ERAS, served, text_of
from tests.support.transports import CannedTransport

LINUX = frozenset({"linux"})


@pytest.fixture
def many(site: Site) -> Site:
    """250 hosts; every tenth is also a database, and in a group of which the caller knows nothing."""
    settings = site.require_settings()
    found = {}
    for number in range(250):
        alias = f"web-{number:03}"
        groups = frozenset({"linux", "database", "secret"}) if number % 10 == 0 else LINUX
        found[alias] = replace(settings.hosts["web-1"], alias=alias, groups=groups)
    callers = {
        name: replace(caller, host_groups=frozenset({"linux", "database"})) for name, caller in settings.callers.items()
    }
    return replace(site, settings=replace(settings, hosts=found, callers=callers))


@pytest.fixture
def offers(many: Site) -> "dict[str, Offer]":
    return dict(Offers(many).of(many.require_settings().callers["agent"]))


def test_pages_follow_each_other_to_the_end(offers):
    contract = Contract({"$schema": DIALECT, **hosts.OUTPUT_SCHEMA}, Kind.FACTS)
    seen: list[str] = []
    given = {"operation": "disk"}
    while True:
        page = hosts.page(offers, LINUX, given)
        assert contract.violation(page) is None
        assert page["total"] == 250
        seen += [host["host"] for host in page["hosts"]]
        if page["next"] is None:
            break
        given = {"operation": "disk", "after": page["next"]}
    assert seen == [f"web-{number:03}" for number in range(250)]


def test_a_group_narrows_and_foreign_groups_are_not_shown(offers):
    page = hosts.page(offers, frozenset({"linux", "database"}), {"operation": "disk", "group": "database"})
    assert page["total"] == 25
    assert page["hosts"][1] == {"host": "web-010", "groups": ["database", "linux"]}
    assert hosts.page(offers, frozenset({"linux"}), {"operation": "disk", "group": "secret"})["total"] == 0


def test_there_are_no_hosts_of_what_the_caller_may_not_use(offers):
    assert hosts.page(offers, LINUX, {"operation": "nothing_here"}) == {
        "operation": "nothing_here",
        "total": 0,
        "hosts": [],
        "next": None,
    }


@pytest.mark.parametrize(
    "given", [{}, {"operation": "A"}, {"operation": "disk", "x": 1}, {"operation": "disk", "after": "-"}]
)
def test_wrong_arguments_are_refused(offers, given):
    with pytest.raises(Refusal, match="arguments_invalid"):
        hosts.page(offers, LINUX, given)


@pytest.mark.parametrize("era", BOTH_ERAS)
async def test_the_tool_is_there_for_callers_with_many_hosts(many: Site, era: str):
    async with served(many, CannedTransport()) as doors:
        async with doors.mcp(era) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            page = await client.call_tool("hosts", {"operation": "disk", "group": "database"})
            wrong = await client.call_tool("hosts", {"operation": 7})
        async with doors.mcp(era, "guest") as client:
            guest = await client.list_tools()
            denied = await client.call_tool("hosts", {"operation": "disk"})

    assert names == ["disk", "restart", "unit", "hosts"]
    assert page.structured_content == text_of(page)
    assert page.structured_content["total"] == 25
    assert text_of(wrong)["error"]["code"] == "INVALID_ARGUMENTS"
    assert guest.tools == []
    assert text_of(denied)["error"]["code"] == "DENIED"


async def test_the_http_door_lists_the_same(many: Site):
    async with served(many, CannedTransport()) as doors, doors.client() as client:
        page = await client.get("/v1/hosts", params={"operation": "disk", "group": "database"})
        refused = [
            await client.get(f"/v1/hosts{query}")
            for query in ("", "?operation=A", "?operation=disk&operation=unit", "?operation=disk&x=1")
        ]
        described = (await client.get("/v1/openapi.json")).json()

    assert page.status_code == 200
    assert page.json()["total"] == 25
    assert [(answer.status_code, answer.json()["error"]["code"]) for answer in refused] == [(400, "QUERY_REFUSED")] * 4
    assert set(described["paths"]) >= {"/v1/hosts", "/v1/operations/disk"}
