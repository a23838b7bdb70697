"""References inside a contract: only to `#/$defs/NAME`, never dangling, never in a circle."""

import re
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter

from sshfacts.schemas.problems import Problem
from sshfacts.schemas.tree import Node

_LOCAL = re.compile(r"#/\$defs/([A-Za-z_][A-Za-z0-9_]{0,63})")


class References:
    """The definitions of one contract, and what is wrong with the references to them.

    Attributes:
        problems: a reference that has one is not followed by `target()`, so that following never goes in a circle.
    """

    def __init__(self, root: Node) -> None:
        self._definitions: Mapping[str, Node] = root.named.get("$defs", {})
        self._broken: set[str] = set()
        self._members: dict[str, frozenset[str]] = {}  # without it, shared definitions take exponential time
        self.problems: list[Problem] = []
        for node in _everything(root):
            if "$ref" in node.keywords:
                self._check(node)
        while circle := self._circle():
            self._break(circle)

    def target(self, node: Node) -> Node | None:
        """Return the schema that `$ref` leads to, or `None` if there is none to follow."""
        name = _name(node)
        if name is None or node.pointer in self._broken:
            return None
        return self._definitions[name]

    def members(self, node: Node) -> frozenset[str]:
        """Return every member that a schema describes together with its references and `allOf` branches."""
        names = self._members.get(node.pointer)
        if names is None:
            target = self.target(node)
            parts = (*node.several.get("allOf", ()), *([target] if target is not None else []))
            names = frozenset(node.members).union(*map(self.members, parts))
            self._members[node.pointer] = names
        return names

    def _check(self, node: Node) -> None:
        name = _name(node)
        if name is None:
            self._refuse(node, "only references to #/$defs/NAME are allowed", "copy the definition into '$defs'")
        elif name not in self._definitions:
            self._refuse(node, f"there is no definition {name!r}", "add it to '$defs', or correct the name")

    def _refuse(self, node: Node, what: str, fix: str) -> None:
        self._broken.add(node.pointer)
        self.problems.append(Problem("contract.reference", f"{node.pointer}/$ref", what, fix))

    def _circle(self) -> list[str]:
        """Return the names of definitions that refer to one another in a circle; empty if there is none."""
        graph = {name: {str(_name(node)) for node in self._followed(name)} for name in self._definitions}
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            names: list[str] = error.args[1]
            return names
        return []

    def _break(self, circle: list[str]) -> None:
        for name in sorted(set(circle)):
            for node in list(self._followed(name)):
                if _name(node) in circle:
                    self._refuse(node, f"{name!r} refers to itself", "write the levels out, each in its place")

    def _followed(self, name: str) -> Iterator[Node]:
        """Yield the schemas inside a definition that refer to another one."""
        return (node for node in _everything(self._definitions[name]) if self.target(node) is not None)


def _name(node: Node) -> str | None:
    found = _LOCAL.fullmatch(str(node.keywords.get("$ref", "")))
    return found[1] if found is not None else None


def _everything(node: Node) -> Iterator[Node]:
    yield node
    for part in node.parts():
        yield from _everything(part)
