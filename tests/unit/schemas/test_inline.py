import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sshfacts.schemas.inline import inlined
from tests.support.contracts import closed, contract

NAME = {"type": "string", "maxLength": 8, "pattern": "^[a-z]{1,8}$", "description": "A name."}
SCHEMA = contract(
    {
        "$id": "urn:x",
        "type": "object",
        "unevaluatedProperties": False,
        "required": ["own"],
        "properties": {
            "own": {"$ref": "#/$defs/name", "description": "My own."},
            "narrow": {"$ref": "#/$defs/name", "minLength": 2},
            "$ref": {"const": {"$ref": "#/$defs/name"}},
            "list": {"type": "array", "maxItems": 2, "items": {"$ref": "#/$defs/pair"}},
        },
        "allOf": [{"$ref": "#/$defs/base"}],
        "$defs": {
            "name": NAME,
            "pair": closed({"left": {"$ref": "#/$defs/name"}, "right": {"anyOf": [{"$ref": "#/$defs/name"}, False]}}),
            "base": {"properties": {"base": {"$ref": "#/$defs/name"}}},
        },
    }
)


def test_every_reference_is_replaced_by_what_it_refers_to():
    assert inlined(SCHEMA) == {
        "type": "object",
        "unevaluatedProperties": False,
        "required": ["own"],
        "properties": {
            "own": {**NAME, "description": "My own."},
            "narrow": {"minLength": 2, "allOf": [NAME]},
            "$ref": {"const": {"$ref": "#/$defs/name"}},
            "list": {
                "type": "array",
                "maxItems": 2,
                "items": closed({"left": NAME, "right": {"anyOf": [NAME, False]}}),
            },
        },
        "allOf": [{"properties": {"base": NAME}}],
    }


NAMES = st.sampled_from(["own", "narrow", "$ref", "list", "base", "more", "left", "right"])
VALUES = st.recursive(
    st.sampled_from(["a", "ab", "A", 1, {"$ref": "#/$defs/name"}]),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=5,
)


@given(st.dictionaries(NAMES, VALUES, max_size=4))
def test_the_flat_contract_judges_as_the_one_with_references(value):
    judged = [jsonschema_rs.Draft202012Validator(schema).is_valid(value) for schema in (SCHEMA, inlined(SCHEMA))]
    assert judged[0] is judged[1]


def test_what_is_no_schema_object_cannot_be_written_out():
    with pytest.raises(ValueError, match="not a schema object"):
        inlined([])
