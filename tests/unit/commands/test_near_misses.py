"""Near misses of a contract: all of them must be refused, and nothing is made that a contract could accept."""

from collections import Counter

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sshfacts.commands.near_miss_flaws import UNNAMED
from sshfacts.commands.near_miss_texts import BROKEN, FOREIGN, HIDDEN, SENTENCES, foreign_to
from sshfacts.commands.near_misses import NearMiss, near_misses
from sshfacts.schemas.contract import Contract
from sshfacts.schemas.profile import Kind
from sshfacts.schemas.text_formats import FORMATS
from sshfacts.values import JsonObject, JsonValue
from tests.support.contracts import closed, contract, of_one
from tests.support.generated import PATTERNS, contracts_with_values

ALL = 100_000
TYPES = {"null", "a boolean", "an integer", "a fraction", "a text", "an array", "an object"}
NUMBER: JsonObject = {"type": "integer", "minimum": 0, "maximum": 9}
UNDER_AND_OVER = {"a number under its bound", "a number over its bound"}


def made(schema: JsonObject, value: JsonValue, kind: Kind = Kind.DOCUMENT, most: int = ALL) -> list[NearMiss]:
    judged = Contract(schema, kind)
    assert judged.violation(value) is None
    return list(near_misses(judged, value, most))


def flaws_of(part: JsonObject, value: JsonValue, kind: Kind = Kind.DOCUMENT) -> set[str]:
    return {one.flaw for one in made(of_one(part), {"a": value}, kind) if one.place == "/a"}


@pytest.mark.parametrize("kind", [Kind.FACTS, Kind.DOCUMENT])
@given(data=st.data())
def test_every_near_miss_is_refused_and_a_second_implementation_agrees(kind: Kind, data: st.DataObject):
    schema, value = data.draw(contracts_with_values(kind))
    judged = Contract(schema, kind)
    second = jsonschema_rs.validator_for(schema, validate_formats=True)
    assert judged.violation(value) is None
    assert second.is_valid(value)

    for one in near_misses(judged, value, ALL):
        assert judged.violation(one.value) is not None, one
        # The standard has nothing against hidden characters.
        assert one.flaw in HIDDEN or not second.is_valid(one.value), one


@pytest.mark.parametrize(
    ("part", "value", "expected"),
    [
        ({"type": "string", "maxLength": 3}, "ab", {"a text that is too long"}),
        (
            {"type": "string", "maxLength": 3, "minLength": 1},
            "ab",
            {"a text that is too long", "a text that is too short"},
        ),
        (NUMBER, 5, UNDER_AND_OVER),
        ({**NUMBER, "multipleOf": 2}, 4, {*UNDER_AND_OVER, "a number that is no multiple"}),
        ({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 9}, 5, {"a number on its open bound"}),
        ({"enum": ["up", "down"]}, "up", {"a value that is not listed"}),
        ({"const": 1}, 1, {"a value that is not listed"}),
        ({"const": True}, True, {"a value that is not listed"}),
        ({"type": "boolean"}, True, set()),
        (
            {"type": "array", "minItems": 1, "maxItems": 3, "uniqueItems": True, "items": {"type": "boolean"}},
            [True],
            {"too many items", "too few items", "an item twice"},
        ),
        (
            closed({"b": {"type": "boolean"}}),
            {"b": True},
            {"a required property missing", "one more property", *(f"{flaw} in one more name" for flaw in HIDDEN)},
        ),
        (
            {"type": "string", "format": "ipv4"},
            "192.0.2.1",
            {"a final newline", *(f"ipv4 with {flaw}" for flaw in BROKEN["ipv4"])},
        ),
        ({"type": "string", "maxLength": 9, "pattern": "^[a-z]+$"}, "ab", {"a text that is too long", *FOREIGN}),
        ({"$ref": "#/$defs/number"}, 5, UNDER_AND_OVER),
        ({"type": "integer", "allOf": [{"minimum": 0}], "minimum": 0, "maximum": 9}, 5, UNDER_AND_OVER),
        ({"anyOf": [NUMBER, {"type": "null"}]}, 5, UNDER_AND_OVER),
        ({"oneOf": [{"type": "string", "maxLength": 3}, NUMBER]}, 5, UNDER_AND_OVER),
    ],
)
def test_every_rule_of_a_part_is_broken(part: JsonObject, value: JsonValue, expected: set[str]):
    schema = of_one(part, **{"$defs": {"number": NUMBER}})

    found = {one.flaw for one in made(schema, {"a": value}) if one.place == "/a"}

    assert {flaw for flaw in found if " for " not in flaw} == expected


@pytest.mark.parametrize(
    ("part", "value", "allowed"),
    [
        (NUMBER, 1, {"an integer"}),
        ({**NUMBER, "type": "number"}, 1, {"an integer", "a fraction"}),
        ({**NUMBER, "type": ["integer", "null"]}, 1, {"an integer", "null"}),
        ({"type": "boolean"}, True, {"a boolean"}),
        ({"enum": ["x", None, 0.5]}, "x", {"a text", "null", "a fraction"}),
        ({"anyOf": [{"type": "boolean"}, {"type": "null"}]}, None, {"a boolean", "null"}),
        ({"type": ["string", "null"], "enum": ["x", None], "not": {"type": "null"}}, "x", {"a text", "null"}),
    ],
)
def test_every_type_is_tried_that_no_rule_allows(part: JsonObject, value: JsonValue, allowed: set[str]):
    tried = {flaw.split(" for ")[0] for flaw in flaws_of(part, value) if " for " in flaw}

    assert tried == TYPES - allowed


@pytest.mark.parametrize(
    ("part", "value"),
    [
        # Two branches could accept the text, so that breaking one of them proves nothing.
        ({"anyOf": [{"type": "string", "maxLength": 3}, {"type": "string", "maxLength": 9}]}, "ab"),
        ({"type": "string", "maxLength": 70_000}, "ab"),
        ({"type": "string", "maxLength": 9, "if": {"minLength": 1}, "then": {"maxLength": 3}}, "ab"),
    ],
)
def test_what_is_not_certain_is_not_made(part: JsonObject, value: JsonValue):
    assert {flaw for flaw in flaws_of(part, value) if " for " not in flaw} <= {"a text that is too long"}
    for one in made(of_one(part), {"a": value}):
        assert Contract(of_one(part), Kind.DOCUMENT).violation(one.value) is not None


OPEN: JsonObject = contract(
    {
        "type": "object",
        "properties": {"a": {"type": "boolean"}},
        "required": ["a"],
        "maxProperties": 3,
        "additionalProperties": {"type": "string", "maxLength": 3},
        "x-open-because": "Hosts add members of their own.",
    }
)


def test_an_open_object_may_have_one_more_property_but_not_of_another_form():
    found = made(OPEN, {"a": True, "secret-name": "x"})

    assert not [one for one in found if one.flaw == "one more property"]
    assert "too many properties" in {one.flaw for one in found}
    assert "a text that is too long" in {one.flaw for one in found if one.place == "/?"}
    assert "secret-name" not in "".join(one.place + one.flaw for one in found)


def test_the_one_more_property_has_a_name_that_the_contract_has_not():
    schema = of_one({"type": "boolean"})
    schema["description"] = f"Not {UNNAMED}."

    [one] = [one for one in made(schema, {"a": True}) if one.flaw == "one more property"]

    assert one.value == {"a": True, f"{UNNAMED}_": True}


def test_facts_are_tried_with_hidden_characters_and_documents_are_not():
    free: JsonObject = {"type": "string", "maxLength": 60, "x-untrusted-text": True}

    assert flaws_of(free, "ab", Kind.FACTS) - flaws_of(free, "ab") == set(HIDDEN)


def test_a_text_of_facts_is_tried_with_a_sentence_unless_it_is_marked():
    words: JsonObject = {"type": "string", "maxLength": 60, "pattern": "^([a-z]+|[A-Z][a-z ]+[.])$"}
    judged = Contract(of_one(words), Kind.FACTS)

    through = [one for one in near_misses(judged, {"a": "ab"}, ALL) if judged.violation(one.value) is None]

    assert [(one.flaw, one.value) for one in through] == [("a sentence", {"a": SENTENCES[1]})]
    assert "a sentence" not in flaws_of({**words, "x-untrusted-text": True}, "ab", Kind.FACTS)


def test_every_format_has_broken_texts():
    assert BROKEN.keys() == FORMATS.keys()
    assert not [text for name, texts in BROKEN.items() for text in texts.values() if FORMATS[name](text)]


@pytest.mark.parametrize(("pattern", "texts"), PATTERNS)
@given(data=st.data())
def test_no_text_that_a_pattern_matches_holds_what_is_foreign_to_it(pattern: str, texts, data: st.DataObject):
    text = data.draw(st.from_regex(pattern.removesuffix("$") + r"\Z") | st.sampled_from(texts))

    assert not [character for _, character in foreign_to(pattern) if character in text]


ROWS: JsonObject = contract(
    closed({"rows": {"type": "array", "maxItems": 500, "items": closed({"n": NUMBER, "s": {"enum": ["x", "y"]}})}})
)
LARGE: JsonValue = {"rows": [{"n": index % 10, "s": "x"} for index in range(100)]}


def test_the_same_near_misses_are_made_every_time():
    assert made(ROWS, LARGE, most=200) == made(ROWS, LARGE, most=200)


@pytest.mark.parametrize("most", [0, 1, 7, 200])
def test_there_are_at_most_as_many_as_asked_for(most: int):
    assert len(made(ROWS, LARGE, most=most)) == most


def test_every_sort_of_place_gets_its_share():
    found = made(ROWS, LARGE, most=300)

    shares = Counter(one.place for one in found)
    assert shares.keys() == {"", "/rows", "/rows/*", "/rows/*/n", "/rows/*/s"}
    assert min(shares["/rows/*"], shares["/rows/*/n"], shares["/rows/*/s"]) > 90
    # The root and the list are there once, and have all their flaws.
    assert shares[""] == len([one for one in made(ROWS, LARGE) if one.place == ""])


def test_flawed_rows_are_spread_over_the_value():
    found = [one.value for one in made(ROWS, LARGE, most=300) if one.place == "/rows/*/n"]

    flawed = {
        index
        for value in found
        for index, row in enumerate(value["rows"])
        if row != LARGE["rows"][index]  # type: ignore[index, call-overload] # the value above
    }
    assert len({index // 20 for index in flawed}) == 5


def test_the_value_itself_is_not_changed():
    value: JsonValue = {"a": {"b": [1, 2]}}
    part = closed({"b": {"type": "array", "maxItems": 3, "items": NUMBER}})

    made(of_one(part), value)

    assert value == {"a": {"b": [1, 2]}}
