r"""The keywords of jsonschema's validator class, with compiled values in place of the ones from the file.

jsonschema drives the walk and raises the errors; what stands here is how one keyword judges one value. The stock
functions are replaced for three measured reasons (jsonschema 4.26):

* Meaning: `pattern` uses Python's `re.search`, where `^a$` accepts "a\n" and `(a+)+` is exponential; `uniqueItems`
  takes `[[1], [true], [1]]` for unique and needs the square of the items; unknown formats pass.
* Time: the stock `properties` makes a new validator for each member of each value, 64 µs for an object of six members.
* Texts: the stock messages quote the value. Here an error carries the keyword and its bound, never the value.
"""

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from math import isfinite
from typing import Protocol, TypeAlias

from jsonschema.exceptions import ValidationError

from sshfacts.schemas.patterns import Pattern
from sshfacts.values import JsonValue


class Validator(Protocol):
    """What is used of a jsonschema validator."""

    def iter_errors(self, instance: JsonValue) -> Iterator[ValidationError]:
        """Yield what is wrong with `instance`, lazily."""

    def is_valid(self, instance: JsonValue) -> bool:
        """Tell whether nothing is wrong with `instance`."""


Errors: TypeAlias = Iterable[ValidationError] | None
Schema: TypeAlias = Mapping[str, object]
Test: TypeAlias = Callable[[JsonValue], bool]
Keyword: TypeAlias = Callable[..., Errors]
"""Called with the validator, the compiled value, the instance and the compiled schema."""

_FAILED = "refused"


def error(keyword: str | None = None, *, bound: object = None) -> ValidationError:
    """Return an error without any text of the value; jsonschema fills in the keyword if it is not given."""
    if keyword is None:
        return ValidationError(_FAILED)
    return ValidationError(_FAILED, validator=keyword, validator_value=bound)


# -- types ------------------------------------------------------------------------------------------------------------


def is_number(value: JsonValue) -> bool:
    """JSON has neither NaN nor infinity, and `True` is no number."""
    return isfinite(value) if isinstance(value, float) else is_exact_integer(value)


def is_integer(value: JsonValue) -> bool:
    """As the standard has it: 1.0 is an integer."""
    return value.is_integer() if isinstance(value, float) else is_exact_integer(value)


def is_exact_integer(value: JsonValue) -> bool:
    """An integer as Python knows it, for what is printed into a command: 1.0 would be printed as 1.0."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_string(value: JsonValue) -> bool:
    """A text."""
    return isinstance(value, str)


TYPES: Mapping[str, Test] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": is_integer,
    "number": is_number,
    "string": is_string,
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}
"""The test of each type."""


def false(_: Validator, __: None, ___: JsonValue, ____: Schema) -> Errors:
    """The boolean schema `false`, as a keyword that refuses everything."""
    return (error(),)


def type_(_: Validator, tests: tuple[Test, ...], instance: JsonValue, __: Schema) -> Errors:
    """`type`: compiled to one test for each name."""
    for test in tests:
        if test(instance):
            return None
    return (error(),)


# -- equality ---------------------------------------------------------------------------------------------------------


def identity(value: JsonValue) -> object:
    """Return a hashable stand-in: equal for values that JSON Schema calls equal, and only for them."""
    if isinstance(value, (str, type(None))):
        return value
    if isinstance(value, bool):
        return (bool, value)
    if isinstance(value, list):
        return (list, *map(identity, value))
    if isinstance(value, dict):
        return (dict, frozenset((name, identity(member)) for name, member in value.items()))
    return value  # 1 and 1.0 are equal and hash alike, as JSON Schema wants it


def enum(_: Validator, identities: frozenset[object], instance: JsonValue, __: Schema) -> Errors:
    """`enum` and `const`: compiled to the set of what is accepted."""
    return None if identity(instance) in identities else (error(),)


def unique_items(_: Validator, wanted: object, instance: JsonValue, __: Schema) -> Errors:
    """`uniqueItems`, by hashing."""
    if not wanted or not isinstance(instance, list) or len(set(map(identity, instance))) == len(instance):
        return None
    return (error(),)


# -- bounds -----------------------------------------------------------------------------------------------------------


def number_of(value: JsonValue) -> float | None:
    """Return a number as it is."""
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def length_of(value: JsonValue) -> float | None:
    """Return the code points of a text."""
    return len(value) if isinstance(value, str) else None


def items_of(value: JsonValue) -> float | None:
    """Return the number of items of an array."""
    return len(value) if isinstance(value, list) else None


def members_of(value: JsonValue) -> float | None:
    """Return the number of members of an object."""
    return len(value) if isinstance(value, dict) else None


def bound(measure: Callable[[JsonValue], float | None], breaks: Callable[[float, float], bool]) -> Keyword:
    """Return the keyword that refuses a value whose measure breaks the bound; a value without one passes."""

    def judge(_: Validator, limit: float, instance: JsonValue, __: Schema) -> Errors:
        measured = measure(instance)
        return (error(),) if measured is not None and breaks(measured, limit) else None

    return judge


# -- texts ------------------------------------------------------------------------------------------------------------


def pattern(_: Validator, compiled: Pattern, instance: JsonValue, __: Schema) -> Errors:
    """`pattern`, on RE2."""
    return None if not isinstance(instance, str) or compiled.accepts(instance) else (error(),)


def format_(_: Validator, holds: Callable[[str], bool], instance: JsonValue, __: Schema) -> Errors:
    """`format`, compiled to its test."""
    return None if not isinstance(instance, str) or holds(instance) else (error(),)


KEYWORDS: Mapping[str, Keyword] = {
    "false": false,
    "type": type_,
    "const": enum,
    "enum": enum,
    "minLength": bound(length_of, operator.lt),
    "maxLength": bound(length_of, operator.gt),
    "format": format_,
    "pattern": pattern,
    "minimum": bound(number_of, operator.lt),
    "maximum": bound(number_of, operator.gt),
    "exclusiveMinimum": bound(number_of, operator.le),
    "exclusiveMaximum": bound(number_of, operator.ge),
    "multipleOf": bound(number_of, operator.mod),
    "minItems": bound(items_of, operator.lt),
    "maxItems": bound(items_of, operator.gt),
    "uniqueItems": unique_items,
    "minProperties": bound(members_of, operator.lt),
    "maxProperties": bound(members_of, operator.gt),
}
"""Every keyword of this module."""
