"""A decision in words: each term of the rule, and who can change the one that does not hold."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from sshfacts.commands.operation import Operation
from sshfacts.commands.settings import CallerSettings, Role, Settings
from sshfacts.commands.site import Site
from sshfacts.errors import DETAILS
from sshfacts.permission.approvals import may_not_approve
from sshfacts.permission.deciding import Ruling
from sshfacts.permission.decision import OK
from sshfacts.permission.request import Request


class Holds(StrEnum):
    """Whether a term of the rule holds."""

    YES = "yes"
    NO = "no"
    NOT_JUDGED = "-"
    """An earlier term does not hold."""


@dataclass(frozen=True, slots=True)
class Line:
    """One term of the rule."""

    term: str
    holds: Holds
    told: str
    remedy: str | None = None
    """Who can change it, and how."""


def explain(site: Site, caller: CallerSettings, request: Request, ruling: Ruling) -> list[Line]:
    """Return every term of the rule for one request, in the order in which they are judged."""
    settings = site.require_settings()
    operation = site.operations.get(request.tool)
    if operation is None:
        return [Line("operation", Holds.NO, f"no served operation is named {request.tool}", _serve(settings))]
    lines = [
        Line("operation", Holds.YES, f"{operation.name}: {operation.title}"),
        _grants(settings, caller, operation),
        _host(settings, caller, operation, request),
        _pause(settings, ruling),
        _arguments(ruling),
        _approval(settings, caller, operation, ruling),
    ]
    return [*_judged(lines)]


def summary(ruling: Ruling) -> str:
    """Return the decision and what the agent sees of it, on one line."""
    decision = ruling.decision
    if decision.reason == OK:
        return f"{decision.verdict}: every term holds"
    entry = DETAILS[decision.reason]
    return f"{decision.verdict} ({decision.reason}): {entry.meaning} The agent sees {entry.code}."


def _judged(lines: Sequence[Line]) -> Iterator[Line]:
    """Leave out what is not judged any more after the first term that does not hold."""
    failed = False
    for line in lines:
        yield Line(line.term, Holds.NOT_JUDGED, "not judged") if failed else line
        failed = failed or line.holds is Holds.NO


def _grants(settings: Settings, caller: CallerSettings, operation: Operation) -> Line:
    needed = ", ".join(sorted(operation.grants)) or "none"
    missing = sorted(operation.grants - caller.grants)
    if not missing:
        return Line("grants", Holds.YES, f"needs {needed}; {caller.name} holds them")
    listed = ", ".join(missing)
    remedy = f"{_operators(settings)} can add {listed} to `grants` of [callers.{caller.name}] in {settings.path.name}"
    return Line("grants", Holds.NO, f"needs {needed}; {caller.name} lacks {listed}", remedy)


def _host(settings: Settings, caller: CallerSettings, operation: Operation, request: Request) -> Line:
    host = settings.hosts.get(request.host)
    if host is None:
        remedy = f"{_operators(settings)} can add [hosts.{request.host}] to {settings.path.name}"
        return Line("host", Holds.NO, f"no host has the alias {request.host}", remedy)
    groups = {"operation": operation.host_groups, "caller": caller.host_groups}
    lacking = [who for who, allowed in groups.items() if not host.groups & allowed]
    told = f"{request.host} is in {_listed(host.groups)}; " + ", ".join(
        f"the {who} may use {_listed(allowed)}" for who, allowed in groups.items()
    )
    if not lacking:
        return Line("host", Holds.YES, told)
    places = {"operation": f"`hosts` of {operation.path.name}", "caller": f"`host_groups` of [callers.{caller.name}]"}
    remedy = f"{_operators(settings)} can change {' and '.join(places[who] for who in lacking)}"
    return Line("host", Holds.NO, told, remedy)


def _pause(settings: Settings, ruling: Ruling) -> Line:
    if ruling.paused is None:
        return Line("not paused", Holds.YES, "no pause covers this call")
    remedy = f"{_operators(settings)} can resume it; `sshfacts pause --list` shows who paused it and why"
    return Line("not paused", Holds.NO, f"{ruling.paused} covers this call", remedy)


def _arguments(ruling: Ruling) -> Line:
    if ruling.decision.reason != "arguments_invalid":
        return Line("arguments", Holds.YES, "they keep to the operation's schema")
    return Line("arguments", Holds.NO, f"they break {ruling.decision.terms.where}", "the agent can correct them")


def _approval(settings: Settings, caller: CallerSettings, operation: Operation, ruling: Ruling) -> Line:
    if not ruling.decision.terms.approval_needed:
        rule = f"asks only when {operation.ask_when.source}" if operation.ask_when is not None else "asks nobody"
        return Line("approval", Holds.YES, f"the operation {rule}")
    why = "the operation always asks" if operation.asks or operation.ask_when is None else "this call makes it ask"
    approvers = sorted(
        name for name in settings.people if may_not_approve(settings, name, caller.name, caller.principal) is None
    )
    who = " or ".join(approvers) or "nobody: there is no approver but the caller and its principal"
    standing = ruling.approval
    if standing is None:
        return Line("approval", Holds.NO, f"{why}; the call would wait for a person", f"who can approve it: {who}")
    told = f"{why}; {standing.id} is {standing.state}"
    if standing.is_consumed:
        return Line("approval", Holds.YES, f"{why}; {standing.id} is granted by {standing.approver}")
    return Line("approval", Holds.NO, told, f"who can decide about it: {who}")


def _serve(settings: Settings) -> str:
    return f"{_operators(settings)} can add it as a file of `commands/`; `sshfacts operations` lists what is served"


def _operators(settings: Settings) -> str:
    named = sorted(name for name, person in settings.people.items() if Role.OPERATOR in person.roles)
    return f"an operator ({', '.join(named)})" if named else "whoever keeps the site"


def _listed(groups: frozenset[str]) -> str:
    return ", ".join(sorted(groups)) or "no group"
