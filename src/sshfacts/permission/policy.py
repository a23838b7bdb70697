"""The policy of a site as content: who may do what where, to be recorded by digest and shown as a matrix.

The content holds names, groups, grants and rules. It holds no address, key or secret, and it is all that the
matrix of a past day is made from.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256

from sshfacts.commands.operation import Operation
from sshfacts.commands.settings import CallerSettings, Role
from sshfacts.commands.site import Site
from sshfacts.storage.canonical import dumps
from sshfacts.values import JsonObject, JsonValue


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of the matrix: a caller may run an operation on hosts, at once or after a person's approval."""

    caller: str
    operation: str
    decision: str
    """`allow`, `ask`, or `ask when` and the rule."""
    hosts: tuple[str, ...]


def policy_of(site: Site) -> JsonObject:
    """Return the policy and what it is about: callers, people, groups of hosts, and each operation's rules."""
    settings = site.require_settings()
    return {
        "callers": [_caller(caller) for _, caller in sorted(settings.callers.items())],
        "people": [
            {"name": name, "roles": [*sorted(person.roles)]} for name, person in sorted(settings.people.items())
        ],
        "hosts": [{"alias": alias, "groups": [*sorted(host.groups)]} for alias, host in sorted(settings.hosts.items())],
        "approvals": {"wait": settings.approvals.wait, "use": settings.approvals.use},
        "operations": [_operation(operation) for _, operation in sorted(site.operations.items())],
    }


def policy_digest(policy: JsonObject) -> str:
    """Return the SHA-256 (hex) of a policy in canonical form."""
    return sha256(dumps(policy)).hexdigest()


def _caller(caller: CallerSettings) -> JsonObject:
    return {
        "name": caller.name,
        "grants": [*sorted(caller.grants)],
        "host_groups": [*sorted(caller.host_groups)],
        "principal": caller.principal,
        "oidc": caller.oidc,
        "calls_per_minute": caller.calls_per_minute,
        "concurrent": caller.concurrent,
        "queue": caller.queue,
        "pending_approvals": caller.pending_approvals,
    }


def _operation(operation: Operation) -> JsonObject:
    return {
        "name": operation.name,
        "title": operation.title,
        "digest": operation.digest,
        "effect": operation.effect.value,
        "grants": [*sorted(operation.grants)],
        "host_groups": [*sorted(operation.host_groups)],
        "asks": operation.asks,
        "ask_when": operation.ask_when.source if operation.ask_when is not None else None,
        "argv": [*operation.run.argv],
        "sudo": operation.run.sudo,
    }


class Policy:
    """A policy read back from its content, recorded or of now.

    Args:
        content: what `policy_of` returns.
    """

    def __init__(self, content: JsonObject) -> None:
        self._callers = _objects(content["callers"])
        self._people = _objects(content["people"])
        self._hosts = _objects(content["hosts"])
        self._operations = _objects(content["operations"])

    def matrix(self) -> list[Rule]:
        """Return who may do what where; what is not listed is denied."""
        return [
            Rule(str(caller["name"]), str(operation["name"]), _decision(operation), hosts)
            for caller in self._callers
            for operation in self._operations
            if (hosts := self._hosts_for(caller, operation))
        ]

    def dead_rules(self) -> list[str]:
        """Return the rules that never match, in words: they were meant for something, and do nothing."""
        return [*self._dead_words(), *self._dead_operations(), *self._undecidable()]

    def _hosts_for(self, caller: JsonObject, operation: JsonObject) -> tuple[str, ...]:
        if not _words(operation["grants"]) <= _words(caller["grants"]):
            return ()
        groups = (_words(caller["host_groups"]), _words(operation["host_groups"]))
        return tuple(
            str(host["alias"]) for host in self._hosts if all(_words(host["groups"]) & allowed for allowed in groups)
        )

    def _dead_words(self) -> Iterator[str]:
        """Find words of callers and operations that stand for nothing."""
        needed = _all_words(self._operations, "grants")
        populated = _all_words(self._hosts, "groups")
        for caller in self._callers:
            for grant in sorted(_words(caller["grants"]) - needed):
                yield f"caller {caller['name']} holds {grant}, which no operation needs"
            for group in sorted(_words(caller["host_groups"]) - populated):
                yield f"caller {caller['name']} may use hosts of the group {group}, which no host is in"
        for operation in self._operations:
            for group in sorted(_words(operation["host_groups"]) - populated):
                yield f"operation {operation['name']} may run on hosts of the group {group}, which no host is in"

    def _dead_operations(self) -> Iterator[str]:
        """Find callers, operations and hosts that stand in no line of the matrix."""
        rules = self.matrix()
        matched_callers = {rule.caller for rule in rules}
        matched_operations = {rule.operation for rule in rules}
        matched_hosts = {host for rule in rules for host in rule.hosts}
        for caller in self._callers:
            if caller["name"] not in matched_callers:
                yield f"caller {caller['name']} may do nothing"
        for operation in self._operations:
            if operation["name"] not in matched_operations:
                yield f"operation {operation['name']} may be called by nobody"
        for host in self._hosts:
            if host["alias"] not in matched_hosts:
                yield f"host {host['alias']} may be reached by nobody"

    def _undecidable(self) -> Iterator[str]:
        """Find calls that ask and that nobody may approve."""
        approvers = {str(one["name"]).casefold() for one in self._people if Role.APPROVER in _words(one["roles"])}
        for caller in self._callers:
            involved = {str(name).casefold() for name in (caller["name"], caller["principal"]) if name is not None}
            for rule in self.matrix():
                if rule.caller == caller["name"] and rule.decision != "allow" and not approvers - involved:
                    yield f"operation {rule.operation} asks for caller {rule.caller}, and nobody may approve it"


def _decision(operation: JsonObject) -> str:
    if operation["asks"]:
        return "ask"
    return "allow" if operation["ask_when"] is None else f"ask when {operation['ask_when']}"


def _objects(value: JsonValue) -> list[JsonObject]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _words(value: JsonValue) -> set[str]:
    return {str(item) for item in value} if isinstance(value, list) else set()


def _all_words(members: Iterable[JsonObject], key: str) -> set[str]:
    return {word for member in members for word in _words(member[key])}
