"""A contract file as a tree of schemas, read with everything that is wrong with its form."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

from sshfacts.schemas.keywords import DIALECT, KEYWORDS, SHAPES, SUBSCHEMA, SUBSCHEMA_LIST, SUBSCHEMA_MAP
from sshfacts.schemas.patterns import fault
from sshfacts.schemas.pointers import escaped
from sshfacts.schemas.problems import Problem
from sshfacts.schemas.text_formats import FORMATS
from sshfacts.values import JsonValue

DEPTH = 24
"""Schemas nested in one another. Each level of an answer takes two, and few tools print ten."""
DEFINITIONS = 64
"""Definitions in one contract; a chain of them is followed by recursion."""


@dataclass(frozen=True, slots=True)
class Node:
    """One schema of a contract. It holds only what is well formed; the rest became problems."""

    pointer: str
    """RFC 6901 pointer of this schema in its file."""
    boolean: bool | None = None
    """The value of a boolean schema."""
    written: frozenset[str] = frozenset()
    """Every keyword that stands in the file, well formed or not."""
    keywords: Mapping[str, JsonValue] = field(default_factory=dict)
    """Keywords whose value holds no schema."""
    one: Mapping[str, "Node"] = field(default_factory=dict)
    """Keywords whose value is one schema."""
    several: Mapping[str, tuple["Node", ...]] = field(default_factory=dict)
    """Keywords whose value is a list of schemas."""
    named: Mapping[str, Mapping[str, "Node"]] = field(default_factory=dict)
    """Keywords whose value is an object of schemas."""

    @property
    def members(self) -> Mapping[str, "Node"]:
        """The schemas of `properties`."""
        return self.named.get("properties", {})

    @property
    def types(self) -> frozenset[str]:
        """The names in `type`; empty if it is absent."""
        value = self.keywords.get("type", [])
        return frozenset(map(str, value if isinstance(value, list) else [value]))

    @property
    def required(self) -> frozenset[str]:
        """The names in `required`."""
        names = self.keywords.get("required", [])
        return frozenset(map(str, names)) if isinstance(names, list) else frozenset()

    def has(self, *names: str) -> bool:
        """Tell whether one of these keywords is written, so that an ill-formed one is not taken for a missing one."""
        return not self.written.isdisjoint(names)

    def parts(self) -> Iterator["Node"]:
        """Yield the schemas directly inside this one."""
        yield from self.one.values()
        for nodes in self.several.values():
            yield from nodes
        for mapping in self.named.values():
            yield from mapping.values()


def read_tree(schema: JsonValue) -> tuple[Node | None, list[Problem]]:
    """Read a contract, and find everything that is wrong with its form.

    Returns:
        The tree, or `None` if this is no object at all; and the problems, in document order.
    """
    problems: list[Problem] = []
    if not isinstance(schema, dict):
        problems.append(Problem("contract.schema", "", "the file holds no JSON object", "write a schema"))
        return None, problems
    return _Reading(problems).node(schema, "", 1), problems


class _Reading:
    """One pass over a contract."""

    def __init__(self, problems: list[Problem]) -> None:
        self._problems = problems

    def _add(self, code: str, pointer: str, what: str, fix: str) -> None:
        self._problems.append(Problem(code, pointer, what, fix))

    def node(self, schema: JsonValue, pointer: str, depth: int) -> Node:
        if isinstance(schema, bool):
            return Node(pointer, boolean=schema)
        if not isinstance(schema, dict):
            self._add("contract.keyword_value", pointer, "here must be a schema", "write an object, true or false")
            return Node(pointer, boolean=False)
        if depth > DEPTH:
            self._add("contract.depth", pointer, f"schemas are nested over {DEPTH} deep", "flatten the contract")
            return Node(pointer, boolean=False)
        keywords: dict[str, JsonValue] = {}
        one: dict[str, Node] = {}
        several: dict[str, tuple[Node, ...]] = {}
        named: dict[str, Mapping[str, Node]] = {}
        for name, value in schema.items():
            place = f"{pointer}/{escaped(name)}"
            if name in SHAPES:
                if self._well_formed(name, value, place):
                    keywords[name] = value
            elif name in SUBSCHEMA:
                one[name] = self.node(value, place, depth + 1)
            elif name in SUBSCHEMA_LIST:
                several[name] = self._list(name, value, place, depth)
            elif name in SUBSCHEMA_MAP:
                named[name] = self._map(name, value, place, depth)
            else:
                self._unknown(name, place)
        return Node(pointer, None, frozenset(schema), keywords, one, several, named)

    def _list(self, name: str, value: JsonValue, place: str, depth: int) -> tuple[Node, ...]:
        if not isinstance(value, list) or not value:
            self._add(
                "contract.keyword_value", place, f"{name!r} must be a list with at least one schema", "write [...]"
            )
            return ()
        return tuple(self.node(item, f"{place}/{index}", depth + 1) for index, item in enumerate(value))

    def _map(self, name: str, value: JsonValue, place: str, depth: int) -> Mapping[str, Node]:
        if not isinstance(value, dict):
            self._add("contract.keyword_value", place, f"{name!r} must be an object of schemas", "write {...}")
            return {}
        if name == "$defs" and place != "/$defs":
            self._add("contract.reference", place, "'$defs' stands below the root", "move it to the root")
        if name == "$defs" and len(value) > DEFINITIONS:
            self._add("contract.depth", place, f"there are over {DEFINITIONS} definitions", "split the contract")
            return {}
        return {key: self.node(item, f"{place}/{escaped(key)}", depth + 1) for key, item in value.items()}

    def _unknown(self, name: str, place: str) -> None:
        near = get_close_matches(name, KEYWORDS, n=1)
        fix = f"did you mean {near[0]!r}?" if near else "leave it out; contracts use a closed list of keywords"
        self._add("contract.unknown_keyword", place, f"{name!r} is no keyword of a contract", fix)

    def _well_formed(self, name: str, value: JsonValue, place: str) -> bool:
        shape = SHAPES[name]
        if not shape.accepts(value):
            self._add("contract.keyword_value", place, f"{name!r} must be {shape.words}", "correct the value")
            return False
        text = value if isinstance(value, str) else ""
        match name:
            case "$schema" | "$id" if place != f"/{name}":
                self._add("contract.schema", place, f"{name!r} stands below the root", "leave it out here")
            case "$schema" if value != DIALECT:
                self._add("contract.schema", place, "this is not draft 2020-12", f'write "$schema": "{DIALECT}"')
            case "format" if value not in FORMATS:
                self._unknown_format(text, place)
                return False
            case "pattern" if problem := fault(text):
                self._add(problem.code, place, f"the pattern {problem.what}", problem.fix)
                return False
        return True

    def _unknown_format(self, name: str, place: str) -> None:
        fix = "write a pattern, or one of " + ", ".join(FORMATS)
        self._add("contract.unknown_format", place, f"{name!r} is no format of a contract", fix)
