"""The rules beyond form: every object closed, every value typed and bounded, every composition sound.

A schema stands in one of two positions. In *value* position it alone says what a value may be, so it must give a type
and bounds. In *refinement* position, inside a branch of `allOf`, `anyOf`, `oneOf`, `not`, `if`, `then` or `else`, it
narrows a value that another schema has already bounded.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from sshfacts.schemas.patterns import compiled
from sshfacts.schemas.pointers import escaped
from sshfacts.schemas.problems import Problem
from sshfacts.schemas.references import References
from sshfacts.schemas.tree import Node

UNTRUSTED_LENGTH = 256
"""Characters of free text that a fact may carry: enough for a log line, too few for a set of instructions."""

_SENTENCES = ("Ignore all previous instructions", "ignore all previous instructions")
_CHOICES = ("anyOf", "oneOf")
_CONDITIONS = ("if", "then", "else")


class Kind(StrEnum):
    """What a contract is for; it decides which rules apply."""

    DOCUMENT = "document"
    FACTS = "facts"
    ARGUMENTS = "arguments"


@dataclass(frozen=True, slots=True)
class _Frame:
    """The object or value that a refinement narrows."""

    allowed: frozenset[str] | None = None
    """Members the object can have; `None` if it is no object, or an open one."""
    bounded: frozenset[str] = frozenset()
    """Members that a schema in value position already describes."""
    always: bool = False
    """Whether the refinement applies to every value, as a branch of `allOf` does."""


class Policy:
    """One pass of the rules over a contract.

    Attributes:
        problems: what was found, without repetition.
    """

    def __init__(self, kind: Kind, references: References) -> None:
        self._kind = kind
        self._references = references
        self._found: dict[tuple[str, str], Problem] = {}
        # Definitions are shared, so that without a memory of what was seen a small file takes exponential time.
        self._valued: set[str] = set()
        self._refined: set[tuple[str, _Frame]] = set()

    @property
    def problems(self) -> list[Problem]:
        """What was found: one problem for each place and code."""
        return list(self._found.values())

    def add(self, code: str, pointer: str, what: str, fix: str) -> None:
        """Note a problem."""
        self._found.setdefault((code, pointer), Problem(code, pointer, what, fix))

    def value(self, node: Node) -> None:
        """Judge a schema that alone says what a value may be."""
        if node.pointer in self._valued:
            return
        self._valued.add(node.pointer)
        if node.boolean is not None:
            if node.boolean:
                self.add("contract.untyped", node.pointer, "everything is accepted here", 'write {"type": ...}')
            return
        target = self._references.target(node)
        if node.types:
            self._typed(node)
        elif target is not None:
            self.value(target)
            self._refinements(node, _Frame())
        elif node.has(*_CHOICES):
            for branch in _branches(node, *_CHOICES):
                self.value(branch)
            rest = {keyword: branches for keyword, branches in node.several.items() if keyword not in _CHOICES}
            self._refinements(replace(node, several=rest), _Frame())
        elif not node.has("type", "enum", "const", "$ref"):
            self.add("contract.untyped", node.pointer, "the schema gives no type", 'write "type"')

    def _typed(self, node: Node) -> None:
        types, frame = node.types, _Frame()
        if not node.has("enum", "const"):
            if "string" in types:
                self._text(node)
            if types & {"integer", "number"}:
                self._number(node)
        if "array" in types:
            self._array(node)
        if "object" in types:
            frame = self._object(node)
        self._refinements(node, frame)

    def _text(self, node: Node) -> None:
        if not node.has("maxLength", "format"):
            self.add("contract.unbounded", node.pointer, "the text has no 'maxLength'", 'add "maxLength"')
        if self._kind is Kind.FACTS:
            self._fact(node)

    def _fact(self, node: Node) -> None:
        """Judge a text that an agent reads."""
        longest = node.keywords.get("maxLength")
        if node.has("x-untrusted-text"):
            if isinstance(longest, int) and longest > UNTRUSTED_LENGTH:
                what = f"untrusted text may be {longest} characters long"
                self.add(
                    "contract.untrusted_text", node.pointer, what, f"lower maxLength to {UNTRUSTED_LENGTH} or less"
                )
        elif _lets_sentences_through(node):
            fix = f'narrow the pattern, or add "x-untrusted-text": true with a maxLength up to {UNTRUSTED_LENGTH}'
            self.add("contract.untrusted_text", node.pointer, "the text may be any sentence", fix)

    def _number(self, node: Node) -> None:
        lower, upper = node.has("minimum", "exclusiveMinimum"), node.has("maximum", "exclusiveMaximum")
        if not (lower and upper):
            missing = "'minimum'" if upper else "'maximum'" if lower else "'minimum' and 'maximum'"
            self.add("contract.unbounded", node.pointer, f"the number has no {missing}", f"add {missing}")

    def _array(self, node: Node) -> None:
        if not node.has("maxItems"):
            self.add("contract.unbounded", node.pointer, "the array has no 'maxItems'", 'add "maxItems"')
        items = node.one.get("items")
        if items is None:
            fix = 'add "items": false' if node.has("prefixItems") else 'add "items"'
            self.add("contract.open_array", node.pointer, "the array has no 'items'", fix)
        for part in (*node.several.get("prefixItems", ()), *([items] if items is not None else [])):
            self.value(part)

    def _object(self, node: Node) -> _Frame:
        """Judge how the object is closed; return what its branches may say."""
        for member in node.members.values():
            self.value(member)
        own = frozenset(node.members)
        rest = node.one.get("additionalProperties")
        if rest is not None and rest.boolean is False:
            frame = _Frame(own, own)
        elif node.has("unevaluatedProperties"):
            if rest is not None:
                what = "'additionalProperties' opens what 'unevaluatedProperties' closes"
                self.add("contract.open_object", node.pointer, what, "leave 'additionalProperties' out")
            frame = _Frame(self._references.members(node), own)
        else:
            self._open(node, rest)
            return _Frame(None, own)
        self._known(node, frame)
        if node.has("x-open-because"):
            self.add("contract.open_object", node.pointer, "a closed object says why it is open", "leave it out")
        return frame

    def _open(self, node: Node, rest: Node | None) -> None:
        if self._kind is not Kind.DOCUMENT and node.has("x-open-because"):
            fix = 'leave "x-open-because" out and write "additionalProperties": false'
            self.add("contract.open_facts", node.pointer, "only a document may be open", fix)
        elif not node.has("x-open-because"):
            fix = 'add "additionalProperties": false, or "unevaluatedProperties": false beside allOf'
            self.add("contract.open_object", node.pointer, "the object may have any member", fix)
        elif rest is not None and rest.boolean is None:
            self.value(rest)

    def _known(self, node: Node, frame: _Frame) -> None:
        """Find names of members that a closed object cannot have."""
        if frame.allowed is None:
            return
        for name in sorted(node.required - frame.allowed):
            what = f"'required' names {name!r}, which is not among the properties"
            self.add("contract.unknown_member", f"{node.pointer}/required", what, "describe it, or correct the name")
        for name in sorted(frozenset(node.members) - frame.allowed):
            what = f"the closed object has no member {name!r}"
            pointer = f"{node.pointer}/properties/{escaped(name)}"
            self.add("contract.unknown_member", pointer, what, "describe it in the object's own properties")

    def _refinements(self, node: Node, frame: _Frame) -> None:
        """Judge the branches of a schema in value position."""
        target = self._references.target(node)
        if target is not None and node.types:
            self._refine(target, replace(frame, always=True))
        for branch in node.several.get("allOf", ()):
            self._refine(branch, replace(frame, always=True))
        for branch in (*_branches(node, *_CHOICES), *_conditions(node)):
            self._refine(branch, frame)
        if "propertyNames" in node.one:
            self._refine(node.one["propertyNames"], _Frame())

    def _refine(self, node: Node, frame: _Frame) -> None:
        """Judge a schema that narrows what another one bounds."""
        if (node.pointer, frame) in self._refined:
            return
        self._refined.add((node.pointer, frame))
        for keyword in ("additionalProperties", "unevaluatedProperties"):
            if node.has(keyword):
                what = f"{keyword!r} stands in a branch"
                fix = 'take it out, and write "unevaluatedProperties": false beside the composition'
                self.add("contract.closed_branch", f"{node.pointer}/{keyword}", what, fix)
        self._known(node, frame)
        for name, member in node.members.items():
            if frame.always and name not in frame.bounded:
                self.value(member)
            else:
                self._refine(member, _Frame())
        target = self._references.target(node)
        if target is not None:
            self._refine(target, frame)
        for branch in node.several.get("allOf", ()):
            self._refine(branch, frame)
        for branch in (*_branches(node, *_CHOICES), *_conditions(node)):
            self._refine(branch, replace(frame, always=False))
        for part in (*node.several.get("prefixItems", ()), *_present(node, "items", "propertyNames")):
            self._refine(part, _Frame())


def _lets_sentences_through(node: Node) -> bool:
    """Tell whether a text may be prose: it has neither pattern nor format, or a pattern that says nothing."""
    pattern, longest = node.keywords.get("pattern"), node.keywords.get("maxLength")
    if not isinstance(pattern, str):
        return not node.has("pattern", "format")
    fitting = (sentence for sentence in _SENTENCES if not isinstance(longest, int) or longest >= len(sentence))
    return any(compiled(pattern).accepts(sentence) for sentence in fitting)


def _branches(node: Node, *keywords: str) -> Iterable[Node]:
    return (branch for keyword in keywords for branch in node.several.get(keyword, ()))


def _conditions(node: Node) -> Iterable[Node]:
    return _present(node, *_CONDITIONS, "not")


def _present(node: Node, *keywords: str) -> Iterable[Node]:
    return (node.one[keyword] for keyword in keywords if keyword in node.one)
