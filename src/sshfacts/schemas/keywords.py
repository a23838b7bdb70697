"""The closed list of JSON Schema keywords that a contract may use, with the shape of each one's value."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from types import MappingProxyType

from sshfacts.values import JsonValue

DIALECT = "https://json-schema.org/draft/2020-12/schema"
"""The one dialect, as `$schema` names it."""

TYPES = frozenset({"null", "boolean", "integer", "number", "string", "array", "object"})
"""The types of JSON Schema."""

SUBSCHEMA = frozenset({"additionalProperties", "else", "if", "items", "not", "propertyNames", "then"})
"""Keywords whose value is one schema."""
SUBSCHEMA_LIST = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
"""Keywords whose value is a list of schemas."""
SUBSCHEMA_MAP = frozenset({"$defs", "properties"})
"""Keywords whose value is an object of schemas by name."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a keyword's value must look like."""

    accepts: Callable[[JsonValue], bool]
    words: str
    """The same in words, as it reads after "must be"."""


def is_number(value: JsonValue) -> bool:
    """Tell whether this is a finite JSON number. Python counts `True` as an `int`, and JSON does not."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value)


def _is_count(value: JsonValue) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_names(value: JsonValue) -> bool:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        return False
    return len(set(map(str, value))) == len(value)


def _is_types(value: JsonValue) -> bool:
    names: JsonValue = value if isinstance(value, list) else [value]
    return isinstance(names, list) and bool(names) and _is_names(names) and all(name in TYPES for name in names)


def _is_choice(value: JsonValue) -> bool:
    return isinstance(value, list) and bool(value)


def _is_dependencies(value: JsonValue) -> bool:
    return isinstance(value, dict) and all(map(_is_names, value.values()))


def _is_divisor(value: JsonValue) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


_TEXT = Shape(lambda value: isinstance(value, str), "a text")
_REASON = Shape(lambda value: isinstance(value, str) and bool(value.strip()), "a text that gives the reason")
_FLAG = Shape(lambda value: isinstance(value, bool), "true or false")
_TRUE = Shape(lambda value: value is True, "true")
_FALSE = Shape(lambda value: value is False, "false")
_ANY = Shape(lambda _: True, "any value")
_LIST = Shape(lambda value: isinstance(value, list), "a list")
_COUNT = Shape(_is_count, "an integer from 0")
_NUMBER = Shape(is_number, "a number")
_NAMES = Shape(_is_names, "a list of different texts")

SHAPES: Mapping[str, Shape] = MappingProxyType(
    {
        # what describes
        "$schema": _TEXT,
        "$id": _TEXT,
        "$comment": _TEXT,
        "title": _TEXT,
        "description": _TEXT,
        "examples": _LIST,
        "default": _ANY,
        "deprecated": _FLAG,
        "x-open-because": _REASON,
        "x-untrusted-text": _TRUE,
        # what asserts
        "$ref": _TEXT,
        "type": Shape(_is_types, "one of " + ", ".join(sorted(TYPES)) + ", or a list of them"),
        "const": _ANY,
        "enum": Shape(_is_choice, "a list with at least one value"),
        "minLength": _COUNT,
        "maxLength": _COUNT,
        "pattern": _TEXT,
        "format": _TEXT,
        "minimum": _NUMBER,
        "maximum": _NUMBER,
        "exclusiveMinimum": _NUMBER,
        "exclusiveMaximum": _NUMBER,
        # jsonschema divides floats: 0.3 is no multiple of 0.1 there
        "multipleOf": Shape(_is_divisor, "an integer above 0"),
        "minItems": _COUNT,
        "maxItems": _COUNT,
        "uniqueItems": _FLAG,
        "minProperties": _COUNT,
        "maxProperties": _COUNT,
        "required": _NAMES,
        "dependentRequired": Shape(_is_dependencies, "an object of lists of different texts"),
        "unevaluatedProperties": _FALSE,
    }
)
"""Keywords whose value holds no schema."""

KEYWORDS = frozenset(SHAPES) | SUBSCHEMA | SUBSCHEMA_LIST | SUBSCHEMA_MAP
"""Every keyword of the profile."""
