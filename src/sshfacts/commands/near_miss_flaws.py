"""What can be wrong with one part of a value: each flaw breaks a rule that holds there in any case."""

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import cycle, islice
from math import inf, nextafter
from types import MappingProxyType
from typing import TypeAlias

from sshfacts.commands.near_miss_places import FRACTION, Place, listed_in, type_of
from sshfacts.commands.near_miss_texts import BROKEN, FOREIGN, HIDDEN, SENTENCES, foreign_to
from sshfacts.limits import KIB
from sshfacts.schemas.profile import Kind
from sshfacts.schemas.tree import Node
from sshfacts.values import JsonObject, JsonValue

Flaw: TypeAlias = tuple[str, JsonValue]
"""What is wrong, and the part that has it."""

UNNAMED = "near_miss"
"""A member that no contract names; `flaws` is told another one for a contract that does."""

_LONGEST_TEXT = 64 * KIB
_MOST_PARTS = 16 * KIB
"""A contract may allow more than any answer can hold; what goes over such a bound is not made."""

_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "array": "an array",
        "boolean": "a boolean",
        FRACTION: "a fraction",
        "integer": "an integer",
        "null": "null",
        "object": "an object",
        "string": "a text",
    }
)
_OF_TYPE: Mapping[str, Callable[[JsonValue], JsonValue]] = MappingProxyType(
    {
        "array": lambda value: [value],
        "boolean": lambda _: True,
        FRACTION: lambda _: 0.5,
        "integer": lambda _: 1,
        "null": lambda _: None,
        "object": lambda value: {"value": value},
        "string": lambda value: "" if isinstance(value, (dict, list)) else json.dumps(value),
    }
)
"""A value of each type, as near as may be to the one that it replaces."""


def flaws(place: Place, kind: Kind, unnamed: str = UNNAMED) -> Iterator[Flaw]:
    """Yield the flawed forms of one part of a value; what holds one of them must be refused.

    Args:
        kind: of the contract; facts hold no hidden characters.
        unnamed: a member that stands nowhere in the contract.
    """
    kept = type_of(place.value)
    for name in sorted(_OF_TYPE.keys() - place.types):
        yield f"{_WORDS[name]} for {_WORDS[kept]}", _OF_TYPE[name](place.value)
    match place.value:
        case dict():
            yield from _of_object(place.value, place.rules, unnamed)
        case list():
            yield from _of_array(place.value, place.rules)
        case str():
            yield from _of_text(place.value, place.rules)
            if kind is Kind.FACTS:
                yield from _of_fact(place.value, place.rules)
        case bool():
            yield from _unlisted(place.rules, not place.value)
        case int() | float():
            yield from _of_number(place.value, place.rules)


def _of_object(value: JsonObject, rules: tuple[Node, ...], unnamed: str) -> Iterator[Flaw]:
    named = frozenset[str]().union(*(rule.members for rule in rules))
    sample = next(iter(value.values()), "")
    for name in sorted(frozenset[str]().union(*(rule.required for rule in rules)) & value.keys()):
        yield "a required property missing", {key: member for key, member in value.items() if key != name}
    if any(_is_closed(rule) for rule in rules):
        yield "one more property", {**value, unnamed: sample}
        for name in islice(value, 1):
            for flaw, character in HIDDEN.items():
                if name + character not in named:
                    yield f"{flaw} in one more name", {**value, name + character: sample}
    for rule in rules:
        most = rule.keywords.get("maxProperties")
        if isinstance(most, int) and most <= _MOST_PARTS:
            yield "too many properties", {**value, **{f"{unnamed}{index}": sample for index in range(most + 1)}}


def _is_closed(rule: Node) -> bool:
    rest = rule.one.get("additionalProperties")
    return rule.has("unevaluatedProperties") or (rest is not None and rest.boolean is False)


def _of_array(value: list[JsonValue], rules: tuple[Node, ...]) -> Iterator[Flaw]:
    for rule in rules:
        least, most = rule.keywords.get("minItems"), rule.keywords.get("maxItems")
        if isinstance(most, int) and most <= _MOST_PARTS:
            yield "too many items", list(islice(cycle(value or [None]), most + 1))
        if isinstance(least, int) and least > 0:
            yield "too few items", value[: least - 1]
        if rule.keywords.get("uniqueItems") is True and value:
            yield "an item twice", [*value, value[0]]


def _of_number(value: float, rules: tuple[Node, ...]) -> Iterator[Flaw]:
    for rule in rules:
        for keyword, flaw, beyond in _BOUNDS:
            bound = rule.keywords.get(keyword)
            if isinstance(bound, (int, float)):
                yield flaw, beyond(bound)
        divisor = rule.keywords.get("multipleOf")
        if isinstance(divisor, int) and (value + 1) % divisor:
            yield "a number that is no multiple", value + 1
    yield from _unlisted(rules, *(value + step for step in range(1, 4)))


def _under(bound: float) -> float:
    return bound - 1 if isinstance(bound, int) else nextafter(bound, -inf)


def _over(bound: float) -> float:
    return bound + 1 if isinstance(bound, int) else nextafter(bound, inf)


_BOUNDS: tuple[tuple[str, str, Callable[[float], float]], ...] = (
    ("minimum", "a number under its bound", _under),
    ("maximum", "a number over its bound", _over),
    ("exclusiveMinimum", "a number on its open bound", lambda bound: bound),
    ("exclusiveMaximum", "a number on its open bound", lambda bound: bound),
)


def _of_text(value: str, rules: tuple[Node, ...]) -> Iterator[Flaw]:
    for rule in rules:
        least, most = rule.keywords.get("minLength"), rule.keywords.get("maxLength")
        if isinstance(most, int) and most <= _LONGEST_TEXT:
            yield "a text that is too long", (value or "x").ljust(most + 1, value[-1:] or "x")
        if isinstance(least, int) and least > 0:
            yield "a text that is too short", value[: least - 1]
        if "pattern" in rule.keywords:
            for flaw, character in foreign_to(str(rule.keywords["pattern"])):
                yield flaw, value + character
        if "format" in rule.keywords:
            name = str(rule.keywords["format"])
            yield "a final newline", f"{value}\n"
            yield from ((f"{name} with {flaw}", text) for flaw, text in BROKEN[name].items())
    yield from _unlisted(rules, f"{value}x", value.swapcase(), *(value + character for character in FOREIGN.values()))


def _of_fact(value: str, rules: tuple[Node, ...]) -> Iterator[Flaw]:
    middle = len(value) // 2
    for flaw, character in HIDDEN.items():
        yield flaw, value[:middle] + character + value[middle:]
    if not any(rule.has("x-untrusted-text") for rule in rules):
        yield from (("a sentence", sentence) for sentence in SENTENCES)


def _unlisted(rules: tuple[Node, ...], *values: JsonValue) -> Iterator[Flaw]:
    for rule in rules:
        listed = listed_in(rule)
        if listed is not None:
            yield from (("a value that is not listed", value) for value in values if value not in listed)
