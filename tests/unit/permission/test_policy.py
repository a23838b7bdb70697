from pathlib import Path

import pytest

from sshfacts.permission.policy import Policy, Rule, policy_digest, policy_of
from tests.support.sites import SiteFiles

HOST = """\
[hosts.{alias}]
address = "192.0.2.7"
user = "test"
credential = "key"
host_keys = ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"]
groups = [{groups}]
"""


def policy(folder: Path, *changes: tuple[str, str], more: str = "") -> Policy:
    """The policy of the test site, with changes to `sshfacts.toml`."""
    files = SiteFiles(folder)
    for old, new in changes:
        assert old in files.settings
        files.settings = files.settings.replace(old, new)
    files.settings += more
    return Policy(policy_of(files.load()))


def test_the_matrix_says_who_may_do_what_where(tmp_path: Path):
    more = HOST.format(alias="web-2", groups='"linux", "network"')
    assert policy(tmp_path, more=more).matrix() == [
        Rule("agent", "disk", "allow", ("web-1", "web-2")),
        Rule("agent", "restart", "ask", ("web-1", "web-2")),
        Rule("agent", "unit", "allow", ("web-1", "web-2")),
    ]


def test_a_grant_less_and_a_group_more(tmp_path: Path):
    changes = (
        ('grants = ["disk.read", "unit.read"]', 'grants = ["disk.read"]'),
        ("grants = []", 'grants = ["disk.read"]'),
    )
    assert policy(tmp_path, *changes).matrix() == [
        Rule("agent", "disk", "allow", ("web-1",)),
        Rule("guest", "disk", "allow", ("web-1",)),
    ]


def test_a_rule_that_asks_sometimes_is_shown(tmp_path: Path):
    files = SiteFiles(tmp_path)
    text = files.operations["disk"].replace("hosts: [linux]", "hosts: [linux]\nask_when: host == 'db-1'")
    files.operations = {"disk": text}
    assert Policy(policy_of(files.load())).matrix() == [Rule("agent", "disk", "ask when host == 'db-1'", ("web-1",))]


def test_the_matrix_and_the_decision_agree(tmp_path: Path):
    from sshfacts.permission.decision import Verdict, decide  # noqa: PLC0415 - the only test that needs it
    from sshfacts.permission.request import Request  # noqa: PLC0415 - as above

    site = SiteFiles(tmp_path).load()
    settings = site.require_settings()
    arguments = {"disk": {}, "unit": {"unit": "nginx"}, "restart": {"unit": "nginx"}}
    decided = {
        (caller.name, tool, host): decide(site, caller, Request(tool, host, given)).verdict
        for caller in settings.callers.values()
        for tool, given in arguments.items()
        for host in settings.hosts
    }
    shown = {
        (rule.caller, rule.operation, host): Verdict(rule.decision)
        for rule in Policy(policy_of(site)).matrix()
        for host in rule.hosts
    }
    assert shown == {call: verdict for call, verdict in decided.items() if verdict is not Verdict.DENY}
    assert Verdict.DENY in decided.values()


def test_rules_that_never_match_are_told(tmp_path: Path):
    assert policy(tmp_path).dead_rules() == ["caller guest may do nothing", "host router-1 may be reached by nobody"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (('"unit.read"]', '"unit.read", "zz.read"]'), "caller agent holds zz.read, which no operation needs"),
        (
            ('host_groups = ["linux"]\nprincipal', 'host_groups = ["linux", "zz"]\nprincipal'),
            "caller agent may use hosts of the group zz, which no host is in",
        ),
        (
            ('groups = ["linux"]\n[hosts', 'groups = ["other"]\n[hosts'),
            "operation disk may run on hosts of the group linux, which no host is in",
        ),
        (('"disk.read", ', ""), "operation disk may be called by nobody"),
        (
            ('[people.grace]\nroles = ["approver"]', '[people.grace]\nroles = ["auditor"]'),
            "operation restart asks for caller agent, and nobody may approve it",
        ),
    ],
)
def test_each_rule_that_never_matches(tmp_path: Path, change: tuple[str, str], told: str):
    assert told in policy(tmp_path, change).dead_rules()


def test_a_policy_where_everything_matches_something(tmp_path: Path):
    changes = ("grants = []", 'grants = ["disk.read"]'), ('groups = ["network"]', 'groups = ["linux"]')
    assert policy(tmp_path, *changes).dead_rules() == []


def test_the_digest_is_of_the_content(tmp_path: Path):
    files = SiteFiles(tmp_path / "one")
    digest = policy_digest(policy_of(files.load()))
    other = SiteFiles(tmp_path / "other", settings=files.settings.replace("port = 1", "port = 3"))
    assert policy_digest(policy_of(other.load())) == digest
    other = SiteFiles(tmp_path / "more", settings=files.settings.replace("grants = []", 'grants = ["unit.read"]'))
    assert policy_digest(policy_of(other.load())) != digest


def test_no_address_and_no_key_is_in_it(tmp_path: Path):
    content = str(policy_of(SiteFiles(tmp_path).load()))
    assert not any(secret in content for secret in ("127.0.0.1", "AAAA", "key"))
