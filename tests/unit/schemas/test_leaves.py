from math import inf, nan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sshfacts.schemas.leaves import leaf_test
from sshfacts.schemas.tree import read_tree
from tests.support.contracts import compiled

TELLING = [None, True, False, -3, -1, 0, 1, 2, 3, 0.5, 1.0, 2.75, nan, inf, -inf, 2**60, "", "a", "aa", "aaa", "ab\n"]
TELLING += ["up", "down", "10.0.0.1", "20.0.0.1", "\ud800", [], [1], {}]
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.floats(-5, 5),
    st.text(max_size=5),
    st.sampled_from(TELLING),
)
SCHEMAS = [
    {"type": "boolean"},
    {"type": ["boolean", "null"]},
    {"type": "integer", "minimum": -2, "maximum": 2},
    {"type": ["integer", "null"], "minimum": 0, "maximum": 2},
    {"type": "integer", "minimum": 0.5, "maximum": 2},
    {"type": "number", "minimum": -1, "maximum": 2.5},
    {"type": "string", "maxLength": 2},
    {"type": "string", "minLength": 1, "maxLength": 2, "description": "short"},
    {"type": "string", "pattern": "^[ab]+$"},
    {"type": ["string", "null"], "maxLength": 1, "pattern": "^[ab]+$"},
    {"type": "string", "format": "ipv4"},
    {"type": "string", "format": "ipv4", "pattern": "^1[0-9.]+$"},
    {"enum": ["up", "down"]},
    {"enum": ["up", 1, None]},
    {"type": "string", "enum": ["up", "down"]},
    {"type": ["string", "integer"], "maxLength": 2, "minimum": 0, "maximum": 2},
    {"type": "string", "maxLength": 2, "not": {"const": "a"}},
    {"type": "integer", "minimum": 0, "maximum": 4, "multipleOf": 2},
    {"type": "array", "maxItems": 1},
    {},
]


def _node(schema):
    root, _ = read_tree(schema)
    return root


def _is_sound(schema, value):
    return not leaf_test(_node(schema))(value) or compiled(schema).is_valid(value)


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
def test_a_leaf_test_accepts_only_what_the_keywords_accept(schema):
    assert [value for value in TELLING if not _is_sound(schema, value)] == []


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(SCHEMAS), VALUES)
def test_a_leaf_test_accepts_only_what_the_keywords_accept_whatever_comes(schema, value):
    assert _is_sound(schema, value)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "boolean"}, True),
        ({"type": ["integer", "null"], "minimum": 0, "maximum": 2}, None),
        ({"type": "integer", "minimum": 0, "maximum": 2}, 2),
        ({"type": "number", "minimum": 0, "maximum": 2}, 0.5),
        ({"type": "string", "maxLength": 2}, "ab"),
        ({"type": "string", "maxLength": 2, "pattern": "^[ab]+$"}, "ab"),
        ({"type": "string", "format": "ipv4"}, "10.0.0.1"),
        ({"enum": ["up", "down"]}, "down"),
    ],
)
def test_the_common_scalars_have_a_leaf_test(schema, value):
    assert leaf_test(_node(schema))(value)
