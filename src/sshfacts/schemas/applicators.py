"""The keywords that hold other schemas, with compiled values: every schema inside is a validator already.

See `assertions` for why the stock ones are replaced.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from jsonschema.exceptions import ValidationError

from sshfacts.schemas.assertions import Errors, Keyword, Schema, Test, Validator, error
from sshfacts.values import JsonValue

MEMBERS = "properties"
"""The keyword that stands for four in a compiled schema."""
UNNAMED = "?"
"""Stands in an instance's path for a name that the contract does not know: it comes from the remote host."""


@dataclass(frozen=True, slots=True)
class Part:
    """The schema of one member or item."""

    accepts: Test
    """A leaf test, see `leaves`; where it is false the schema decides."""
    schema: Validator


@dataclass(frozen=True, slots=True)
class Members:
    """`properties`, `additionalProperties`, `unevaluatedProperties` and `required` of one schema, in one pass."""

    named: Mapping[str, Part]
    """The schema of each named member."""
    rest: Part | None
    """The schema of members without a name here; `None` for none."""
    closed_by: str | None
    """The keyword that refuses members outside `allowed`; `None` for an open object."""
    allowed: frozenset[str]
    required: frozenset[str]


def members(_: Validator, value: Members, instance: JsonValue, __: Schema) -> Iterator[ValidationError]:
    """Judge an object: refuse unknown members before looking into known ones."""
    if not isinstance(instance, dict):
        return
    if value.closed_by is not None and not instance.keys() <= value.allowed:
        yield error(value.closed_by, bound=False)
    for name in sorted(value.required - instance.keys()):
        yield error("required", bound=name)
    named, rest = value.named, value.rest
    for name, member in instance.items():
        part = named.get(name, rest)
        if part is not None and not part.accepts(member):
            for found in part.schema.iter_errors(member):
                found.path.appendleft(name if name in named else UNNAMED)
                yield found


def items(_: Validator, value: tuple[int, Part], instance: JsonValue, __: Schema) -> Iterator[ValidationError]:
    """`items`, from the first place that `prefixItems` does not describe."""
    if not isinstance(instance, list):
        return
    start, part = value
    for index in range(start, len(instance)):
        if not part.accepts(instance[index]):
            for found in part.schema.iter_errors(instance[index]):
                found.path.appendleft(index)
                yield found


def prefix_items(
    _: Validator, schemas: tuple[Validator, ...], instance: JsonValue, __: Schema
) -> Iterator[ValidationError]:
    """`prefixItems`."""
    if not isinstance(instance, list):
        return
    for index, (schema, item) in enumerate(zip(schemas, instance, strict=False)):
        for found in schema.iter_errors(item):
            found.path.appendleft(index)
            yield found


def property_names(_: Validator, schema: Validator, instance: JsonValue, __: Schema) -> Errors:
    """`propertyNames`."""
    if isinstance(instance, dict) and not all(map(schema.is_valid, instance)):
        return (error(),)
    return None


def dependent_required(_: Validator, value: Mapping[str, list[str]], instance: JsonValue, __: Schema) -> Errors:
    """`dependentRequired`."""
    if not isinstance(instance, dict):
        return None
    complete = all(name in instance for trigger, names in value.items() if trigger in instance for name in names)
    return None if complete else (error(),)


def all_of(_: Validator, schemas: tuple[Validator, ...], instance: JsonValue, __: Schema) -> Iterator[ValidationError]:
    """`allOf`, and `$ref` as a list of one."""
    for schema in schemas:
        yield from schema.iter_errors(instance)


def any_of(_: Validator, schemas: tuple[Validator, ...], instance: JsonValue, __: Schema) -> Errors:
    """`anyOf`."""
    return None if any(schema.is_valid(instance) for schema in schemas) else (error(),)


def one_of(_: Validator, schemas: tuple[Validator, ...], instance: JsonValue, __: Schema) -> Errors:
    """`oneOf`."""
    return None if sum(schema.is_valid(instance) for schema in schemas) == 1 else (error(),)


def not_(_: Validator, schema: Validator, instance: JsonValue, __: Schema) -> Errors:
    """`not`, and the boolean schema `false` as what everything breaks."""
    return (error(),) if schema.is_valid(instance) else None


@dataclass(frozen=True, slots=True)
class Condition:
    """`if`, `then` and `else` of one schema."""

    test: Validator
    then: Validator | None
    otherwise: Validator | None


def condition(_: Validator, value: Condition, instance: JsonValue, __: Schema) -> Errors:
    """Judge by `then` or `else`, whichever `if` chooses."""
    chosen = value.then if value.test.is_valid(instance) else value.otherwise
    return None if chosen is None else chosen.iter_errors(instance)


KEYWORDS: Mapping[str, Keyword] = {
    MEMBERS: members,
    "dependentRequired": dependent_required,
    "propertyNames": property_names,
    "prefixItems": prefix_items,
    "items": items,
    "$ref": all_of,
    "allOf": all_of,
    "anyOf": any_of,
    "oneOf": one_of,
    "if": condition,
    "not": not_,
}
"""Every keyword of this module."""
