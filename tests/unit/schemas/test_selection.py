import warnings

import pytest

from sshfacts.errors import Refusal
from sshfacts.schemas.selection import Selection, selection_problems

DOCUMENT = {
    "Id": "nginx.service",
    "NRestarts": "3",
    "memory": "[not set]",
    "host": "not the engine's",
    "total": 5,
    "rows": [
        {"name": "a", "size": "12", "up": True, "host": "x"},
        {"name": "b", "size": "[not set]", "up": False},
        {"name": "c", "up": True},
    ],
    "secret": "MARKER",
}


def _select(source):
    return Selection(source).select(DOCUMENT, {"unit": "b"}, "web-1")


def _codes(source):
    return [problem.code for problem in selection_problems(source)]


@pytest.mark.parametrize(
    ("source", "facts"),
    [
        ("{unit: document.Id, restarts: integer(document.NRestarts)}", {"unit": "nginx.service", "restarts": 3}),
        ("{asked: arguments.unit, on: host}", {"asked": "b", "on": "web-1"}),
        ("{own: document.host}", {"own": "not the engine's"}),
        ("{sizes: document.rows[].size}", {"sizes": ["12", "[not set]"]}),
        ("{names: document.rows[?up].name}", {"names": ["a", "c"]}),
        ("{hosts: document.rows[].host}", {"hosts": ["x"]}),
        ("{one: one(document.rows, 'name', arguments.unit).size}", {"one": "[not set]"}),
        ("{some: where(document.rows, 'up', `true`) | [].name}", {"some": ["a", "c"]}),
        ("{count: length(document.rows), last: document.rows[-1].name}", {"count": 3, "last": "c"}),
        ("{memory: integer(none_if(document.memory, '[not set]'))}", {"memory": None}),
        (
            "{rows: document.rows[].{n: name, s: integer(none_if(size, '[not set]'))}}",
            {"rows": [{"n": "a", "s": 12}, {"n": "b", "s": None}, {"n": "c", "s": None}]},
        ),
        ("{biggest: max_by(document.rows, &name).name}", {"biggest": "c"}),
        ("{missing: document.nothing.at.all}", {"missing": None}),
        ("{fallback: document.nothing || 'none'}", {"fallback": "none"}),
    ],
)
def test_a_selection_makes_new_facts(source, facts):
    assert selection_problems(source) == []
    assert _select(source) == facts
    assert Selection(source).names == facts.keys()


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("{a: integer(document.Id)}", "not an integer"),
        ("{a: integer(document.secret)}", "not an integer"),
        ("{a: kib_bytes(document.Id)}", "not an integer"),
        ("{a: unix_time(document.Id)}", "not a time"),
        ("{a: one(document.rows, 'up', `true`)}", "not exactly one row"),
        ("{a: one(document.rows, 'name', 'z')}", "not exactly one row"),
        ("{a: one(document.Id, 'name', 'z')}", "a function meets a value that it does not take"),
        ("{a: length(document.nothing)}", "a function meets a value that it does not take"),
        ("{a: contains(document.secret, `1`)}", "a function meets a value that it does not take"),
        ("{a: max_by(document.rows, &up)}", "a function meets a value that it does not take"),
        ("{a: sum(document.rows[].name)}", "a function meets a value that it does not take"),
    ],
)
def test_what_has_no_exact_value_refuses_the_call_without_quoting_it(source, reason):
    with pytest.raises(Refusal) as refused:
        _select(source)
    assert refused.value.detail == "select.failed"
    assert refused.value.where == reason
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("", "select.syntax"),
        ("{a: ", "select.syntax"),
        ("{a: document.[}", "select.syntax"),
        ("{a: 'x}", "select.syntax"),
        ("{a: `up`}", "select.syntax"),
        ("{a: " + "(" * 1_900 + "host" + ")" * 1_900 + "}", "select.syntax"),
        ("{a: host}" + " " * 4_000, "select.length"),
        ("document", "select.root"),
        ("[document.a]", "select.root"),
        ("document.{a: a}", "select.root"),
        ("{a: document.a} | {b: a}", "select.root"),
        ("{a: document.a, a: document.b}", "select.root"),
        ("{host: document.a}", "select.reserved_name"),
        ("{collected_at: document.a}", "select.reserved_name"),
        ("{a: documents.a}", "select.unknown_name"),
        ("{a: @}", "select.unknown_name"),
        ("{a: @.document}", "select.unknown_name"),
        ("{a: *}", "select.unknown_name"),
        ("{a: length(rows)}", "select.unknown_name"),
        ("{a: [document.a, {b: c}]}", "select.unknown_name"),
        ("{a: document.a == b}", "select.unknown_name"),
        ("{a: !b || document.c && document.d}", "select.unknown_name"),
        ("{a: to_number(document.a)}", "select.unknown_function"),
        ("{a: document.rows[].{b: avg(c)}}", "select.unknown_function"),
        ("{a: integer()}", "select.arguments"),
        ("{a: integer(document.a, document.b)}", "select.arguments"),
        ("{a: not_null()}", "select.arguments"),
        ("{a: document.rows[].{h: host}}", "select.projection_name"),
        ("{a: document.rows[?name == arguments.unit]}", "select.projection_name"),
        ("{a: document.rows[*].[name, document.total]}", "select.projection_name"),
        ("{a: document.rows[0].{t: document.total}}", "select.projection_name"),
        ("{a: document.rows | [?name == host]}", "select.projection_name"),
        ("{a: map(&document.total, document.rows)}", "select.projection_name"),
        ("{a: sort_by(document.rows, &host)}", "select.projection_name"),
        ("{a: document.*.{d: document}}", "select.projection_name"),
        ("{a: document.rows[].b[].{h: host}}", "select.projection_name"),
    ],
)
def test_an_unsound_selection_has_its_problem(source, code):
    assert code in _codes(source)
    with pytest.raises(ValueError, match=r"."):
        Selection(source)


def test_all_problems_are_found_in_one_run():
    assert _codes("{host: nope, a: to_number(document.rows[].{h: host}), a: one(document.rows)}") == [
        "select.root",
        "select.reserved_name",
        "select.unknown_name",
        "select.unknown_function",
        "select.projection_name",
        "select.arguments",
    ]


def test_the_message_of_a_syntax_error_says_where_and_does_not_repeat_the_selection():
    (problem,) = selection_problems("{MARKER: document.a,, b: host}")
    assert problem.what == "the selection is not well-formed JMESPath at character 21"


def test_a_selection_leaves_the_warnings_of_others_alone():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Selection("{a: host}")
        warnings.warn("still on", PendingDeprecationWarning, stacklevel=1)
    assert [str(warning.message) for warning in caught] == ["still on"]
