"""What a call costs must not grow with the catalogue."""

from time import process_time

import pytest

from sshfacts.commands.site import Site
from tests.support.doors import Served, served
from tests.support.many import ANSWER, ask, http_call, mcp_call, site_with
from tests.support.transports import CannedTransport

CALLS = 20
ROUNDS = 12
MOST = 1.2


async def seconds(doors: Served, call: tuple[str, dict[str, str], bytes]) -> float:
    """Return the processor time of some calls, in all threads."""
    begun = process_time()
    for _ in range(CALLS):
        assert b"request_id" in await ask(doors.app, *call)
    return process_time() - begun


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> tuple[Site, Site]:
    few, many = (site_with(count, tmp_path_factory.mktemp("site")).load() for count in (5, 200))
    return few, many


@pytest.mark.parametrize("door", ["http", "mcp, modern", "mcp, legacy"])
async def test_a_call_among_200_operations_costs_what_it_costs_among_5(sites: tuple[Site, Site], door: str):
    few, many = sites
    async with (
        served(few, CannedTransport(ANSWER)) as small,
        served(many, CannedTransport(ANSWER)) as large,
    ):
        best = {id(small): float("inf"), id(large): float("inf")}
        for _ in range(ROUNDS):  # in turns, because other programs use this machine as well
            for doors in (small, large):
                token = doors.tokens["agent"]
                call = http_call(token) if door == "http" else mcp_call(token, modern=door.endswith("modern"))
                best[id(doors)] = min(best[id(doors)], await seconds(doors, call))
    assert best[id(large)] < MOST * best[id(small)]
