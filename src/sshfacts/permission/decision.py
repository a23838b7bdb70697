"""The permission decision: an object of its own, made before anything runs.

A valid shape is not a permission. Whether an answer is well formed is judged by the contracts; whether
the question may be asked at all is judged here, from the caller's grants and the site's files alone.
"""

from dataclasses import dataclass
from enum import StrEnum

from sshfacts.commands.operation import Operation
from sshfacts.commands.settings import CallerSettings
from sshfacts.commands.site import Site
from sshfacts.errors import Refusal
from sshfacts.permission.request import Request
from sshfacts.schemas.checks import Judgement
from sshfacts.schemas.envelope import UNKNOWN_TOOL, is_tool_name
from sshfacts.values import JsonObject


class Verdict(StrEnum):
    """What becomes of the request."""

    ALLOW = "allow"
    DENY = "deny"
    ASK = "ask"


OK = "ok"
"""The reason of an `allow`; every other reason is a detail of the stage `decide`."""


@dataclass(frozen=True, slots=True)
class Terms:
    """The five terms of the rule, each derived from the site's files and the request alone.

    A term that cannot be judged, because an earlier one failed, is false.
    """

    tool_allowed: bool
    grants_needed: frozenset[str]
    grants_missing: frozenset[str]
    host_allowed: bool
    arguments_valid: bool
    approval_needed: bool
    where: str | None = None
    """Which keyword of the arguments' schema is broken, in our own words."""

    def refused_because(self, approval: str | None) -> str | None:
        """Return the first term that does not hold, as a detail name; `None` means that all hold.

        The order is fixed so that nobody learns what exists: a caller without the grant gets the same
        answer whether or not the host exists and whatever the arguments are.
        """
        if not self.tool_allowed:
            return "tool_not_allowlisted"
        if self.grants_missing:
            return "grant_missing"
        if not self.host_allowed:
            return "host_not_allowed"
        if not self.arguments_valid:
            return "arguments_invalid"
        if self.approval_needed and approval is None:
            return "approval_required"
        return None


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided about one request, as it is stored with the call."""

    tool: str
    terms: Terms
    verdict: Verdict
    reason: str
    approval: str | None = None
    """The approval that this decision rests on, or that it asks for."""

    def as_json(self) -> JsonObject:
        """Return the object of `schemas/decision.schema.json`, stored verbatim in the record."""
        return {
            "tool": self.tool,
            "argumentsValid": self.terms.arguments_valid,
            "toolAllowed": self.terms.tool_allowed,
            "hostAllowed": self.terms.host_allowed,
            "grant": {
                "needed": [*sorted(self.terms.grants_needed)],
                "missing": [*sorted(self.terms.grants_missing)],
            },
            "decision": self.verdict.value,
            "reason": self.reason,
            "approval": self.approval,
        }

    def refusal(self) -> Refusal:
        """Return the refusal of a decision that is not `allow`."""
        return Refusal(self.reason, self.terms.where if self.reason == "arguments_invalid" else None)


def decide(site: Site, caller: CallerSettings, request: Request, approval: str | None = None) -> Decision:
    """Decide whether `caller` may make `request` on this site.

    Args:
        approval: the id of an approval that was consumed for exactly this call, if one was.
    """
    terms = derive_terms(site, caller, request)
    reason = terms.refused_because(approval)
    verdict = {None: Verdict.ALLOW, "approval_required": Verdict.ASK}.get(reason, Verdict.DENY)
    tool = request.tool if is_tool_name(request.tool) else UNKNOWN_TOOL
    return Decision(tool, terms, verdict, reason or OK, approval)


def derive_terms(site: Site, caller: CallerSettings, request: Request) -> Terms:
    """Judge each term of the rule by itself."""
    operation = site.operations.get(request.tool)
    if operation is None:
        return Terms(
            tool_allowed=False,
            grants_needed=frozenset(),
            grants_missing=frozenset(),
            host_allowed=False,
            arguments_valid=False,
            approval_needed=False,
        )
    violation = operation.arguments_contract.violation(request.arguments)
    return Terms(
        tool_allowed=True,
        grants_needed=operation.grants,
        grants_missing=operation.grants - caller.grants,
        host_allowed=_host_allowed(site, caller, operation, request.host),
        arguments_valid=violation is None,
        # A rule over arguments that are not valid is not judged: it was written for valid ones.
        approval_needed=violation is None and _approval_needed(operation, request),
        where=violation,
    )


def _host_allowed(site: Site, caller: CallerSettings, operation: Operation, alias: str) -> bool:
    host = site.settings.hosts.get(alias) if site.settings is not None else None
    return host is not None and bool(host.groups & operation.host_groups) and bool(host.groups & caller.host_groups)


def _approval_needed(operation: Operation, request: Request) -> bool:
    if operation.asks or operation.ask_when is None:
        return operation.asks
    try:
        return Judgement(arguments=request.arguments, host=request.host).holds(operation.ask_when)
    except Refusal:
        return True  # A rule that cannot be judged must not be the way around a person.
