"""The decision rule, stated with all of its terms."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sshfacts.commands.settings import CallerSettings
from sshfacts.commands.site import Site
from sshfacts.errors import Code, Refusal
from sshfacts.permission.admission import Admission
from sshfacts.permission.approvals import Standing, subject_of
from sshfacts.permission.decision import Decision, Terms, Verdict, decide, derive_terms
from sshfacts.permission.request import Request
from sshfacts.storage.approvals import State
from tests.support.sites import SiteFiles


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return SiteFiles(tmp_path_factory.mktemp("site")).load()


def caller_of(site: Site, name: str = "agent") -> CallerSettings:
    return site.require_settings().callers[name]


UNIT = Request("unit", "web-1", {"unit": "nginx"})

TOOLS = st.sampled_from(["unit", "disk", "restart", "nothing", "../unit", ""])
HOSTS = st.sampled_from(["web-1", "router-1", "unknown", ""])
ARGUMENTS = st.sampled_from([{}, {"unit": "nginx"}, {"unit": "--all"}, {"unit": 1}, {"unit": "nginx", "more": True}])
GRANTS = st.frozensets(st.sampled_from(["disk.read", "unit.read", "other"]))
GROUPS = st.frozensets(st.sampled_from(["linux", "network"]))
STATES = st.sampled_from([None, *State])
PAUSES = st.sampled_from([None, "pau.1"])


def standing(site: Site, caller: CallerSettings, request: Request, state: State | None, by: str = "grace"):
    """Where a call stands with people, if it can be put before them at all."""
    if state is None:
        return None
    try:
        binding = subject_of(site, caller, request).binding
    except (KeyError, Refusal):
        binding = "0" * 64
    return Standing(state, "apr.12345678", binding, by)


def executor_says(
    decision: Decision,
    site: Site,
    caller: CallerSettings,
    request: Request,
    consumed: Standing | None,
    paused: str | None = None,
) -> str:
    """`ok` when the executor admits the call, else why it does not."""
    try:
        Admission.of(decision, site, caller, request, consumed, paused)
    except Refusal as refusal:
        return refusal.detail
    return "ok"


@given(TOOLS, HOSTS, ARGUMENTS, GRANTS, GROUPS, STATES, PAUSES)
def test_allow_implies_every_term(site, tool, host, arguments, grants, groups, state, paused):
    caller = CallerSettings("someone", grants, groups)
    request = Request(tool, host, arguments)
    approval = standing(site, caller, request, state)
    decision = decide(site, caller, request, approval, paused)

    operation = site.operations.get(tool)
    known_host = site.require_settings().hosts.get(host)
    terms = [
        operation is not None,
        operation is not None and operation.grants <= grants,
        known_host is not None and operation is not None and bool(known_host.groups & operation.host_groups & groups),
        paused is None,
        operation is not None and operation.arguments_contract.violation(arguments) is None,
        operation is not None and (not operation.asks or state is State.CONSUMED),
    ]
    assert (decision.verdict is Verdict.ALLOW) == all(terms)
    assert (decision.reason == "ok") == (decision.verdict is Verdict.ALLOW)
    assert executor_says(decision, site, caller, request, approval, paused) == decision.reason


@pytest.mark.parametrize(
    ("request_", "caller", "reason", "code"),
    [
        (Request("nothing", "web-1", {}), "agent", "tool_not_allowlisted", Code.DENIED),
        (Request("UNIT", "web-1", {}), "agent", "tool_not_allowlisted", Code.DENIED),
        (Request("unit", "unknown", {"unit": "--all"}), "guest", "grant_missing", Code.DENIED),
        (Request("unit", "unknown", {"unit": "--all"}), "agent", "host_not_allowed", Code.DENIED),
        (Request("unit", "router-1", {"unit": "nginx"}), "agent", "host_not_allowed", Code.DENIED),
        (Request("unit", "web-1", {"unit": "--all"}), "agent", "arguments_invalid", Code.INVALID_ARGUMENTS),
        (Request("unit", "web-1", {}), "agent", "arguments_invalid", Code.INVALID_ARGUMENTS),
        (Request("unit", "web-1", {"unit": "nginx\n"}), "agent", "arguments_invalid", Code.INVALID_ARGUMENTS),
        (Request("restart", "web-1", {"unit": "nginx"}), "agent", "approval_required", Code.APPROVAL_REQUIRED),
    ],
)
def test_the_first_failing_term_is_the_reason(site, request_, caller, reason, code):
    decision = decide(site, caller_of(site, caller), request_)

    assert decision.reason == reason
    assert decision.refusal().code is code


def test_the_decision_is_stored_as_its_schema_says(site):
    denied = decide(site, caller_of(site, "guest"), UNIT)

    assert denied.as_json() == {
        "tool": "unit",
        "argumentsValid": True,
        "toolAllowed": True,
        "hostAllowed": True,
        "grant": {"needed": ["unit.read"], "missing": ["unit.read"]},
        "decision": "deny",
        "reason": "grant_missing",
        "approval": None,
    }


def test_a_name_that_is_no_tool_name_is_not_echoed(site):
    assert decide(site, caller_of(site), Request("rm -rf /", "web-1", {})).tool == "unknown"


def test_no_value_of_an_invalid_argument_is_in_the_refusal(site):
    decision = decide(site, caller_of(site), Request("unit", "web-1", {"unit": "SECRET-MARKER"}))

    assert decision.reason == "arguments_invalid"
    assert "SECRET-MARKER" not in str(decision.refusal())


ALLOWED = Terms(
    tool_allowed=True,
    grants_needed=frozenset({"unit.read"}),
    grants_missing=frozenset(),
    host_allowed=True,
    arguments_valid=True,
    approval_needed=False,
)


@pytest.mark.parametrize(
    ("request_", "caller", "detail"),
    [
        (Request("nothing", "web-1", {"unit": "nginx"}), "agent", "tool_not_allowlisted"),
        (UNIT, "guest", "grant_missing"),
        (Request("unit", "router-1", {"unit": "nginx"}), "agent", "host_not_allowed"),
        (Request("unit", "web-1", {"unit": "--all"}), "agent", "arguments_invalid"),
        (Request("restart", "web-1", {"unit": "nginx"}), "agent", "approval_required"),
    ],
)
def test_an_allow_that_is_forged_in_one_term_is_refused(site, request_, caller, detail):
    forged = Decision(request_.tool, ALLOWED, Verdict.ALLOW, "ok")

    with pytest.raises(Refusal) as refused:
        Admission.of(forged, site, caller_of(site, caller), request_)

    assert refused.value.detail == detail


@pytest.mark.parametrize(
    ("terms", "detail"),
    [
        (replace(ALLOWED, tool_allowed=False), "tool_not_allowlisted"),
        (replace(ALLOWED, grants_missing=frozenset({"unit.read"})), "grant_missing"),
        (replace(ALLOWED, host_allowed=False), "host_not_allowed"),
        (replace(ALLOWED, arguments_valid=False), "arguments_invalid"),
        (replace(ALLOWED, paused="pau.1"), "paused"),
        (replace(ALLOWED, approval_needed=True), "approval_required"),
    ],
)
def test_an_allow_that_denies_one_of_its_own_terms_is_refused(site, terms, detail):
    with pytest.raises(Refusal) as refused:
        Admission.of(Decision("unit", terms, Verdict.ALLOW, "ok"), site, caller_of(site), UNIT)

    assert refused.value.detail == detail


RESTART = Request("restart", "web-1", {"unit": "nginx"})


def admitted(site: Site, consumed: Standing | None) -> str:
    """What the executor says about an `allow` of RESTART that comes with this approval."""
    agent = caller_of(site)
    decision = decide(site, agent, RESTART, standing(site, agent, RESTART, State.CONSUMED))
    assert decision.verdict is Verdict.ALLOW
    return executor_says(decision, site, agent, RESTART, consumed)


def test_an_approval_that_was_consumed_for_this_call_counts(site):
    assert admitted(site, standing(site, caller_of(site), RESTART, State.CONSUMED)) == "ok"


def test_an_approval_that_only_the_decision_names_does_not_count(site):
    assert admitted(site, None) == "approval_required"


@pytest.mark.parametrize(
    ("changes", "detail"),
    [
        ({"id": "apr.another0"}, "approval_required"),
        ({"binding": "0" * 64}, "approval_required"),
        ({"approver": None}, "approval_required"),
        ({"approver": "anna"}, "approval_required"),
        ({"approver": "Anna"}, "approval_required"),
        ({"approver": "agent"}, "approval_required"),
        ({"approver": "olga"}, "approval_required"),
        ({"approver": "nobody"}, "approval_required"),
        ({"state": State.GRANTED}, "approval_required"),
        ({"state": State.ASKED}, "approval_required"),
        ({"state": State.REFUSED}, "approval_refused"),
        ({"state": State.EXPIRED}, "approval_expired"),
    ],
    ids=str,
)
def test_an_approval_that_is_forged_in_one_part_does_not_count(site, changes, detail):
    consumed = standing(site, caller_of(site), RESTART, State.CONSUMED)

    assert admitted(site, replace(consumed, **changes)) == detail


@pytest.mark.parametrize(
    "other",
    [
        Request("restart", "web-1", {"unit": "sshd"}),
        Request("restart", "router-1", {"unit": "nginx"}),
        Request("unit", "web-1", {"unit": "nginx"}),
    ],
)
def test_an_approval_of_another_call_does_not_count(site, other):
    assert admitted(site, standing(site, caller_of(site), other, State.CONSUMED)) == "approval_required"


@pytest.mark.parametrize("other", [{"name": "agent-2"}, {"principal": "olga"}, {"principal": None}], ids=str)
def test_an_approval_of_another_caller_does_not_count(site, other):
    caller = replace(caller_of(site), **other)

    assert admitted(site, standing(site, caller, RESTART, State.CONSUMED)) == "approval_required"


def test_an_allow_of_a_paused_call_is_refused(site):
    decision = decide(site, caller_of(site), UNIT)

    with pytest.raises(Refusal) as refused:
        Admission.of(decision, site, caller_of(site), UNIT, paused="pau.1")
    assert refused.value.detail == "paused"


@pytest.mark.parametrize(
    ("state", "reason", "verdict"),
    [
        (None, "approval_required", Verdict.ASK),
        (State.ASKED, "approval_required", Verdict.ASK),
        (State.GRANTED, "approval_required", Verdict.ASK),
        (State.REFUSED, "approval_refused", Verdict.DENY),
        (State.EXPIRED, "approval_expired", Verdict.DENY),
        (State.CONSUMED, "ok", Verdict.ALLOW),
    ],
)
def test_what_people_decided_is_the_reason(site, state, reason, verdict):
    decision = decide(site, caller_of(site), RESTART, standing(site, caller_of(site), RESTART, state))

    assert (decision.reason, decision.verdict) == (reason, verdict)


def test_an_honest_allow_is_admitted(site):
    admission = Admission.of(decide(site, caller_of(site), UNIT), site, caller_of(site), UNIT)

    assert (admission.operation.name, admission.host.alias, admission.arguments) == ("unit", "web-1", {"unit": "nginx"})


def test_a_rule_that_cannot_be_judged_asks(tmp_path: Path):
    text = SiteFiles(tmp_path).operations["unit"].replace("hosts: [linux]", "hosts: [linux]\nask_when: host == 'db-1'")
    site = SiteFiles(tmp_path, operations={"unit": text}).load()
    assert not derive_terms(site, caller_of(site), UNIT).approval_needed

    text = text.replace("host == 'db-1'", "arguments.unit > 5")
    site = SiteFiles(tmp_path, operations={"unit": text}).load()
    assert derive_terms(site, caller_of(site), UNIT).approval_needed
