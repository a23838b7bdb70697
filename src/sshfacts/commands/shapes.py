"""Shapes of single values: one definition reads a value, says what is wrong, and is its JSON Schema.

A shape's `read` returns the typed value. What is merely out of bounds is added to the findings and
still returned, so that one run shows as much as it can; `Unreadable` is raised only for a value
that has the wrong type, of which nothing can be made.
"""

# ruff: noqa: D102  What `read` and `schema` do is said once, at `Shape`.

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from enum import StrEnum
from typing import Generic, TypeVar

from sshfacts.commands.findings import Findings, suggestion
from sshfacts.commands.source import Node
from sshfacts.values import JsonObject, JsonValue

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
WordT = TypeVar("WordT", bound=StrEnum)


class Shape(ABC, Generic[T_co]):
    """What a value must look like."""

    @abstractmethod
    def read(self, node: Node, findings: Findings) -> T_co:
        """Return the typed value and add what is wrong with it.

        Raises:
            Unreadable: the value has the wrong type; the findings say so.
        """

    @abstractmethod
    def schema(self) -> JsonObject:
        """Return the JSON Schema (draft 2020-12) that accepts what `read` accepts."""


class Text(Shape[str]):
    """A text of bounded length, and of a form when a pattern is given.

    Args:
        most: code points at most.
        pattern: anchored regular expression that means the same in Python and in ECMA 262.
        form: the pattern in words, for the message.
    """

    def __init__(self, most: int, pattern: str | None = None, form: str = "", least: int = 1) -> None:
        self._most, self._least = most, least
        self._pattern, self._form = pattern, form
        self._compiled = re.compile(pattern) if pattern else None

    def read(self, node: Node, findings: Findings) -> str:
        text = node.value
        if not isinstance(text, str):
            raise wrong_type(node, "a text", findings)
        if not self._least <= len(text) <= self._most:
            what = f"{node.label} has {len(text)} characters"
            findings.add("field.length", node.place, what, f"use {self._least} to {self._most} characters")
        elif self._compiled and not self._compiled.fullmatch(text):
            findings.add(
                "field.pattern", node.place, f"{node.label} does not have the form due here", f"write {self._form}"
            )
        return text

    def schema(self) -> JsonObject:
        schema: JsonObject = {"type": "string", "minLength": self._least, "maxLength": self._most}
        if self._pattern:
            schema["pattern"] = self._pattern
        return schema


class Integer(Shape[int]):
    """A whole number with bounds."""

    def __init__(self, least: int, most: int) -> None:
        self._least, self._most = least, most

    def read(self, node: Node, findings: Findings) -> int:
        number = node.value
        if not isinstance(number, int) or isinstance(number, bool):
            raise wrong_type(node, "a whole number", findings)
        return within(number, self._least, self._most, node, findings)

    def schema(self) -> JsonObject:
        return {"type": "integer", "minimum": self._least, "maximum": self._most}


class Flag(Shape[bool]):
    """True or false."""

    def read(self, node: Node, findings: Findings) -> bool:
        if not isinstance(node.value, bool):
            raise wrong_type(node, "true or false", findings)
        return node.value

    def schema(self) -> JsonObject:
        return {"type": "boolean"}


class Choice(Shape[WordT]):
    """One word of a closed list.

    Args:
        words: the enumeration; the file holds its values.
        only: the members that may stand here, when not all of them may.
    """

    def __init__(self, words: type[WordT], only: frozenset[WordT] | None = None) -> None:
        self._members = [word for word in words if only is None or word in only]

    def read(self, node: Node, findings: Findings) -> WordT:
        word = node.value
        known = [str(member) for member in self._members]
        if not isinstance(word, str):
            raise wrong_type(node, f"one of {', '.join(known)}", findings)
        if word not in known:
            fix = suggestion(word, known, f"write one of: {', '.join(known)}")
            raise findings.stop("field.choice", node.place, f"{node.label} is none of {', '.join(known)}", fix)
        return self._members[known.index(word)]

    def schema(self) -> JsonObject:
        return {"enum": [str(member) for member in self._members]}


class FormatVersion(Shape[int]):
    """The version of a file format. There is one so far, so another means a file for a newer service."""

    def read(self, node: Node, findings: Findings) -> int:
        if node.value != 1 or isinstance(node.value, bool):
            findings.add(
                "field.choice", node.place, f"{node.label} is not 1", "write 1, or use the release that reads the other"
            )
        return 1

    def schema(self) -> JsonObject:
        return {"const": 1}


class Quantity(Shape[int]):
    """A whole number with a unit, such as `8KiB` or `30d`; stands for the number in the smallest unit."""

    def __init__(self, units: Mapping[str, int], least: int, most: int, *, bare: bool) -> None:
        """Take the units, the bounds in the smallest unit, and whether a number without unit may stand."""
        self._units, self._least, self._most, self._bare = units, least, most, bare
        number = r"[1-9][0-9]{0,6}" if least else r"0|[1-9][0-9]{0,6}"
        self._pattern = rf"^({number})({'|'.join(units)})$"
        self._compiled = re.compile(rf"({number})({'|'.join(units)})")

    def read(self, node: Node, findings: Findings) -> int:
        value = node.value
        form = " or ".join(f"a whole number and {unit}" for unit in self._units)
        if self._bare and isinstance(value, int) and not isinstance(value, bool):
            return within(value, self._least, self._most, node, findings)
        match = self._compiled.fullmatch(value) if isinstance(value, str) else None
        if match is None:
            raise wrong_type(node, f"{form}, such as 8{next(iter(self._units))}", findings)
        return within(int(match[1]) * self._units[match[2]], self._least, self._most, node, findings)

    def schema(self) -> JsonObject:
        text: JsonObject = {"type": "string", "pattern": self._pattern}
        if not self._bare:
            return text
        return {"anyOf": [{"type": "integer", "minimum": self._least, "maximum": self._most}, text]}


class Anything(Shape[JsonValue]):
    """Any JSON value; something else judges it."""

    def read(self, node: Node, _findings: Findings) -> JsonValue:
        return node.value

    def schema(self) -> JsonObject:
        return {}


def within(number: int, least: int, most: int, node: Node, findings: Findings) -> int:
    """Return the number; add a finding when it is out of its bounds."""
    if not least <= number <= most:
        findings.add("field.range", node.place, f"{node.label} is {number}", f"use {least} to {most}")
    return number


_TYPE_NAMES: dict[type, str] = {
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "a text",
    list: "a list",
    dict: "an object",
}


def wrong_type(node: Node, expected: str, findings: Findings) -> Exception:
    """Add the finding that a value has the wrong type; return the exception to raise."""
    found = _TYPE_NAMES.get(type(node.value), "null")
    return findings.stop("field.type", node.place, f"{node.label} is {found}", f"write {expected}")
