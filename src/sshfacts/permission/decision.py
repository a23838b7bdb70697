"""The permission decision: an object of its own, made before anything runs.

A valid shape is not a permission. Whether an answer is well formed is judged by the contracts; whether
the question may be asked at all is judged here, from the caller's grants, the site's files, and what people
decided about this call: a pause, or an approval.
"""

from dataclasses import dataclass
from enum import StrEnum

from sshfacts.commands.operation import Operation
from sshfacts.commands.settings import CallerSettings
from sshfacts.commands.site import Site
from sshfacts.errors import Refusal
from sshfacts.permission.approvals import Standing
from sshfacts.permission.request import Request
from sshfacts.schemas.checks import Judgement
from sshfacts.schemas.envelope import UNKNOWN_TOOL, is_tool_name
from sshfacts.storage.approvals import State
from sshfacts.values import JsonObject


class Verdict(StrEnum):
    """What becomes of the request."""

    ALLOW = "allow"
    DENY = "deny"
    ASK = "ask"


OK = "ok"
"""The reason of an `allow`; every other reason is a detail of the stage `decide`."""

_REASONS = {State.REFUSED: "approval_refused", State.EXPIRED: "approval_expired"}
"""Why a call that asks is denied; in any other state it still needs an approval."""


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of the rule, each derived from the site's files, the request, and the pauses.

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
    paused: str | None = None
    """The pause that stops this call, by its id."""

    def refused_because(self, approval: Standing | None) -> str | None:
        """Return the first term that does not hold, as a detail name; `None` means that all hold.

        Args:
            approval: where the call stands with people; only one that was consumed for it counts.

        The order is fixed so that nobody learns what exists: a caller without the grant gets the same
        answer whether or not the host exists and whatever the arguments are.
        """
        terms = (
            (self.tool_allowed, "tool_not_allowlisted"),
            (not self.grants_missing, "grant_missing"),
            (self.host_allowed, "host_not_allowed"),
            (self.paused is None, "paused"),
            (self.arguments_valid, "arguments_invalid"),
            (not self.approval_needed or (approval is not None and approval.is_consumed), _unapproved(approval)),
        )
        return next((reason for holds, reason in terms if not holds), None)


def _unapproved(approval: Standing | None) -> str:
    return _REASONS.get(approval.state, "approval_required") if approval is not None else "approval_required"


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided about one request, as it is stored with the call."""

    tool: str
    terms: Terms
    verdict: Verdict
    reason: str
    approval: str | None = None
    """The approval that this decision rests on, or that it asks for."""
    approver: str | None = None
    """Who decided about that approval."""

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
        where = {"arguments_invalid": self.terms.where, "paused": self.terms.paused}
        return Refusal(self.reason, where.get(self.reason))


def decide(
    site: Site,
    caller: CallerSettings,
    request: Request,
    approval: Standing | None = None,
    paused: str | None = None,
) -> Decision:
    """Decide whether `caller` may make `request` on this site.

    Args:
        approval: where exactly this call stands with people, if it was put before them.
        paused: the pause that stops it, by its id, if one does.
    """
    terms = derive_terms(site, caller, request, paused)
    reason = terms.refused_because(approval)
    verdict = {None: Verdict.ALLOW, "approval_required": Verdict.ASK}.get(reason, Verdict.DENY)
    tool = request.tool if is_tool_name(request.tool) else UNKNOWN_TOOL
    if approval is None:
        return Decision(tool, terms, verdict, reason or OK)
    return Decision(tool, terms, verdict, reason or OK, approval.id, approval.approver)


def derive_terms(site: Site, caller: CallerSettings, request: Request, paused: str | None = None) -> Terms:
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
        host_allowed=host_allowed(site, caller, operation, request.host),
        arguments_valid=violation is None,
        # A rule over arguments that are not valid is not judged: it was written for valid ones.
        approval_needed=violation is None and _approval_needed(operation, request),
        where=violation,
        paused=paused,
    )


def host_allowed(site: Site, caller: CallerSettings, operation: Operation, alias: str) -> bool:
    """Tell whether a host is in a group of the operation, and in one of the caller."""
    host = site.settings.hosts.get(alias) if site.settings is not None else None
    return host is not None and bool(host.groups & operation.host_groups) and bool(host.groups & caller.host_groups)


def _approval_needed(operation: Operation, request: Request) -> bool:
    if operation.asks or operation.ask_when is None:
        return operation.asks
    try:
        return Judgement(arguments=request.arguments, host=request.host).holds(operation.ask_when)
    except Refusal:
        return True  # A rule that cannot be judged must not be the way around a person.
