"""From the tree of a contract to a validator of jsonschema with compiled keywords.

Every schema becomes a validator once, when the contract is loaded, and references become direct. So nothing is
resolved, fetched or compiled while a value is judged, and jsonschema never chooses another validator class in the
middle of a contract, as its `evolve()` does below a `$schema`.
"""

from collections.abc import Callable, Mapping

from jsonschema import Draft202012Validator
from jsonschema.validators import extend
from referencing import Registry

from sshfacts.schemas import applicators, assertions
from sshfacts.schemas.applicators import MEMBERS, Condition, Members, Part
from sshfacts.schemas.assertions import TYPES, Validator, identity, is_exact_integer
from sshfacts.schemas.leaves import leaf_test
from sshfacts.schemas.patterns import compiled
from sshfacts.schemas.references import References
from sshfacts.schemas.text_formats import FORMATS
from sshfacts.schemas.tree import Node
from sshfacts.values import JsonValue

SOURCE = "x-source"
"""Name under which a compiled schema carries the `Node` it was made from. It is no keyword: nothing judges by it."""

_Strict: type[Draft202012Validator] = extend(  # type: ignore[no-untyped-call] # the stub of `extend` has no types
    Draft202012Validator, validators={**assertions.KEYWORDS, **applicators.KEYWORDS}
)

_COMPILED: Mapping[str, Callable[[JsonValue], object]] = {
    "const": lambda value: frozenset([identity(value)]),
    "enum": lambda values: frozenset(map(identity, values)) if isinstance(values, list) else frozenset(),
    "format": lambda name: FORMATS[str(name)],
    "pattern": lambda source: compiled(str(source)),
}
_AS_WRITTEN = frozenset({*assertions.KEYWORDS, "dependentRequired"}) - frozenset(_COMPILED) - {"type"}

# What is cheap comes first, so that `type` and `maxLength` guard the costly keywords, whatever order the file has.
_ORDER = (
    "false",
    "type",
    "const",
    "enum",
    "minLength",
    "maxLength",
    "format",
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    MEMBERS,
    "dependentRequired",
    "propertyNames",
    "prefixItems",
    "items",
    "uniqueItems",
    "$ref",
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "not",
)


def build(root: Node, references: References, *, exact_integers: bool) -> Validator:
    """Return the validator of a contract.

    Args:
        root: without problems of form, policy or references.
        exact_integers: whether `integer` means Python's `int`, and not also 1.0.
    """
    return _Builder(references, exact_integers=exact_integers).validator(root)


class _Builder:
    def __init__(self, references: References, *, exact_integers: bool) -> None:
        self._references = references
        self._types = {**TYPES, "integer": is_exact_integer} if exact_integers else TYPES
        self._stem = _Strict({}, registry=Registry())
        self._built: dict[str, Validator] = {}

    def validator(self, node: Node) -> Validator:
        """Return the validator of one schema; a definition is built once, however often it is used."""
        built = self._built.get(node.pointer)
        if built is None:
            values = self._assertions(node) | self._applicators(node)
            ordered = {keyword: values[keyword] for keyword in _ORDER if keyword in values}
            # `evolve` shares the empty registry; making the validator anew would combine registries each time.
            built = self._stem.evolve(schema={**ordered, SOURCE: node})
            self._built[node.pointer] = built
        return built

    def _part(self, node: Node) -> Part:
        return Part(leaf_test(node), self.validator(node))

    def _assertions(self, node: Node) -> dict[str, object]:
        if node.boolean is False:
            return {"false": None}
        values: dict[str, object] = {name: value for name, value in node.keywords.items() if name in _AS_WRITTEN}
        for name, compile_value in _COMPILED.items():
            if name in node.keywords:
                values[name] = compile_value(node.keywords[name])
        if node.types:
            values["type"] = tuple(self._types[name] for name in sorted(node.types))
        return values

    def _applicators(self, node: Node) -> dict[str, object]:
        values: dict[str, object] = {name: tuple(map(self.validator, parts)) for name, parts in node.several.items()}
        values |= {name: self.validator(node.one[name]) for name in ("not", "propertyNames") if name in node.one}
        target = self._references.target(node)
        if target is not None:
            values["$ref"] = (self.validator(target),)
        if "items" in node.one:
            values["items"] = (len(node.several.get("prefixItems", ())), self._part(node.one["items"]))
        if "if" in node.one:
            parts = {name: self.validator(node.one[name]) for name in ("if", "then", "else") if name in node.one}
            values["if"] = Condition(parts["if"], parts.get("then"), parts.get("else"))
        if node.members or node.has("required", "additionalProperties", "unevaluatedProperties"):
            values[MEMBERS] = self._members(node)
        return values

    def _members(self, node: Node) -> Members:
        rest = node.one.get("additionalProperties")
        allowed, closed_by = frozenset(node.members), None
        if rest is not None and rest.boolean is False:
            closed_by = "additionalProperties"
        elif node.has("unevaluatedProperties"):
            closed_by, allowed = "unevaluatedProperties", self._references.members(node)
        return Members(
            named={name: self._part(member) for name, member in node.members.items()},
            rest=self._part(rest) if rest is not None and closed_by is None else None,
            closed_by=closed_by,
            allowed=allowed,
            required=node.required,
        )
