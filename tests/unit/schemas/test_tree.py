import pytest

from sshfacts.schemas.keywords import DIALECT, KEYWORDS
from sshfacts.schemas.problems import PROBLEMS, Problem
from sshfacts.schemas.profile import Kind, lint
from tests.support.contracts import codes, contract, of_one

BOUNDED = {"type": "string", "maxLength": 8, "pattern": "^[a-z]{1,8}$"}


@pytest.mark.parametrize("schema", [None, True, [], "x", 1])
@pytest.mark.parametrize("kind", Kind)
def test_a_file_without_an_object_is_no_contract(schema, kind):
    assert codes(schema, kind) == [("contract.schema", "")]


def test_a_slip_in_a_keyword_is_found_with_the_nearest_keyword():
    schema = of_one({"tpye": "string", **BOUNDED})
    (problem,) = lint(schema, Kind.FACTS)
    assert problem == Problem(
        "contract.unknown_keyword", "/properties/a/tpye", "'tpye' is no keyword of a contract", "did you mean 'type'?"
    )


@pytest.mark.parametrize(
    "keyword",
    [
        "patternProperties",
        "contains",
        "$dynamicRef",
        "$anchor",
        "dependentSchemas",
        "unevaluatedItems",
        "minContains",
        "contentMediaType",
        "$vocabulary",
    ],
)
def test_a_keyword_of_the_standard_outside_the_profile_is_refused(keyword):
    assert keyword not in KEYWORDS
    assert codes(of_one({**BOUNDED, keyword: {}})) == [("contract.unknown_keyword", f"/properties/a/{keyword}")]


@pytest.mark.parametrize(
    ("keyword", "value"),
    [
        ("maxLength", "8"),
        ("maxLength", -1),
        ("maxLength", True),
        ("maxLength", 8.0),
        ("type", "text"),
        ("type", []),
        ("type", ["string", "string"]),
        ("type", 1),
        ("enum", []),
        ("enum", "a"),
        ("pattern", 1),
        ("format", ["date"]),
        ("title", 1),
        ("uniqueItems", 1),
        ("multipleOf", 0.1),
        ("multipleOf", 0),
        ("minimum", "0"),
        ("minimum", True),
        ("minimum", float("nan")),
        ("required", ["a", "a"]),
        ("required", [1]),
        ("dependentRequired", {"a": "b"}),
        ("unevaluatedProperties", True),
        ("x-untrusted-text", False),
        ("x-open-because", " "),
        ("x-open-because", True),
        ("items", [BOUNDED]),
        ("items", "x"),
        ("allOf", []),
        ("allOf", {}),
        ("properties", []),
        ("not", None),
    ],
)
def test_a_keyword_with_a_value_of_the_wrong_shape_is_one_problem(keyword, value):
    found = codes(of_one({**BOUNDED, "description": "a", keyword: value}))
    assert found == [("contract.keyword_value", f"/properties/a/{keyword}")]


@pytest.mark.parametrize("name", ["email", "uri", "regex", "time", "dateTime", "idn-hostname", "x"])
def test_an_unknown_format_is_a_problem(name):
    assert codes(of_one({"type": "string", "format": name})) == [("contract.unknown_format", "/properties/a/format")]


def test_a_pattern_outside_the_subset_is_a_problem_and_not_also_a_missing_pattern():
    assert codes(of_one({**BOUNDED, "pattern": "^a.$"})) == [("contract.pattern", "/properties/a/pattern")]
    assert codes(of_one({**BOUNDED, "pattern": "a"})) == [("contract.pattern_unanchored", "/properties/a/pattern")]


@pytest.mark.parametrize("keyword", ["$schema", "$id"])
def test_what_belongs_to_the_file_stands_at_its_root_only(keyword):
    # Below the root `$schema` makes jsonschema change to the stock class of another draft.
    assert codes(of_one({**BOUNDED, keyword: DIALECT})) == [("contract.schema", f"/properties/a/{keyword}")]


def test_the_dialect_is_named_and_is_draft_2020_12():
    schema = of_one(BOUNDED)
    assert codes({**schema, "$schema": "http://json-schema.org/draft-07/schema#"}) == [("contract.schema", "/$schema")]
    del schema["$schema"]
    assert codes(schema) == [("contract.schema", "")]
    assert codes(schema, Kind.ARGUMENTS) == []


def test_a_deep_schema_is_refused_without_recursion_error():
    schema = BOUNDED
    for _ in range(3_000):
        schema = {"not": schema}
    assert [code for code, _ in codes(of_one({**BOUNDED, "not": schema}))] == ["contract.depth"]


def test_too_many_definitions_are_refused():
    schema = of_one(BOUNDED)
    schema["$defs"] = {f"d{index}": BOUNDED for index in range(65)}
    assert codes(schema) == [("contract.depth", "/$defs")]


def test_pointers_escape_names():
    schema = contract({"type": "object", "additionalProperties": False, "properties": {"a/b~c": {"type": "string"}}})
    assert {pointer for _, pointer in codes(schema)} == {"/properties/a~1b~0c"}


def test_all_problems_are_found_in_one_run():
    schema = of_one({"tpye": 1, "type": "string", "format": "email"}, maxProperties="1")
    assert [code for code, _ in codes(schema)] == [
        "contract.unknown_keyword",
        "contract.unknown_format",
        "contract.keyword_value",
    ]


def test_the_set_of_problems_is_closed():
    with pytest.raises(KeyError):
        Problem("contract.no_such_code", "", "what", "fix")
    assert all(reason.endswith(".") for reason in PROBLEMS.values())
