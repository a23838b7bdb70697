import json
import time

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sshfacts.errors import Refusal
from sshfacts.schemas.contract import Contract
from sshfacts.schemas.profile import Kind
from tests.support.contracts import ROOT, closed, of_one

NAME = {"type": "string", "maxLength": 8, "pattern": "^[a-z]{1,8}$"}
SIZE = {"type": "integer", "minimum": 0, "maximum": 10}
ROWS = of_one(
    {
        "type": "array",
        "minItems": 1,
        "maxItems": 3,
        "uniqueItems": True,
        "items": closed({"name": NAME, "size": SIZE, "state": {"enum": ["up", "down"]}}),
    }
)
ROW = {"name": "x", "size": 1, "state": "up"}
PLACE = "#/properties/a/items/properties"


@pytest.mark.parametrize(
    ("value", "violation"),
    [
        ({"a": [ROW]}, None),
        ({"a": [ROW, {**ROW, "size": -1}]}, f"minimum 0 at {PLACE}/size (in /a/1/size)"),
        ({"a": [{**ROW, "size": 11}]}, f"maximum 10 at {PLACE}/size (in /a/0/size)"),
        ({"a": [{**ROW, "size": "1"}]}, f'type "integer" at {PLACE}/size (in /a/0/size)'),
        ({"a": [{**ROW, "size": True}]}, f'type "integer" at {PLACE}/size (in /a/0/size)'),
        ({"a": [{**ROW, "name": "x" * 9}]}, f"maxLength 8 at {PLACE}/name (in /a/0/name)"),
        ({"a": [{**ROW, "name": "x\n"}]}, f'pattern "^[a-z]{{1,8}}$" at {PLACE}/name (in /a/0/name)'),
        ({"a": [{**ROW, "state": "off"}]}, f'enum ["up", "down"] at {PLACE}/state (in /a/0/state)'),
        ({"a": [{"name": "x", "size": 1}]}, 'required "state" at #/properties/a/items (in /a/0)'),
        ({"a": [{**ROW, "more": 1}]}, "additionalProperties false at #/properties/a/items (in /a/0)"),
        ({"a": [ROW, ROW]}, "uniqueItems true at #/properties/a (in /a)"),
        ({"a": []}, "minItems 1 at #/properties/a (in /a)"),
        ({"a": [1, 2, 3, 4]}, "maxItems 3 at #/properties/a (in /a)"),
        ({"a": {}}, 'type "array" at #/properties/a (in /a)'),
        ({}, 'required "a" at #'),
        ([], 'type "object" at #'),
        (None, 'type "object" at #'),
    ],
)
def test_a_violation_names_keyword_bound_and_both_places(value, violation):
    assert Contract(ROWS, Kind.FACTS).violation(value) == violation


def test_validate_refuses_with_the_detail_of_the_stage():
    judged = Contract(ROWS, Kind.FACTS)
    judged.validate({"a": [ROW]}, "contract.facts")
    with pytest.raises(Refusal) as refused:
        judged.validate({"a": [{**ROW, "size": -1}]}, "contract.facts")
    assert refused.value.detail == "contract.facts"
    assert refused.value.where == f"minimum 0 at {PLACE}/size (in /a/0/size)"
    assert refused.value.__cause__ is None
    assert refused.value.__context__ is None


def test_a_plausible_answer_with_one_member_more_is_refused_without_naming_it():
    violation = Contract(ROWS, Kind.DOCUMENT).violation({"a": [{**ROW, "ignore_previous": "MARKER"}]})
    assert violation == "additionalProperties false at #/properties/a/items (in /a/0)"


def test_a_name_that_the_contract_does_not_know_is_a_question_mark():
    opened = {"type": "object", "x-open-because": "a map", "maxProperties": 2, "additionalProperties": SIZE}
    judged = Contract(of_one(opened), Kind.DOCUMENT)
    assert judged.violation({"a": {"MARKER": 1}}) is None
    assert judged.violation({"a": {"MARKER": 99}}) == "maximum 10 at #/properties/a/additionalProperties (in /a/?)"


@pytest.mark.parametrize(
    ("schema", "value", "violation"),
    [
        (False, 1, "false at #/properties/a (in /a)"),
        ({"const": 1}, True, "const 1 at #/properties/a (in /a)"),
        ({"const": {"b": 1}}, {"b": True}, 'const {"b": 1} at #/properties/a (in /a)'),
        ({**NAME, "not": {"const": "x"}}, "x", "not at #/properties/a (in /a)"),
        ({"anyOf": [NAME, SIZE]}, 11, "anyOf at #/properties/a (in /a)"),
        ({"oneOf": [SIZE, {"const": 1}]}, 1, "oneOf at #/properties/a (in /a)"),
        ({**SIZE, "if": {"const": 1}, "then": False}, 1, "false at #/properties/a/then (in /a)"),
        ({**SIZE, "if": {"const": 1}, "else": {"minimum": 5}}, 2, "minimum 5 at #/properties/a/else (in /a)"),
        ({**SIZE, "allOf": [{"multipleOf": 2}]}, 3, "multipleOf 2 at #/properties/a/allOf/0 (in /a)"),
        ({"type": "string", "format": "date-time"}, "today", 'format "date-time" at #/properties/a (in /a)'),
        (
            {"type": "array", "maxItems": 2, "prefixItems": [NAME], "items": False},
            ["x", 1],
            "false at #/properties/a/items (in /a/1)",
        ),
        (
            {"type": "array", "maxItems": 2, "prefixItems": [NAME], "items": SIZE},
            [1],
            'type "string" at #/properties/a/prefixItems/0 (in /a/0)',
        ),
        ({"enum": ["x" * 50, "y" * 50]}, "z", "enum at #/properties/a (in /a)"),
        (
            closed({"b": SIZE, "c": SIZE}, required=[], dependentRequired={"b": ["c"]}),
            {"b": 1},
            'dependentRequired {"b": ["c"]} at #/properties/a (in /a)',
        ),
        (closed({}, minProperties=1), {}, "minProperties 1 at #/properties/a (in /a)"),
    ],
)
def test_every_keyword_has_its_words(schema, value, violation):
    assert Contract(of_one(schema), Kind.DOCUMENT).violation({"a": value}) == violation


def test_property_names_are_judged_without_being_named():
    opened = {"type": "object", "x-open-because": "a map", "propertyNames": {"pattern": "^[a-z]$"}}
    judged = Contract(of_one(opened), Kind.DOCUMENT)
    assert judged.violation({"a": {"x": 1}}) is None
    assert judged.violation({"a": {"MARKER": 1}}) == "propertyNames at #/properties/a (in /a)"


MARKER = "MARKER"
ANYTHING = st.recursive(
    st.sampled_from([MARKER, MARKER * 20, 4_242_424_242, -4_242_424_242.5, None, True, f"\x1b]0;{MARKER}"]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=5),
        st.dictionaries(st.sampled_from([MARKER, "a", "name", "size", "state"]), inner, max_size=4),
    ),
    max_leaves=10,
)


@settings(max_examples=300, deadline=None)
@given(ANYTHING)
def test_no_part_of_a_value_appears_in_its_violation(value):
    for judged in (Contract(ROWS, Kind.DOCUMENT), Contract(_map_of(ROWS), Kind.DOCUMENT)):
        violation = judged.violation(value) or judged.violation({"a": value}) or judged.violation({"a": [value]}) or ""
        assert MARKER not in violation
        assert "4242424242" not in violation


def _map_of(schema):
    rows = schema["properties"]["a"]
    return of_one({"type": "object", "x-open-because": "a map", "additionalProperties": rows})


# -- what stock jsonschema gets wrong ---------------------------------------------------------------------------------


def test_the_end_of_a_pattern_is_the_end_of_the_text():
    schema = of_one({"type": "string", "maxLength": 9, "pattern": "^a$"})
    assert jsonschema.Draft202012Validator(schema).is_valid({"a": "a\n"})
    assert Contract(schema, Kind.DOCUMENT).violation({"a": "a\n"}) is not None


def test_unique_items_tell_one_from_true():
    schema = of_one({"type": "array", "maxItems": 9, "uniqueItems": True, "items": {"enum": [[1], [True], 1, 1.0]}})
    repeated = {"a": [[1], [True], [1]]}
    assert jsonschema.Draft202012Validator(schema).is_valid(repeated)
    judged = Contract(schema, Kind.DOCUMENT)
    assert judged.violation(repeated) == "uniqueItems true at #/properties/a (in /a)"
    assert judged.violation({"a": [1, 1.0]}) == "uniqueItems true at #/properties/a (in /a)"
    assert judged.violation({"a": [[1], [True]]}) is None


def test_unique_items_are_not_quadratic():
    items = closed({"n": {"type": "integer", "minimum": 0, "maximum": 9_999}})
    schema = of_one({"type": "array", "maxItems": 9_999, "uniqueItems": True, "items": items})
    begun = time.process_time()
    assert Contract(schema, Kind.DOCUMENT).violation({"a": [{"n": n} for n in range(4_000)]}) is None
    assert time.process_time() - begun < 1  # stock jsonschema: 37 s


def test_a_subschema_keeps_the_strict_class():
    # jsonschema's `evolve()` goes back to the stock class below a known `$schema`; a contract has it at the root.
    schema = of_one({"$ref": "#/$defs/x"}, **{"$defs": {"x": {"type": "string", "maxLength": 9, "pattern": "^a$"}}})
    assert Contract(schema, Kind.DOCUMENT).violation({"a": "a\n"}) is not None


def test_a_number_is_finite():
    schema = of_one({"type": "number", "minimum": 0, "maximum": 1})
    for value in (float("nan"), float("inf")):
        assert Contract(schema, Kind.FACTS).violation({"a": value}) == 'type "number" at #/properties/a (in /a)'


def test_the_length_is_looked_at_before_the_pattern_whatever_the_order_in_the_file():
    schema = of_one({"pattern": "^[a-z]*$", "maxLength": 3, "type": "string"})
    assert Contract(schema, Kind.DOCUMENT).violation({"a": "A" * 9}) == "maxLength 3 at #/properties/a (in /a)"


def test_a_value_nested_beyond_recursion_is_refused():
    value = []
    for _ in range(5_000):
        value = [value]
    schema = of_one({"type": "array", "maxItems": 1, "uniqueItems": True, "items": {"enum": [[]]}})
    assert Contract(schema, Kind.DOCUMENT).violation({"a": value}) == "nested too deeply for its contract"


# -- kinds ------------------------------------------------------------------------------------------------------------

FREE = of_one({"type": "string", "maxLength": 64, "x-untrusted-text": True})


@pytest.mark.parametrize("text", ["a\nb", "\x1b[31m", "a\u202eb", "a\u200bb", "\U000e0041", "\u2067"])
def test_facts_hold_no_hidden_characters(text):
    assert Contract(FREE, Kind.FACTS).violation({"a": text}) == "hidden characters in a text (in /a)"
    assert Contract(FREE, Kind.DOCUMENT).violation({"a": text}) is None


def test_facts_hold_visible_text_of_any_language():
    assert Contract(FREE, Kind.FACTS).violation({"a": "naïve 日本語 \u2714\ufe0f"}) is None


def test_an_integer_argument_or_fact_is_not_written_with_a_fraction():
    assert Contract(closed({"a": SIZE}), Kind.ARGUMENTS).violation({"a": 1.0}) == (
        'type "integer" at #/properties/a (in /a)'
    )
    assert Contract(closed({"a": SIZE}), Kind.ARGUMENTS).violation({"a": 1}) is None
    assert Contract(of_one(SIZE), Kind.FACTS).violation({"a": 1.0}) == 'type "integer" at #/properties/a (in /a)'
    assert Contract(of_one(SIZE), Kind.DOCUMENT).violation({"a": 1.0}) is None


def test_an_argument_holds_no_hidden_characters_even_if_its_pattern_lets_them():
    schema = closed({"a": {"type": "string", "maxLength": 9, "pattern": "^[^/]*$"}})
    assert Contract(schema, Kind.ARGUMENTS).violation({"a": "x\ty"}) == "hidden characters in a text (in /a)"


def test_a_contract_with_a_problem_cannot_be_made():
    with pytest.raises(ValueError, match="#/properties/a: the text has no 'maxLength'"):
        Contract(of_one({"type": "string", "pattern": "^a$"}), Kind.FACTS)
    with pytest.raises(ValueError, match="no JSON object"):
        Contract([], Kind.FACTS)


def test_a_contract_leaves_its_schema_as_it_is():
    before = json.dumps(ROWS)
    Contract(ROWS, Kind.FACTS).violation({"a": [ROW]})
    assert json.dumps(ROWS) == before


@pytest.mark.parametrize(
    "path", sorted(ROOT.glob("schemas/*/*.v*.json")), ids=lambda path: f"{path.parent.name}/{path.name}"
)
def test_every_built_in_contract_is_sound_and_a_valid_schema(path):
    schema = json.loads(path.read_text(encoding="utf-8"))
    kind = Kind.FACTS if path.name.startswith("facts") else Kind.DOCUMENT
    assert Contract(schema, kind).schema == schema
    jsonschema.Draft202012Validator.check_schema(schema)
