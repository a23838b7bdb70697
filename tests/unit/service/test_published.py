"""Contracts as agents see them."""

import pytest
from jsonschema import Draft202012Validator

from sshfacts.service.published import UNTRUSTED, has_untrusted_text, published
from sshfacts.values import JsonObject

TEXT = {"type": "string", "maxLength": 9, "x-untrusted-text": True}


def test_untrusted_text_is_labelled_in_words():
    schema = {"type": "object", "properties": {"note": {**TEXT, "description": "What it says."}, "other": TEXT}}
    shown = published(schema)
    properties = shown["properties"]
    assert properties["note"]["description"] == f"{UNTRUSTED} What it says."
    assert properties["other"] == {"type": "string", "maxLength": 9, "description": UNTRUSTED}
    assert has_untrusted_text(shown)


def test_only_keywords_that_every_client_knows_are_left():
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "array",
        "maxItems": 2,
        "items": {"type": "object", "x-open-because": "It is a test.", "properties": {}},
    }
    assert published(schema) == {"type": "array", "maxItems": 2, "items": {"type": "object", "properties": {}}}
    assert not has_untrusted_text(published(schema))


def test_the_contract_itself_is_left_as_it_is():
    schema = {"anyOf": [dict(TEXT)]}
    published(schema)
    assert schema == {"anyOf": [TEXT]}


def test_a_fact_that_is_called_description_is_no_label():
    assert not has_untrusted_text({"properties": {"description": {"type": "boolean"}}})


@pytest.mark.parametrize(
    "schema",
    [
        {"type": ["string", "null"], "maxLength": 3, "pattern": "^a", "description": "A name."},
        {"type": ["integer", "null"], "minimum": 0, "maximum": 9},
        {"type": ["object", "null"], "properties": {"a": {"type": ["string", "null"]}}, "required": ["a"]},
        {"type": ["string", "null"], "enum": ["a", None]},
        {"type": ["string", "null"], "not": {"const": "a"}},
        {"type": ["string", "integer"], "maxLength": 3},
    ],
)
def test_a_type_beside_null_becomes_two_branches_that_accept_the_same(schema: JsonObject):
    shown = published(schema)
    values = [None, "a", "abc", "abcd", "b", "", -1, 0, 9, 10, 1.5, True, [], {}, {"a": None}, {"a": 1}]
    for value in values:
        assert Draft202012Validator(shown).is_valid(value) is Draft202012Validator(schema).is_valid(value), value
    assert shown.get("description") == schema.get("description")


def test_the_branches_are_there():
    assert published({"type": ["string", "null"], "maxLength": 3, "title": "A"}) == {
        "title": "A",
        "anyOf": [{"type": "string", "maxLength": 3}, {"type": "null"}],
    }
