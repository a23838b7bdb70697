"""Properties of the linter as a whole; its rules are tested where they are made: tree, references, policy."""

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sshfacts.schemas.contract import Contract
from sshfacts.schemas.keywords import DIALECT, KEYWORDS
from sshfacts.schemas.profile import PROBLEMS, Kind, lint
from tests.support.contracts import contract

NAMES = st.sampled_from([*sorted(KEYWORDS), "a", "b", "host"])
TEXTS = st.sampled_from(
    ["a", "string", "object", "array", "integer", "^a$", "a", "date", "#/$defs/a", "#/$defs/b", DIALECT]
)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-1, 3), st.floats(), TEXTS)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=5)),
    max_leaves=25,
)


@settings(max_examples=300, deadline=None)
@given(ANYTHING, st.sampled_from(Kind))
def test_the_linter_never_raises_and_knows_every_problem(schema, kind):
    for problem in lint(schema, kind):
        assert problem.code in PROBLEMS
        assert problem.pointer == "" or problem.pointer.startswith("/")
        assert problem.what
        assert problem.fix


SCALAR_SCHEMAS = st.sampled_from(
    [
        {"type": "string", "maxLength": 3, "pattern": "^a*$"},
        {"type": "string", "maxLength": 3, "x-untrusted-text": True},
        {"type": "string", "format": "date"},
        {"type": ["integer", "null"], "minimum": 0, "maximum": 3},
        {"enum": ["a", 1, None, [], {"a": 1}]},
        {"const": True},
        {"$ref": "#/$defs/a"},
        {"type": "string"},
        {"type": "integer", "minimum": 0},
        {},
        True,
    ]
)


def _containers(inner):
    closed = {"type": "object", "additionalProperties": False}
    arrays = {"type": "array", "maxItems": 3}
    members = st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    return st.one_of(
        members.map(lambda properties: {**closed, "properties": properties}),
        members.map(lambda properties: {**closed, "properties": properties, "required": [*properties]}),
        inner.map(lambda items: {**arrays, "items": items}),
        st.lists(inner, min_size=1, max_size=2).map(lambda parts: {"anyOf": parts}),
        inner.map(
            lambda part: {"type": "object", "allOf": [{"properties": {"a": part}}], "unevaluatedProperties": False}
        ),
        inner.map(lambda part: {"type": "object", "properties": {"a": part}}),
    )


OBJECTS = st.dictionaries(st.sampled_from("abc"), st.recursive(SCALAR_SCHEMAS, _containers, max_leaves=5), max_size=3)
VALUES = st.recursive(
    st.sampled_from([None, True, 0, 1, 9, 0.5, "", "a", "aaaa", "2026-11-30", "\x1b[31m"]),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.sampled_from("abcd"), inner, max_size=3)),
    max_leaves=6,
)


@settings(max_examples=300, deadline=None)
@given(OBJECTS, st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3))
def test_what_has_no_problem_is_a_schema_of_the_standard_and_is_never_laxer(properties, value):
    definitions = {"a": {"type": "string", "maxLength": 2, "pattern": "^a*$"}}
    schema = contract({"type": "object", "additionalProperties": False, "properties": properties, "$defs": definitions})
    if lint(schema, Kind.FACTS):
        with pytest.raises(ValueError, match="#/"):
            Contract(schema, Kind.FACTS)
        return
    jsonschema.Draft202012Validator.check_schema(schema)
    if Contract(schema, Kind.FACTS).violation(value) is None:
        assert jsonschema.Draft202012Validator(schema).is_valid(value)
