"""Where a value can be flawed: each of its parts, with the rules of its contract that hold for it in any case.

In any case hold the schema of the part itself, what its `$ref` leads to, and its `allOf` branches; of `anyOf` and
`oneOf`, a branch that alone lets the type of the part through. What breaks one of these must be refused, whatever `if`,
`not` and the other branches say; so a near miss that is made from them is one for certain.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

from sshfacts.schemas.pointers import escaped
from sshfacts.schemas.references import References
from sshfacts.schemas.tree import Node
from sshfacts.values import JsonValue

Step: TypeAlias = str | int
"""The name of a member, or the index of an item."""

FRACTION = "fraction"
"""The type of a number that is no integer; JSON Schema has no word for it."""

_UNNAMED = "?"
"""Stands for a name that the contract does not know, which came from a host."""
_CHOICES = ("anyOf", "oneOf")
_ALL = frozenset({"array", "boolean", FRACTION, "integer", "null", "object", "string"})
_NAMES: Mapping[type, str] = MappingProxyType(
    {bool: "boolean", dict: "object", int: "integer", list: "array", str: "string", type(None): "null"}
)
_WRITTEN: Mapping[str, frozenset[str]] = MappingProxyType({"number": frozenset({FRACTION, "integer"})})


@dataclass(frozen=True, slots=True)
class Place:
    """One part of a value."""

    steps: tuple[Step, ...]
    """The way to it from the root."""
    sort: str
    """RFC 6901 pointer to it and to the same part of every other row: `*` stands for each index."""
    value: JsonValue
    rules: tuple[Node, ...]
    """Schemas that hold for it as long as its type stays the same."""
    types: frozenset[str]
    """Types that its contract could accept here; another one must be refused."""


def type_of(value: JsonValue) -> str:
    """Return the type of a value; as JSON Schema has it, 1.0 is an integer."""
    if isinstance(value, float):
        return "integer" if value.is_integer() else FRACTION
    return _NAMES[type(value)]


def places(root: Node, value: JsonValue) -> Iterator[Place]:
    """Yield every part of a valid value that the contract says something about, the value itself first."""
    return _Walk(References(root)).part(Place((), "", value, (root,), _ALL))


class _Walk:
    def __init__(self, references: References) -> None:
        self._references = references
        self._types: dict[str, frozenset[str]] = {}  # without it, shared definitions take exponential time

    def part(self, found: Place) -> Iterator[Place]:
        """Yield one part and all that is in it; `found` has only its own schemas as rules."""
        rules: dict[str, Node] = {}
        for node in found.rules:
            self._add_rules(node, type_of(found.value), rules)
        types = _ALL.intersection(*map(self._types_of, found.rules))
        place = Place(found.steps, found.sort, found.value, tuple(rules.values()), types)
        yield place
        for inner in _inner(place):
            yield from self.part(inner)

    def _add_rules(self, node: Node, kind: str, rules: dict[str, Node]) -> None:
        if node.pointer in rules:
            return
        rules[node.pointer] = node
        for part in self._always(node):
            self._add_rules(part, kind, rules)
        for choice in _choices(node):
            possible = [branch for branch in choice if kind in self._types_of(branch)]
            if len(possible) == 1:
                self._add_rules(possible[0], kind, rules)

    def _always(self, node: Node) -> tuple[Node, ...]:
        target = self._references.target(node)
        return (*node.several.get("allOf", ()), *([target] if target is not None else []))

    def _types_of(self, node: Node) -> frozenset[str]:
        """Return the types that a schema could accept; it may accept fewer."""
        types = self._types.get(node.pointer)
        if types is None:
            types = _own_types(node).intersection(*map(self._types_of, self._always(node)))
            for choice in _choices(node):
                types &= frozenset[str]().union(*map(self._types_of, choice))
            self._types[node.pointer] = types
        return types


def _own_types(node: Node) -> frozenset[str]:
    if node.boolean is not None:
        return _ALL if node.boolean else frozenset()
    types = _ALL
    if node.types:
        types &= frozenset[str]().union(*(_WRITTEN.get(name, frozenset({name})) for name in node.types))
    listed = listed_in(node)
    return types if listed is None else types & frozenset(map(type_of, listed))


def listed_in(node: Node) -> list[JsonValue] | None:
    """Return the only values that a schema accepts, if it lists them."""
    if "const" in node.keywords:
        return [node.keywords["const"]]
    listed = node.keywords.get("enum")
    return listed if isinstance(listed, list) else None


def _choices(node: Node) -> Iterable[tuple[Node, ...]]:
    return (node.several[keyword] for keyword in _CHOICES if keyword in node.several)


def _inner(place: Place) -> Iterator[Place]:
    """Yield the members and items of a part, each with its own schemas as rules."""
    if isinstance(place.value, dict):
        for name, member in place.value.items():
            shown = escaped(name) if any(name in rule.members for rule in place.rules) else _UNNAMED
            if schemas := tuple(_of_member(place.rules, name)):
                yield Place((*place.steps, name), f"{place.sort}/{shown}", member, schemas, _ALL)
    elif isinstance(place.value, list):
        for index, item in enumerate(place.value):
            if schemas := tuple(_of_item(place.rules, index)):
                yield Place((*place.steps, index), f"{place.sort}/*", item, schemas, _ALL)


def _of_member(rules: Iterable[Node], name: str) -> Iterator[Node]:
    for rule in rules:
        if name in rule.members:
            yield rule.members[name]
        elif "additionalProperties" in rule.one:
            yield rule.one["additionalProperties"]


def _of_item(rules: Iterable[Node], index: int) -> Iterator[Node]:
    for rule in rules:
        first = rule.several.get("prefixItems", ())
        if index < len(first):
            yield first[index]
        elif "items" in rule.one:
            yield rule.one["items"]
