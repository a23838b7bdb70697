import pytest

from sshfacts.schemas.contract import Contract
from sshfacts.schemas.profile import Kind
from tests.support.contracts import closed, codes, contract, of_one

NAME = {"type": "string", "maxLength": 8, "pattern": "^[a-z]{1,8}$"}
SIZE = {"type": "integer", "minimum": 0, "maximum": 10}
ANY_KIND = pytest.mark.parametrize("kind", [Kind.DOCUMENT, Kind.FACTS])


# -- closed objects ---------------------------------------------------------------------------------------------------


@ANY_KIND
def test_an_object_at_any_depth_must_be_closed(kind):
    inner = {"type": "object", "properties": {"b": SIZE}}
    schema = of_one({"type": "array", "maxItems": 2, "items": inner})
    assert codes(schema, kind) == [("contract.open_object", "/properties/a/items")]


@ANY_KIND
@pytest.mark.parametrize("rest", [True, {}, SIZE])
def test_additional_properties_that_are_not_false_leave_an_object_open(kind, rest):
    schema = of_one({"type": "object", "additionalProperties": rest})
    assert ("contract.open_object", "/properties/a") in codes(schema, kind)


def test_a_document_may_be_open_for_a_reason_and_facts_never():
    opened = {"type": "object", "x-open-because": "newer versions add members", "properties": {"b": SIZE}}
    assert codes(of_one(opened), Kind.DOCUMENT) == []
    assert codes(of_one({**opened, "additionalProperties": True}), Kind.DOCUMENT) == []
    assert codes(of_one({**opened, "additionalProperties": SIZE}), Kind.DOCUMENT) == []
    assert codes(of_one(opened), Kind.FACTS) == [("contract.open_facts", "/properties/a")]


def test_the_members_of_an_open_document_are_bounded_where_they_have_a_schema():
    opened = {"type": "object", "x-open-because": "a map", "additionalProperties": {"type": "string"}}
    assert codes(of_one(opened), Kind.DOCUMENT) == [("contract.unbounded", "/properties/a/additionalProperties")]


def test_a_closed_object_does_not_say_why_it_is_open():
    schema = of_one(closed({"b": SIZE}, **{"x-open-because": "it was once"}))
    assert codes(schema, Kind.DOCUMENT) == [("contract.open_object", "/properties/a")]


def test_a_required_name_must_be_among_the_properties():
    schema = contract({"type": "object", "additionalProperties": False, "required": ["b"], "properties": {"a": SIZE}})
    assert codes(schema) == [("contract.unknown_member", "/required")]


# -- composition ------------------------------------------------------------------------------------------------------

BASE = {"type": "object", "properties": {"a": SIZE}, "required": ["a"]}


def _composed(*branches, **more):
    composed = {"allOf": [*branches]} if branches else {}
    return contract({"type": "object", "properties": {"b": NAME}, "unevaluatedProperties": False, **composed, **more})


def test_a_composition_is_closed_after_its_branches():
    schema = _composed({"$ref": "#/$defs/base"}, **{"$defs": {"base": BASE}})
    assert codes(schema) == []
    judged = Contract(schema, Kind.FACTS)
    assert judged.violation({"a": 1, "b": "x"}) is None
    assert judged.violation({"a": 1, "c": "x"}) == "unevaluatedProperties false at #"
    assert judged.violation({"b": "x"}) == 'required "a" at #/$defs/base'


def test_a_branch_that_closes_itself_is_a_problem():
    schema = _composed({**BASE, "additionalProperties": False})
    assert codes(schema) == [("contract.closed_branch", "/allOf/0/additionalProperties")]
    schema = _composed({**BASE, "unevaluatedProperties": False})
    assert codes(schema) == [("contract.closed_branch", "/allOf/0/unevaluatedProperties")]


def test_a_definition_that_closes_itself_is_no_branch():
    schema = _composed({"$ref": "#/$defs/base"}, **{"$defs": {"base": {**BASE, "additionalProperties": False}}})
    assert codes(schema) == [("contract.closed_branch", "/$defs/base/additionalProperties")]


def test_a_reference_beside_properties_is_a_composition_too():
    schema = contract(
        {
            "type": "object",
            "$ref": "#/$defs/base",
            "properties": {"b": NAME},
            "unevaluatedProperties": False,
            "$defs": {"base": BASE},
        }
    )
    assert codes(schema) == []
    assert Contract(schema, Kind.FACTS).violation({"a": 1, "b": "x"}) is None


def test_a_branch_that_describes_a_member_must_bound_it():
    assert codes(_composed({"properties": {"c": {"type": "string"}}})) == [
        ("contract.unbounded", "/allOf/0/properties/c"),
        ("contract.untrusted_text", "/allOf/0/properties/c"),
    ]
    assert codes(_composed({"properties": {"b": {"minLength": 2}}})) == []


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
def test_an_alternative_only_narrows_members_that_the_object_has(keyword):
    assert codes(_composed(**{keyword: [{"required": ["b"]}, {"properties": {"b": {"const": "x"}}}]})) == []
    schema = _composed(**{keyword: [{"properties": {"c": NAME}}]})
    assert codes(schema) == [("contract.unknown_member", f"/{keyword}/0/properties/c")]


@pytest.mark.parametrize("keyword", ["if", "then", "else", "not"])
def test_a_condition_only_narrows_members_that_the_object_has(keyword):
    condition = {"if": {"required": ["b"]}, keyword: {"properties": {"b": {"minLength": 2}}}}
    assert codes(_composed({"required": ["b"]}, **condition)) == []
    condition[keyword] = {"required": ["c"]}
    assert codes(_composed({"required": ["b"]}, **condition)) == [("contract.unknown_member", f"/{keyword}/required")]


def test_an_object_is_not_closed_and_opened_at_once():
    schema = _composed({"required": ["b"]}, additionalProperties=True)
    assert codes(schema) == [("contract.open_object", "")]


def test_a_closed_branch_deep_inside_a_condition_is_found():
    items = {"properties": {"b": {"additionalProperties": False}}}
    schema = of_one(closed({"b": closed({"c": SIZE})}, then=items))
    assert codes(schema) == [("contract.closed_branch", "/properties/a/then/properties/b/additionalProperties")]


# -- types and bounds -------------------------------------------------------------------------------------------------


@ANY_KIND
@pytest.mark.parametrize("schema", [{}, True, {"maxLength": 3}, {"description": "x"}, {"allOf": [NAME]}])
def test_a_value_without_a_type_is_a_problem(kind, schema):
    assert codes(of_one(schema), kind) == [("contract.untyped", "/properties/a")]


@ANY_KIND
@pytest.mark.parametrize(
    "schema",
    [
        False,
        {"const": 1},
        {"enum": ["a", 1, None]},
        {"type": "null"},
        {"type": "boolean"},
        {"type": ["string", "null"], "maxLength": 3, "pattern": "^a$"},
        {"anyOf": [NAME, SIZE]},
        {"oneOf": [{"type": "null"}, closed({"b": SIZE})], "description": "x"},
        {"type": "string", "format": "date-time"},
        {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        {"type": "array", "maxItems": 2, "prefixItems": [NAME, SIZE], "items": False},
    ],
)
def test_a_value_with_type_and_bounds_is_fine(kind, schema):
    assert codes(of_one(schema), kind) == []


@ANY_KIND
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "pattern": "^a$"},
        {"type": "integer"},
        {"type": "integer", "minimum": 0},
        {"type": "number", "maximum": 0},
        {"type": ["integer", "null"], "minimum": 0},
        {"type": "array", "items": SIZE},
    ],
)
def test_a_value_without_a_bound_is_a_problem(kind, schema):
    assert codes(of_one(schema), kind) == [("contract.unbounded", "/properties/a")]


@ANY_KIND
@pytest.mark.parametrize(
    "schema", [{"type": "array", "maxItems": 2}, {"type": "array", "maxItems": 2, "prefixItems": [SIZE]}]
)
def test_an_array_whose_items_may_be_anything_is_a_problem(kind, schema):
    assert codes(of_one(schema), kind) == [("contract.open_array", "/properties/a")]


@ANY_KIND
def test_every_branch_of_an_alternative_must_be_bounded(kind):
    schema = of_one({"anyOf": [NAME, {"type": "integer"}]})
    assert codes(schema, kind) == [("contract.unbounded", "/properties/a/anyOf/1")]


# -- facts ------------------------------------------------------------------------------------------------------------


def test_free_text_of_facts_is_marked_and_small():
    assert codes(of_one({"type": "string", "maxLength": 64})) == [("contract.untrusted_text", "/properties/a")]
    assert codes(of_one({"type": "string", "maxLength": 64, "x-untrusted-text": True})) == []
    assert codes(of_one({"type": "string", "maxLength": 256, "x-untrusted-text": True})) == []
    too_long = of_one({"type": "string", "maxLength": 257, "x-untrusted-text": True})
    assert codes(too_long) == [("contract.untrusted_text", "/properties/a")]


@pytest.mark.parametrize("pattern", ["^[ -~]*$", "^[^\\n]{0,64}$", "^(?:[A-Za-z]+ ?)+$"])
def test_a_pattern_that_lets_sentences_through_is_free_text_as_well(pattern):
    free = {"type": "string", "maxLength": 64, "pattern": pattern}
    assert codes(of_one(free)) == [("contract.untrusted_text", "/properties/a")]
    assert codes(of_one({**free, "x-untrusted-text": True})) == []
    assert codes(of_one({**free, "maxLength": 400, "x-untrusted-text": True})) == [
        ("contract.untrusted_text", "/properties/a")
    ]
    assert codes(of_one({**free, "maxLength": 16})) == []
    assert codes(of_one(free), Kind.DOCUMENT) == []


def test_free_text_of_a_document_needs_no_mark():
    assert codes(of_one({"type": "string", "maxLength": 4_000}), Kind.DOCUMENT) == []


@pytest.mark.parametrize("name", ["host", "collected_at"])
def test_facts_leave_the_engines_members_to_the_engine(name):
    assert codes(contract(closed({name: NAME}))) == [("contract.reserved_name", f"/properties/{name}")]
    assert codes(contract(closed({"a": closed({name: NAME})}))) == []


@pytest.mark.parametrize("schema", [NAME, {"type": "array", "maxItems": 1, "items": NAME}, {"$ref": "#/$defs/x"}, {}])
def test_the_root_of_facts_is_an_object(schema):
    assert ("contract.schema", "") in codes(contract(schema))


def test_the_root_of_a_document_is_an_object_or_an_array():
    assert codes(contract({"type": "array", "maxItems": 1, "items": NAME}), Kind.DOCUMENT) == []
    assert codes(contract(NAME), Kind.DOCUMENT) == [("contract.schema", "")]
    assert codes(contract({"type": ["array", "object"]}), Kind.DOCUMENT) == [("contract.schema", "")]


# -- arguments --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "schema",
    [
        NAME,
        {"type": "string", "enum": ["up", "down"]},
        {"type": "integer", "minimum": 1, "maximum": 5, "description": "How many."},
        {"type": "boolean"},
    ],
)
def test_an_argument_is_a_bounded_scalar(schema):
    assert codes(closed({"a": schema}), Kind.ARGUMENTS) == []


@pytest.mark.parametrize(
    ("schema", "found"),
    [
        ({"type": "string", "maxLength": 5}, ("contract.argument", "")),
        ({"type": "string", "pattern": "^a$"}, ("contract.unbounded", "")),
        ({"type": "integer"}, ("contract.unbounded", "")),
        ({"type": "number", "minimum": 0, "maximum": 1}, ("contract.argument", "")),
        ({"type": ["boolean", "null"]}, ("contract.argument", "")),
        ({"type": "array", "maxItems": 1, "items": NAME}, ("contract.argument", "")),
        (closed({"b": NAME}), ("contract.argument", "")),
        ({**NAME, "not": {"const": "x"}}, ("contract.argument", "/not")),
        ({**NAME, "minimum": 1}, ("contract.argument", "/minimum")),
        ({"type": "boolean", "const": True}, ("contract.argument", "/const")),
    ],
)
def test_any_other_argument_is_a_problem(schema, found):
    code, place = found
    assert codes(closed({"a": schema}), Kind.ARGUMENTS) == [(code, f"/properties/a{place}")]


def test_no_argument_is_called_host():
    assert codes(closed({"host": NAME}), Kind.ARGUMENTS) == [("contract.reserved_name", "/properties/host")]


def test_an_operation_without_arguments_has_an_empty_contract():
    assert codes(closed({}), Kind.ARGUMENTS) == []
