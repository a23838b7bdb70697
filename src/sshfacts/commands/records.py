"""Shapes of values with parts: lists, maps, records and alternatives. See `shapes`."""

# ruff: noqa: D102  What `read` and `schema` do is said once, at `Shape`.

import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from sshfacts.commands.findings import Findings, Unreadable, nearest, suggestion
from sshfacts.commands.shapes import Shape, T, T_co, wrong_type
from sshfacts.commands.source import Node
from sshfacts.values import JsonObject, JsonValue

S = TypeVar("S")


class ListOf(Shape[tuple[T_co, ...]]):
    """A list whose items have one shape and stand there once."""

    def __init__(self, item: Shape[T_co], least: int, most: int, *, unique: bool = True) -> None:
        self._item, self._least, self._most, self._unique = item, least, most, unique

    def read(self, node: Node, findings: Findings) -> tuple[T_co, ...]:
        if not isinstance(node.value, list):
            raise wrong_type(node, "a list", findings)
        if not self._least <= len(node.value) <= self._most:
            what = f"{node.label} has {len(node.value)} entries"
            findings.add("field.length", node.place, what, f"use {self._least} to {self._most} entries")
        items: list[T_co] = []
        complete = True
        for index, value in enumerate(node.value):
            child = node.child(str(index), value)
            try:
                item = self._item.read(child, findings)
            except Unreadable:
                complete = False
                continue
            if self._unique and item in items:
                findings.add("field.repeated", child.place, f"{child.label} stands there already", "remove it")
            items.append(item)
        if not complete:
            raise Unreadable(node.label)
        return tuple(items)

    def schema(self) -> JsonObject:
        schema: JsonObject = {
            "type": "array",
            "minItems": self._least,
            "maxItems": self._most,
            "items": self._item.schema(),
        }
        if self._unique:
            schema["uniqueItems"] = True
        return schema


class MapOf(Shape[dict[str, T]]):
    """An object whose keys are names that the author chooses.

    Args:
        key: anchored pattern of the keys.
        form: the pattern in words, for the message.
    """

    def __init__(self, key: str, form: str, value: Shape[T], most: int, least: int = 0) -> None:
        self._key, self._form, self._value, self._most, self._least = key, form, value, most, least
        self._compiled = re.compile(key)

    def read(self, node: Node, findings: Findings) -> dict[str, T]:
        if not isinstance(node.value, dict):
            raise wrong_type(node, "an object", findings)
        if not self._least <= len(node.value) <= self._most:
            what = f"{node.label} has {len(node.value)} entries"
            findings.add("field.length", node.place, what, f"use {self._least} to {self._most} entries")
        members: dict[str, T] = {}
        complete = True
        for key, value in node.value.items():
            child = node.child(key, value)
            if not self._compiled.fullmatch(key):
                findings.add(
                    "field.pattern",
                    child.key_place,
                    f"the name {key[:64]!r} does not have the form due here",
                    f"use {self._form}",
                )
            try:
                members[key] = self._value.read(child, findings)
            except Unreadable:
                complete = False
        if not complete:
            raise Unreadable(node.label)
        return members

    def schema(self) -> JsonObject:
        return {
            "type": "object",
            "propertyNames": {"pattern": self._key},
            "minProperties": self._least,
            "maxProperties": self._most,
            "additionalProperties": self._value.schema(),
        }


@dataclass(frozen=True, slots=True)
class Field:
    """One key of a record: its shape, its meaning in one sentence, and whether it must be there."""

    shape: Shape[object]
    meaning: str
    must: bool = False


class Record(Shape[T], Generic[T]):
    """An object with known keys.

    Args:
        build: the dataclass that the keys are the fields of. What is absent from the file keeps the
            default of the class, so a default is written down once.
        named: the field of the class that takes the key under which the record itself stands.
    """

    def __init__(self, build: Callable[..., T], members: Mapping[str, Field], *, named: str | None = None) -> None:
        self._build = build
        self._named = named
        self.members = members

    def read(self, node: Node, findings: Findings) -> T:
        if not isinstance(node.value, dict):
            raise wrong_type(node, "an object", findings)
        before = len(findings)
        values = self._values(node, node.value, findings)
        if self._named is not None:
            values[self._named] = node.pointer[-1]
        try:
            return self._build(**values)
        except ValueError:
            if len(findings) == before:
                raise  # The shapes accept what the class refuses, which is a fault of this program.
            raise Unreadable(node.label) from None

    def _values(self, node: Node, given: JsonObject, findings: Findings) -> dict[str, object]:
        values: dict[str, object] = {}
        misspelt: set[str | None] = set()
        complete = True
        for key, value in given.items():
            child = node.child(key, value)
            member = self.members.get(key)
            if member is None:
                misspelt.add(self._unknown(key, child, findings))
                continue
            try:
                values[key] = member.shape.read(child, findings)
            except Unreadable:
                complete = False
        for key, member in self.members.items():
            if member.must and key not in given:
                complete = False
                if key not in misspelt:  # one cause, one finding
                    fix = f"add it: {member.meaning}"
                    findings.add("field.missing", node.key_place, f"{node.label} has no {key!r}", fix)
        if not complete:
            raise Unreadable(node.label)
        return values

    def _unknown(self, key: str, child: Node, findings: Findings) -> str | None:
        """Add the finding; return the key that was probably meant."""
        fix = suggestion(key, self.members, f"known here: {', '.join(self.members)}")
        findings.add("field.unknown", child.key_place, f"{child.label!r} is no field", fix)
        return nearest(key, self.members)

    def schema(self) -> JsonObject:
        defaults = self._defaults()
        properties: JsonObject = {}
        for key, member in self.members.items():
            shown: JsonObject = {"description": member.meaning, **member.shape.schema()}
            if key in defaults:
                shown["default"] = defaults[key]
            properties[key] = shown
        required: list[JsonValue] = [key for key, member in self.members.items() if member.must]
        return {"type": "object", "additionalProperties": False, "required": required, "properties": properties}

    def _defaults(self) -> JsonObject:
        """Return the defaults that a file could spell out: words, numbers and flags."""
        if not is_dataclass(self._build):
            return {}
        plain = {field.name: field.default for field in fields(self._build) if field.default is not MISSING}
        return {
            name: str(value) if isinstance(value, StrEnum) else value
            for name, value in plain.items()
            if isinstance(value, str | int)
        }


class Tagged(Shape[T], Generic[T]):
    """Either one of some words, or an object with exactly one key that says how its value is meant."""

    def __init__(self, words: Mapping[str, T], members: Mapping[str, tuple[Shape[T], str]]) -> None:
        """Take what each word stands for, and the shape and meaning of each key."""
        self._words, self.members = words, members

    def read(self, node: Node, findings: Findings) -> T:
        value = node.value
        names = [*self._words, *self.members]
        if isinstance(value, str) and value in self._words:
            return self._words[value]
        if isinstance(value, dict) and len(value) == 1:
            [(key, member)] = value.items()
            child = node.child(key, member)
            if key in self.members:
                return self.members[key][0].read(child, findings)
            fix = suggestion(key, self.members, f"known here: {', '.join(self.members)}")
            raise findings.stop("field.unknown", child.key_place, f"{child.label!r} is no field", fix)
        if isinstance(value, str):
            fix = suggestion(value, names, f"known here: {', '.join(names)}")
            raise findings.stop("field.choice", node.place, f"{node.label} is none of {', '.join(self._words)}", fix)
        words = " or ".join(self._words) or "no word"
        raise wrong_type(node, f"{words}, or an object with exactly one of: {', '.join(self.members)}", findings)

    def schema(self) -> JsonObject:
        alternatives: list[JsonValue] = [{"enum": list(self._words)}] if self._words else []
        for key, (shape, meaning) in self.members.items():
            alternatives.append(
                {
                    "type": "object",
                    "additionalProperties": False,
                    "required": [key],
                    "properties": {key: {"description": meaning, **shape.schema()}},
                }
            )
        return {"anyOf": alternatives}


class Built(Shape[T], Generic[T]):
    """Another shape's value, turned into the type that the service works with."""

    def __init__(self, build: Callable[[S], T], shape: Shape[S]) -> None:
        # Kept as one function, so that the type of the value in between stays hidden.
        def read(node: Node, findings: Findings) -> T:
            return build(shape.read(node, findings))

        self._read: Callable[[Node, Findings], T] = read
        self._schema = shape.schema

    def read(self, node: Node, findings: Findings) -> T:
        return self._read(node, findings)

    def schema(self) -> JsonObject:
        return self._schema()


class AsWritten(Shape[JsonObject]):
    """An object that another shape checks, and that is kept as the JSON that stands in the file."""

    def __init__(self, shape: Record[JsonObject]) -> None:
        self._shape = shape

    def read(self, node: Node, findings: Findings) -> JsonObject:
        self._shape.read(node, findings)
        return node.value if isinstance(node.value, dict) else {}

    def schema(self) -> JsonObject:
        return self._shape.schema()
