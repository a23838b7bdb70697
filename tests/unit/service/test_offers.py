"""What a caller is offered, with schemas that every client can read."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from sshfacts.builtin import builtin_site
from sshfacts.commands.settings import CallerSettings, Host
from sshfacts.commands.site import Site, load_site
from sshfacts.schemas.contract import Contract
from sshfacts.schemas.keywords import DIALECT
from sshfacts.schemas.profile import Kind
from sshfacts.service.offers import MOST_LISTED_HOSTS, Offers
from sshfacts.values import JsonValue
from tests.support.sites import SETTINGS, UNIT, SiteFiles


def with_hosts(site: Site, count: int) -> Site:
    """The same site with so many hosts of the group linux."""
    settings = site.require_settings()
    hosts = {f"web-{number:03}": replace(settings.hosts["web-1"], alias=f"web-{number:03}") for number in range(count)}
    return replace(site, settings=replace(settings, hosts=hosts))


def agent(site: Site) -> CallerSettings:
    return site.require_settings().callers["agent"]


@pytest.mark.parametrize("count", [1, MOST_LISTED_HOSTS])
def test_few_hosts_are_listed(site: Site, count: int):
    many = with_hosts(site, count)
    offer = Offers(many).of(agent(many))["disk"]
    assert offer.lists_hosts
    assert offer.input_schema["properties"]["host"]["enum"] == [f"web-{number:03}" for number in range(count)]


def test_many_hosts_are_a_pattern(site: Site):
    many = with_hosts(site, MOST_LISTED_HOSTS + 1)
    offer = Offers(many).of(agent(many))["disk"]
    assert not offer.lists_hosts
    host = offer.input_schema["properties"]["host"]
    assert "enum" not in host
    assert host["pattern"].startswith("^")
    assert "`hosts`" in host["description"]


def test_the_input_schema_is_the_contract_of_the_arguments_and_the_host(site: Site):
    offer = Offers(site).of(agent(site))["unit"]
    contract = Contract({"$schema": DIALECT, **offer.input_schema}, Kind.DOCUMENT)
    assert contract.violation({"host": "web-1", "unit": "nginx"}) is None
    for wrong in (
        {"unit": "nginx"},
        {"host": "web-1"},
        {"host": "router-1", "unit": "nginx"},
        {"host": "web-1", "unit": "-x"},
    ):
        assert contract.violation(wrong) is not None


def test_a_change_and_a_question_to_a_person_are_told(site: Site):
    offers = Offers(site).of(agent(site))
    assert "It changes the host." in offers["restart"].description
    assert "APPROVAL_REQUIRED" in offers["restart"].description
    assert offers["unit"].description == "You must know whether a unit runs."


@pytest.mark.parametrize(("granted", "told"), [(True, "Deprecated. Use disk instead."), (False, "Deprecated.")])
def test_a_deprecated_operation_names_only_what_the_caller_may_use(tmp_path: Path, granted: bool, told: str):
    files = SiteFiles(tmp_path)
    files.operations["unit"] = UNIT + "status: deprecated\nuse_instead: disk\n"
    site = files.load()
    caller = agent(site) if granted else replace(agent(site), grants=frozenset({"unit.read"}))
    assert Offers(site).of(caller)["unit"].description == f"You must know whether a unit runs. {told}"


def test_what_was_made_once_is_kept_but_not_for_ever(site: Site):
    offers = Offers(site)
    first = offers.of(agent(site))
    assert offers.of(replace(agent(site), name="another")) is first
    for number in range(300):
        offers.of(replace(agent(site), grants=frozenset({f"grant{number}"})))
    assert len(offers._kept) == 256
    assert offers.of(agent(site)) == first


def keywords(value: JsonValue, at: str = "") -> Iterator[tuple[str, str]]:
    """Every keyword of a schema, with where it stands; names of members are none."""
    if isinstance(value, list):
        for part in value:
            yield from keywords(part, at)
    elif isinstance(value, dict):
        for name, part in value.items():
            if not at.endswith("/properties"):
                yield at, name
            yield from keywords(part, f"{at}/{name}")


@pytest.fixture(scope="module")
def builtin(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """The whole built-in site, with one host of every group that its operations name."""
    served = load_site(builtin_site(), need_settings=False)
    settings = SiteFiles(tmp_path_factory.mktemp("site"), settings=SETTINGS).load().require_settings()
    groups = frozenset[str]().union(*(one.host_groups for one in served.operations.values()))
    host = Host("web-1", "127.0.0.1", "test", "key", groups=groups)
    return replace(served, settings=replace(settings, hosts={"web-1": host}))


def test_every_schema_of_the_builtin_site_is_one_that_all_clients_can_read(builtin: Site):
    grants = frozenset[str]().union(*(one.grants for one in builtin.operations.values()))
    groups = builtin.require_settings().hosts["web-1"].groups
    offers = Offers(builtin).of(CallerSettings("agent", grants, groups))

    assert offers.keys() == builtin.operations.keys()
    for offer in offers.values():
        for schema in (offer.input_schema, offer.output_schema):
            assert schema["type"] == "object"
            assert not {"oneOf", "anyOf", "allOf", "$ref", "$defs"} & schema.keys()
            assert not [at for at, name in keywords(schema) if name in ("$ref", "$defs") or name.startswith("x-")]
