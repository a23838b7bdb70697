"""What is listed for a caller is what it would not be denied, and nothing else."""

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sshfacts.commands.settings import CallerSettings
from sshfacts.commands.site import Site
from sshfacts.permission.decision import decide
from sshfacts.permission.request import Request
from sshfacts.permission.usable import usable
from tests.support.sites import SiteFiles

DENIED = {"tool_not_allowlisted", "grant_missing", "host_not_allowed"}
GRANTS = ("disk.read", "unit.read", "other.read")
GROUPS = ("linux", "network", "other")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return SiteFiles(tmp_path_factory.mktemp("site")).load()


@given(grants=st.frozensets(st.sampled_from(GRANTS)), groups=st.frozensets(st.sampled_from(GROUPS)))
def test_the_list_agrees_with_the_decision(site: Site, grants: frozenset[str], groups: frozenset[str]):
    caller = CallerSettings("agent", grants, groups)
    listed = {(name, host.alias) for name, hosts in usable(site, caller).items() for host in hosts}
    every = product((*site.operations, "nothing"), (*site.require_settings().hosts, "nowhere"))
    assert listed == {
        (name, alias) for name, alias in every if decide(site, caller, Request(name, alias, {})).reason not in DENIED
    }


def test_both_are_in_order(site: Site):
    caller = site.require_settings().callers["agent"]
    found = usable(site, replace(caller, host_groups=frozenset(GROUPS)))
    assert list(found) == sorted(found)
    assert all([host.alias for host in hosts] == sorted(host.alias for host in hosts) for hosts in found.values())


def test_an_operation_without_a_host_is_not_listed(site: Site):
    caller = site.require_settings().callers["agent"]
    assert usable(site, replace(caller, host_groups=frozenset({"network"}))) == {}
