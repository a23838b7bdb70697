"""Shapes: typed values, findings, and a JSON Schema that says the same."""

from dataclasses import dataclass
from enum import StrEnum

import jsonschema
import pytest

from sshfacts.commands.findings import Findings, Unreadable
from sshfacts.commands.records import Built, Field, ListOf, MapOf, Record, Tagged
from sshfacts.commands.shapes import Anything, Choice, Flag, FormatVersion, Integer, Quantity, Shape, Text
from sshfacts.commands.yaml_source import parse_yaml


class Colour(StrEnum):
    RED = "red"
    GREEN = "green"


@dataclass(frozen=True, slots=True)
class Point:
    x: int
    label: str = "none"
    colour: Colour = Colour.RED
    name: str = ""


POINT = Record(
    Point,
    {
        "x": Field(Integer(0, 9), "Where.", must=True),
        "label": Field(Text(5, "^[a-z]+$", "small letters"), "What."),
        "colour": Field(Choice(Colour), "Which."),
    },
)
SIZE = Quantity({"KiB": 1024, "MiB": 1024 * 1024}, 1, 10_240, bare=True)
DAYS = Quantity({"d": 1}, 1, 100, bare=False)
EITHER = Tagged[object]({"plain": None}, {"point": (POINT, "A point."), "days": (DAYS, "Days.")})


def read(shape: Shape[object], text: str) -> object:
    findings = Findings()
    value = shape.read(parse_yaml(text, "f", Findings()).root, findings)
    assert findings.sorted() == ()
    return value


def messages(shape: Shape[object], text: str) -> list[str]:
    findings = Findings()
    try:
        shape.read(parse_yaml(text, "f", Findings()).root, findings)
    except Unreadable:
        assert findings.sorted() != ()
    return [f"{one.line}:{one.column}: {one.code}: {one.what} | {one.fix}" for one in findings.sorted()]


GOOD: list[tuple[Shape[object], str, object]] = [
    (Text(5), "hello", "hello"),
    (Text(5, "^[a-z]+$", "letters"), "abc", "abc"),
    (Integer(0, 9), "9", 9),
    (Flag(), "true", True),
    (Choice(Colour), "green", Colour.GREEN),
    (Choice(Colour, frozenset({Colour.RED})), "red", Colour.RED),
    (FormatVersion(), "1", 1),
    (SIZE, "8KiB", 8192),
    (SIZE, "8", 8),
    (DAYS, "30d", 30),
    (Anything(), "[1, {a: null}]", [1, {"a": None}]),
    (ListOf(Integer(0, 9), 1, 3), "[1, 2]", (1, 2)),
    (ListOf(Integer(0, 9), 0, 3, unique=False), "[1, 1]", (1, 1)),
    (MapOf("^[a-z]$", "one letter", Integer(0, 9), 2), "{a: 1, b: 2}", {"a": 1, "b": 2}),
    (POINT, "{x: 1}", Point(1)),
    (POINT, "{x: 1, label: abc, colour: green}", Point(1, "abc", Colour.GREEN)),
    (Built(frozenset, ListOf(Choice(Colour), 0, 2)), "[red]", frozenset({Colour.RED})),
    (EITHER, "plain", None),
    (EITHER, "{days: 3d}", 3),
    (EITHER, "{point: {x: 2}}", Point(2)),
]

BAD: list[tuple[Shape[object], str, list[str]]] = [
    (Text(5), "1", ["1:1: field.type: the file is a number | write a text"]),
    (Text(5), "''", ["1:1: field.length: the file has 0 characters | use 1 to 5 characters"]),
    (Text(5), "abcdef", ["1:1: field.length: the file has 6 characters | use 1 to 5 characters"]),
    (
        Text(5, "^[a-z]+$", "small letters"),
        '"a\\n"',
        ["1:1: field.pattern: the file does not have the form due here | write small letters"],
    ),
    (Integer(0, 9), "true", ["1:1: field.type: the file is true or false | write a whole number"]),
    (Integer(0, 9), "1.0", ["1:1: field.type: the file is a number | write a whole number"]),
    (Integer(0, 9), "10", ["1:1: field.range: the file is 10 | use 0 to 9"]),
    (Flag(), "1", ["1:1: field.type: the file is a number | write true or false"]),
    (Flag(), "null", ["1:1: field.type: the file is null | write true or false"]),
    (Choice(Colour), "gren", ["1:1: field.choice: the file is none of red, green | did you mean 'green'?"]),
    (Choice(Colour), "[]", ["1:1: field.type: the file is a list | write one of red, green"]),
    (
        Choice(Colour, frozenset({Colour.RED})),
        "green",
        ["1:1: field.choice: the file is none of red | write one of: red"],
    ),
    (FormatVersion(), "2", ["1:1: field.choice: the file is not 1 | write 1, or use the release that reads the other"]),
    (
        FormatVersion(),
        "true",
        ["1:1: field.choice: the file is not 1 | write 1, or use the release that reads the other"],
    ),
    (SIZE, "0", ["1:1: field.range: the file is 0 | use 1 to 10240"]),
    (SIZE, "1MiB", ["1:1: field.range: the file is 1048576 | use 1 to 10240"]),
    (
        SIZE,
        "8KB",
        ["1:1: field.type: the file is a text | write a whole number and KiB or a whole number and MiB, such as 8KiB"],
    ),
    (DAYS, "30", ["1:1: field.type: the file is a number | write a whole number and d, such as 8d"]),
    (
        ListOf(Integer(0, 9), 1, 2),
        "[1, 1, x]",
        [
            "1:1: field.length: the file has 3 entries | use 1 to 2 entries",
            "1:5: field.repeated: 1 stands there already | remove it",
            "1:8: field.type: 2 is a text | write a whole number",
        ],
    ),
    (ListOf(Integer(0, 9), 1, 2), "{}", ["1:1: field.type: the file is an object | write a list"]),
    (
        MapOf("^[a-z]$", "one letter", Integer(0, 9), 1),
        "{a: x, BB: 1}",
        [
            "1:1: field.length: the file has 2 entries | use 0 to 1 entries",
            "1:5: field.type: a is a text | write a whole number",
            "1:8: field.pattern: the name 'BB' does not have the form due here | use one letter",
        ],
    ),
    (MapOf("^[a-z]$", "one letter", Integer(0, 9), 1), "[]", ["1:1: field.type: the file is a list | write an object"]),
    (POINT, "x", ["1:1: field.type: the file is a text | write an object"]),
    (POINT, "{}", ["1:1: field.missing: the file has no 'x' | add it: Where."]),
    (POINT, "{xx: 1}", ["1:2: field.unknown: 'xx' is no field | did you mean 'x'?"]),
    (POINT, "{x: 1, labl: abc}", ["1:8: field.unknown: 'labl' is no field | did you mean 'label'?"]),
    (POINT, "{x: 1, zzz: abc}", ["1:8: field.unknown: 'zzz' is no field | known here: x, label, colour"]),
    (EITHER, "plan", ["1:1: field.choice: the file is none of plain | did you mean 'plain'?"]),
    (EITHER, "{dayz: 1d}", ["1:2: field.unknown: 'dayz' is no field | did you mean 'days'?"]),
    (
        EITHER,
        "{}",
        ["1:1: field.type: the file is an object | write plain, or an object with exactly one of: point, days"],
    ),
]


@pytest.mark.parametrize(("shape", "text", "value"), GOOD)
def test_returns_the_typed_value(shape: Shape[object], text: str, value: object):
    found = read(shape, text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(("shape", "text", "found"), BAD)
def test_says_what_is_wrong(shape: Shape[object], text: str, found: list[str]):
    assert messages(shape, text) == found


@pytest.mark.parametrize(("shape", "text", "value"), GOOD)
def test_the_schema_accepts_what_is_read(shape: Shape[object], text: str, value: object):  # noqa: ARG001
    jsonschema.Draft202012Validator.check_schema(shape.schema())
    jsonschema.Draft202012Validator(shape.schema()).validate(parse_yaml(text, "f", Findings()).value)


# What JSON Schema cannot or need not say: 1.0 is an integer there, and bounds of a number with a unit.
NOT_IN_SCHEMA = {"1.0", "1MiB", '"a\\n"'}


@pytest.mark.parametrize(("shape", "text", "found"), [one for one in BAD if one[1] not in NOT_IN_SCHEMA])
def test_the_schema_refuses_what_is_refused(shape: Shape[object], text: str, found: list[str]):  # noqa: ARG001
    value = parse_yaml(text, "f", Findings()).value
    assert not jsonschema.Draft202012Validator(shape.schema()).is_valid(value)


def test_a_record_can_take_its_own_key():
    named = MapOf("^[a-z]+$", "letters", Record(Point, POINT.members, named="name"), 5)
    assert read(named, "{here: {x: 1}}") == {"here": Point(1, name="here")}


def test_the_schema_shows_meaning_and_default():
    properties = POINT.schema()["properties"]
    assert properties["x"] == {"description": "Where.", "type": "integer", "minimum": 0, "maximum": 9}
    assert properties["colour"] == {"description": "Which.", "enum": ["red", "green"], "default": "red"}
