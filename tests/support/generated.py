"""Strategies for contracts together with values that keep to them."""

import json
from dataclasses import dataclass

from hypothesis import strategies as st

from sshfacts.schemas.profile import Kind
from sshfacts.values import JsonObject, JsonValue
from tests.support.contracts import closed, contract

NAMES = ("id", "size", "state", "when")
PATTERNS = (
    ("^[a-z][a-z0-9_.-]*$", ("a", "nginx.service", "x-9")),
    ("^(?:[0-9]{1,3}/)?[0-9]+$", ("0", "12/345")),
    (r"^/[^\x00-\x1f\x7f]*$", ("/", "/srv/größe 1")),
    (r"^\[[A-F0-9:]+\]( kB)?$", ("[A0:FF]", "[1] kB")),
)
FORMATS = (
    ("date", ("2026-11-30",)),
    ("date-time", ("2026-11-30T10:00:00Z", "2026-11-30T10:00:00.5+02:00")),
    ("hostname", ("web-1.example",)),
    ("ipv4", ("192.0.2.1",)),
    ("ipv6", ("2001:db8::1", "::")),
    ("uuid", ("123e4567-e89b-12d3-a456-426614174000",)),
)


@dataclass(frozen=True)
class Shape:
    """A schema, and the values that it accepts."""

    schema: JsonObject
    values: st.SearchStrategy[JsonValue]


@st.composite
def _patterned(draw: st.DrawFn) -> Shape:
    pattern, texts = draw(st.sampled_from(PATTERNS))
    longest = draw(st.integers(20, 40))
    # A pattern with blanks in it lets sentences through, so in facts the text has to be marked.
    schema: JsonObject = {"type": "string", "maxLength": longest, "pattern": pattern, "x-untrusted-text": True}
    return Shape(schema, st.sampled_from(texts))


@st.composite
def _formatted(draw: st.DrawFn) -> Shape:
    name, texts = draw(st.sampled_from(FORMATS))
    return Shape({"type": "string", "format": name}, st.sampled_from(texts))


@st.composite
def _free(draw: st.DrawFn) -> Shape:
    shortest = draw(st.integers(0, 3))
    longest = draw(st.integers(shortest, 30))
    schema: JsonObject = {"type": "string", "minLength": shortest, "maxLength": longest, "x-untrusted-text": True}
    return Shape(schema, st.text("abc é€", min_size=shortest, max_size=longest))


@st.composite
def _listed(draw: st.DrawFn) -> Shape:
    words = draw(st.lists(st.sampled_from(["up", "down", "UP", "x", "failed"]), min_size=1, unique=True))
    schema: JsonObject = {"const": words[0]} if len(words) == 1 else {"enum": [*words]}
    return Shape(schema, st.sampled_from(words))


@st.composite
def _integer(draw: st.DrawFn) -> Shape:
    lowest = draw(st.integers(-100, 100))
    step = draw(st.integers(1, 3))
    count = draw(st.integers(0, 20))
    first = -(-lowest // step) * step
    schema: JsonObject = {"type": "integer", "minimum": lowest, "maximum": first + count * step}
    if step > 1:
        schema["multipleOf"] = step
    return Shape(schema, st.integers(0, count).map(lambda index: first + index * step))


@st.composite
def _number(draw: st.DrawFn) -> Shape:
    lowest = draw(st.integers(-100, 100))
    names = draw(st.sampled_from([("minimum", "maximum"), ("exclusiveMinimum", "exclusiveMaximum")]))
    schema: JsonObject = {"type": "number", names[0]: lowest, names[1]: lowest + 10.75}
    return Shape(schema, st.integers(lowest, lowest + 9).map(lambda whole: whole + 0.5))


_FLAG = Shape({"type": "boolean"}, st.booleans())
_LEAVES = st.one_of(_patterned(), _formatted(), _free(), _listed(), _integer(), _number(), st.just(_FLAG))


@st.composite
def _nullable(draw: st.DrawFn, inner: st.SearchStrategy[Shape]) -> Shape:
    shape = draw(inner)
    # Two branches that both accept null would be none for `oneOf`.
    keyword = "anyOf" if shape.schema.keys() & {"anyOf", "oneOf"} else draw(st.sampled_from(["anyOf", "oneOf"]))
    return Shape({keyword: [shape.schema, {"type": "null"}]}, st.none() | shape.values)


@st.composite
def _array(draw: st.DrawFn, inner: st.SearchStrategy[Shape]) -> Shape:
    shape = draw(inner)
    most = draw(st.integers(1, 4))
    least = draw(st.integers(0, most))
    if draw(st.booleans()):
        schema: JsonObject = {"type": "array", "maxItems": most, "uniqueItems": True, "items": shape.schema}
        return Shape(schema, st.lists(shape.values, max_size=most, unique_by=_text).map(list))
    schema = {"type": "array", "minItems": least, "maxItems": most, "items": shape.schema}
    return Shape(schema, st.lists(shape.values, min_size=least, max_size=most).map(list))


def _text(value: JsonValue) -> str:
    return json.dumps(value, sort_keys=True)


@st.composite
def _object(draw: st.DrawFn, inner: st.SearchStrategy[Shape]) -> Shape:
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, unique=True))
    shapes = {name: draw(inner) for name in names}
    optional = draw(st.sets(st.sampled_from(names)))
    schemas: JsonObject = {name: shape.schema for name, shape in shapes.items()}
    values = st.fixed_dictionaries(
        {name: shape.values for name, shape in shapes.items() if name not in optional},
        optional={name: shape.values for name, shape in shapes.items() if name in optional},
    )
    required: list[JsonValue] = [name for name in names if name not in optional]
    if draw(st.booleans()):
        return Shape({**closed(schemas), "required": required}, values.map(dict))
    composed: JsonObject = {
        "type": "object",
        "allOf": [{"properties": schemas}, {"required": required}],
        "unevaluatedProperties": False,
    }
    return Shape(composed, values.map(dict))


_SHAPES = st.recursive(_LEAVES, lambda inner: _nullable(inner) | _array(inner) | _object(inner), max_leaves=6)


@st.composite
def contracts_with_values(draw: st.DrawFn, kind: Kind) -> tuple[JsonObject, JsonValue]:
    """Return a contract and a value that keeps to it. One part is described by reference."""
    shape = draw(_object(_SHAPES))
    part = draw(_SHAPES)
    schema = contract(
        closed({"direct": shape.schema, "by_reference": {"$ref": "#/$defs/part"}}, **{"$defs": {"part": part.schema}})
    )
    if kind is Kind.DOCUMENT:
        schema["x-open-because"] = "The strategy says so."
        schema["additionalProperties"] = {"type": "string", "maxLength": 20}
    return schema, {"direct": draw(shape.values), "by_reference": draw(part.values)}
