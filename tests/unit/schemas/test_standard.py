"""The compiled keywords say what the standard says: against the public suite, stock jsonschema and jsonschema-rs."""

from itertools import chain

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sshfacts.schemas.references import References
from sshfacts.schemas.text_formats import FORMATS
from sshfacts.schemas.tree import read_tree
from tests.support.contracts import SUITE, compiled, suite_cases

FILES = sorted(path.name for path in SUITE.glob("*.json") if path.name != "format.json")
"""Formats are not asserted in the suite's own file of that name; they have a test of their own."""
LEAST_JUDGED = 630
"""Cases that must have been judged, so that the suite cannot be passed by refusing its schemas."""

needs_suite = pytest.mark.skipif(not SUITE.exists(), reason="the public suite is not here")


def _is_of_the_profile(schema):
    root, problems = read_tree(schema)
    if root is None or problems:
        return False
    references = References(root)
    return not references.problems and not _composes_dynamically(root, references)


def _composes_dynamically(node, references):
    """Tell whether `unevaluatedProperties` depends on the branch that a value takes, which the policy refuses."""
    if node.has("unevaluatedProperties") and _is_dynamic(node, references):
        return True
    return any(_composes_dynamically(part, references) for part in node.parts())


def _is_dynamic(node, references):
    if node.has("additionalProperties", "anyOf", "oneOf", "if", "not"):
        return True
    target = references.target(node)
    parts = [*node.several.get("allOf", ()), *([target] if target else [])]
    return any(_is_dynamic(part, references) for part in parts)


@needs_suite
def test_every_suite_case_within_the_profile_is_judged_as_the_suite_says():
    cases = chain.from_iterable(map(suite_cases, FILES))
    judged = [case for case in cases if _is_of_the_profile(case.schema)]
    wrong = [case.name for case in judged if compiled(case.schema).is_valid(case.data) is not case.valid]
    assert wrong == []
    assert len(judged) >= LEAST_JUDGED


@needs_suite
@pytest.mark.parametrize("name", sorted(FORMATS))
def test_every_suite_case_of_a_format_is_judged_as_the_suite_says(name):
    cases = [case for case in suite_cases(f"optional/format/{name}.json") if isinstance(case.data, str)]
    wrong = [case.name for case in cases if FORMATS[name](case.data) is not case.valid]
    # An internationalised label is judged by its letters alone; which code points it may stand for is a table of IDNA.
    assert [case for case in wrong if "punycode" not in case] == []


NAMES = st.sampled_from("abc")
TEXTS = st.text(alphabet="ab1-\n\u00e9", max_size=4)
NUMBERS = st.one_of(st.integers(-3, 3), st.sampled_from([0.0, 0.5, 1.0, -1.0, 2.5, 1e300]))
SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=8,
)
PATTERNS = st.sampled_from(["^a$", "^[ab]{1,2}$", "^(?:a|b1)*$", "^[^a]*$", "^$", "^[a-z1-]+\\n?$"])
COUNTS = st.integers(0, 3)
TYPE_NAMES = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])


def _some_of(keywords):
    return st.fixed_dictionaries({}, optional=keywords)


ASSERTIONS = _some_of(
    {
        "type": st.one_of(TYPE_NAMES, st.lists(TYPE_NAMES, min_size=1, max_size=3, unique=True)),
        "const": VALUES,
        "enum": st.lists(VALUES, min_size=1, max_size=4),
        "minLength": COUNTS,
        "maxLength": COUNTS,
        "pattern": PATTERNS,
        "minimum": NUMBERS,
        "maximum": NUMBERS,
        "exclusiveMinimum": NUMBERS,
        "exclusiveMaximum": NUMBERS,
        "multipleOf": st.integers(1, 3),
        "minItems": COUNTS,
        "maxItems": COUNTS,
        "uniqueItems": st.booleans(),
        "minProperties": COUNTS,
        "maxProperties": COUNTS,
        "required": st.lists(NAMES, max_size=2, unique=True),
        "dependentRequired": st.dictionaries(NAMES, st.lists(NAMES, max_size=2, unique=True), max_size=1),
    }
)


def _applicators(inner):
    several = st.lists(inner, min_size=1, max_size=2)
    return _some_of(
        {
            "properties": st.dictionaries(NAMES, inner, max_size=3),
            "additionalProperties": inner,
            "propertyNames": inner,
            "items": inner,
            "prefixItems": several,
            "allOf": several,
            "anyOf": several,
            "oneOf": several,
            "not": inner,
            "if": inner,
            "then": inner,
            "else": inner,
        }
    )


SCHEMAS = st.recursive(
    st.one_of(st.booleans(), ASSERTIONS),
    lambda inner: st.builds(lambda one, other: {**one, **other}, ASSERTIONS, _applicators(inner)),
    max_leaves=6,
)


@settings(max_examples=250, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(SCHEMAS, VALUES)
@example({"uniqueItems": True}, [[1], [True], [1]])
@example({"pattern": "^a$"}, "a\n")
@example({"type": "integer"}, 1.0)
@example({"const": 1}, True)
@example({"enum": [[1]]}, [True])
def test_a_second_implementation_gives_the_same_verdict(schema, value):
    if isinstance(schema, bool):
        schema = {"not": {}} if not schema else {}
    ours = compiled(schema).is_valid(value)
    assert ours is jsonschema_rs.Draft202012Validator(schema).is_valid(value)
