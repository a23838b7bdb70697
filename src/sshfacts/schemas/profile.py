"""The closed, bounded profile of JSON Schema 2020-12 that every contract keeps to, and its linter."""

from sshfacts.schemas.keywords import DIALECT
from sshfacts.schemas.pointers import escaped
from sshfacts.schemas.policy import Kind, Policy
from sshfacts.schemas.problems import PROBLEMS, Problem
from sshfacts.schemas.references import References
from sshfacts.schemas.tree import Node, read_tree
from sshfacts.values import JsonValue

__all__ = ["PROBLEMS", "RESERVED", "Kind", "Problem", "lint"]

RESERVED = frozenset({"collected_at", "host"})
"""Members of `data` that the engine writes; no contract of facts has them, and no argument is called `host`."""

_OF_AN_ARGUMENT = {
    "string": {"enum", "maxLength", "minLength", "pattern"},
    "integer": {"enum", "maximum", "minimum"},
    "boolean": set[str](),
}
_DESCRIPTIONS = {"default", "description", "examples", "title", "type"}


def lint(schema: JsonValue, kind: Kind) -> list[Problem]:
    """Return everything that is wrong with a contract, in one run.

    The problems of form come first, then references, then what is open or unbounded. Never raises.
    """
    root, problems = read_tree(schema)
    if root is None:
        return problems
    references = References(root)
    policy = Policy(kind, references)
    if _is_root(root, kind, policy):
        policy.value(root)
    if kind is Kind.ARGUMENTS:
        _arguments(root, policy)
    return problems + references.problems + policy.problems


def _is_root(root: Node, kind: Kind, policy: Policy) -> bool:
    """Judge what only the root must be; tell whether the rest can be judged."""
    if "$schema" not in root.keywords and kind is not Kind.ARGUMENTS:
        policy.add("contract.schema", "", "the contract names no dialect", f'add "$schema": "{DIALECT}"')
    types = root.types
    may_be = {"object", "array"} if kind is Kind.DOCUMENT else {"object"}
    if len(types) != 1 or not types <= may_be:
        words = '"object" or "array"' if kind is Kind.DOCUMENT else '"object"'
        policy.add("contract.schema", "", "the root has another type than the contract must have", f"make it {words}")
        return False
    reserved = {Kind.DOCUMENT: frozenset[str](), Kind.FACTS: RESERVED, Kind.ARGUMENTS: frozenset({"host"})}[kind]
    for name in sorted(reserved & frozenset(root.members)):
        what = f"{name!r} is the engine's own member"
        policy.add("contract.reserved_name", f"/properties/{escaped(name)}", what, "leave it out, or rename it")
    return True


def _arguments(root: Node, policy: Policy) -> None:
    """Judge each argument: a word of a command is a text, an integer or a boolean, and nothing composed."""
    for node in root.members.values():
        kind = next(iter(node.types), "") if len(node.types) == 1 else ""
        if kind not in _OF_AN_ARGUMENT:
            what = "an argument is one of string, integer and boolean"
            policy.add("contract.argument", node.pointer, what, 'write one of them in "type"')
            continue
        extra = {*node.keywords, *node.one, *node.several, *node.named} - _OF_AN_ARGUMENT[kind] - _DESCRIPTIONS
        for keyword in sorted(extra):
            what = f"{keyword!r} has no place in an argument of type {kind}"
            policy.add("contract.argument", f"{node.pointer}/{escaped(keyword)}", what, "leave it out")
        if kind == "string" and not node.has("pattern", "enum"):
            policy.add(
                "contract.argument", node.pointer, "the text may be anything", "add an anchored pattern, or enum"
            )
