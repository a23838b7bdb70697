import subprocess
import sys
from datetime import UTC, datetime, timedelta

import cel
import pytest

from sshfacts.errors import Refusal
from sshfacts.schemas.checks import ANSWER_NAMES, REQUEST_NAMES, Check, CheckKind, Judgement, Rule, rule_problems

NOW = datetime(2026, 11, 30, 10, 0, 5, tzinfo=UTC)
DOCUMENT = {
    "id": "nginx.service",
    "names": "nginx.service web.service",
    "count": 3,
    "share": 0.5,
    "none": None,
    "at": "2026-11-30T10:00:03Z",
    "epoch": 1_796_032_803,
    "rows": [{"mount": "/", "used": 1, "size": 2}, {"mount": "/var", "used": 2, "size": 2}],
    "secret": "MARKER",
}


def _judgement(**changes):
    given = {
        "document": DOCUMENT,
        "arguments": {"unit": "web.service", "count": 3},
        "host": "web-1",
        "collected_at": NOW - timedelta(seconds=3),
        "now": NOW,
    }
    return Judgement(**given | changes)


def _codes(source, kind=None, names=ANSWER_NAMES):
    return [problem.code for problem in rule_problems(source, names, kind)]


# -- lint -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ('(" " + document.names + " ").contains(" " + arguments.unit + " ")', CheckKind.BINDING),
        ("document.rows.exists(row, row.mount == arguments.unit)", CheckKind.BINDING),
        ("document.rows.exists_one(row, row.host == host)", CheckKind.BINDING),
        ('now - timestamp(document.at) < duration("60s")', CheckKind.FRESHNESS),
        ('now - collected_at < duration("5s")', CheckKind.FRESHNESS),
        ('document.state == "up" || document.count == 0', CheckKind.CONSISTENCY),
        ("document.rows.all(row, row.used <= row.size)", CheckKind.CONSISTENCY),
        ("document.rows.all(row, row.parts.all(part, part.size <= row.size))", CheckKind.CONSISTENCY),
        ('document.state == "not-found"', None),
    ],
)
def test_a_sound_rule_has_no_problem(source, kind):
    assert rule_problems(source, ANSWER_NAMES, kind) == []


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("document.a ==", "check.syntax"),
        ("", "check.syntax"),
        ("document.?a == 1", "check.syntax"),
        ("1" + " + 1" * 300, "check.length"),
        ("(" * 300 + "1" + ")" * 300, "check.syntax"),
        ("rows.size() == 1", "check.unknown_name"),
        ("document.rows.all(row, true) && row == 1", "check.unknown_name"),
        ("document.rows.all(host, host == 1)", "check.unknown_name"),
        ("document.rows.all(__result__, __result__.a)", "check.unknown_name"),
        ("Document{a: 1} == document", "check.unknown_name"),
        (".document.a == 1", "check.unknown_name"),
        ("regex(document.a)", "check.unknown_function"),
        ('document.a.matches("^(a+)+$")', "check.unknown_function"),
        ("document.rows.all(index, row, row.a)", "check.unknown_function"),
        ("type(document) == 1", "check.unknown_function"),
        ("document.rows.map(row, row.a) == []", "check.quadratic"),
        ("document.rows.filter(row, row.a).size() == 1", "check.quadratic"),
        ("document.rows.all(row, row.a <= document.a)", "check.quadratic"),
    ],
)
def test_an_unsound_rule_has_its_problem(source, code):
    assert code in _codes(source)


def test_all_problems_are_found_in_one_run():
    found = _codes("x || document.rows.map(y, f(y)) == []", CheckKind.BINDING)
    assert found == [
        "check.unknown_name",
        "check.unknown_function",
        "check.quadratic",
        "check.alternative",
        "check.untied",
    ]


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("document.a == 1", CheckKind.BINDING),
        ('host == "web-1"', CheckKind.BINDING),
        ('document.a == "arguments.unit"', CheckKind.BINDING),
        ("document.arguments == document.host", CheckKind.BINDING),
        ('document.at == "now"', CheckKind.FRESHNESS),
    ],
)
def test_a_tie_that_ties_nothing_is_a_problem(source, kind):
    assert _codes(source, kind) == ["check.untied"]


@pytest.mark.parametrize("kind", [CheckKind.BINDING, CheckKind.FRESHNESS])
def test_a_tie_has_no_alternative(kind):
    source = "document.a == arguments.a || document.at == string(now)"
    assert _codes(source, kind) == ["check.alternative"]


def test_a_rule_about_the_request_does_not_see_the_answer():
    assert _codes("arguments.count > 3", names=REQUEST_NAMES) == []
    assert _codes("document.count > 3", names=REQUEST_NAMES) == ["check.unknown_name"]


def test_the_message_of_a_syntax_error_says_where_and_does_not_repeat_the_rule():
    (problem,) = rule_problems("document.a == MARKER(", ANSWER_NAMES, None)
    assert problem.what.startswith("the rule is not well-formed CEL at line 1, column ")
    assert "MARKER" not in problem.what


def test_a_rule_with_a_problem_cannot_be_made():
    with pytest.raises(ValueError, match="mentions 'x'"):
        Rule("x == 1")
    assert Rule("host == 'a'", REQUEST_NAMES).names == REQUEST_NAMES


# -- judgement --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "holds"),
    [
        ('(" " + document.names + " ").contains(" " + arguments.unit + " ")', True),
        ("document.id == arguments.unit", False),
        ("document.rows.all(row, row.used <= row.size)", True),
        ("document.rows.all(row, row.used < row.size)", False),
        ('document.rows.exists_one(row, row.mount == "/var")', True),
        ("document.count == arguments.count && host == 'web-1'", True),
        ("document.none == null", True),
        ("has(document.missing)", False),
        ("double(document.count) * document.share == 1.5", True),
        ('now - timestamp(document.at) <= duration("2s")', True),
        ('now - timestamp(document.at) < duration("2s")', False),
        ("timestamp(document.at) >= collected_at", True),
        ('timestamp("1970-01-01T00:00:00Z") + duration(string(document.epoch) + "s") <= now', True),
        ("document.count == '3'", False),
    ],
)
def test_a_rule_gives_true_or_false(source, holds):
    assert _judgement().holds(Rule(source)) is holds


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("document.missing == 1", "it asks for a member that is not there"),
        ("arguments.missing == document.id", "it asks for a member that is not there"),
        ("document.rows[2].used == 1", "it asks for an item that is not there"),
        ("document.count < 'x'", "it compares or combines values of different types"),
        ("document.count + document.share == 3.5", "it compares or combines values of different types"),
        ("document.count / 0 == 1", "it divides by zero"),
        ("document.count * 9223372036854775807 > 1", "a number in it becomes too large"),
        ("timestamp(document.id) < now", "it cannot be computed"),
        ("int(document.id) == 1", "it cannot be computed"),
        ("document.count", "it gives neither true nor false"),
        ("document.id", "it gives neither true nor false"),
        ("null", "it gives neither true nor false"),
        ("document.none ? true : false", "it compares or combines values of different types"),
    ],
)
def test_a_rule_that_gives_anything_else_is_an_error_and_never_true(source, reason):
    with pytest.raises(Refusal) as refused:
        _judgement().holds(Rule(source), "asked_unit")
    assert refused.value.detail == "check.error"
    assert refused.value.where == f"asked_unit: {reason}"
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__ or refused.value.__context__ is None


@pytest.mark.parametrize("kind", CheckKind)
def test_a_check_that_does_not_hold_refuses_by_its_kind_and_name(kind):
    check = Check("same_unit", kind, Rule("document.id == arguments.unit"))
    with pytest.raises(Refusal) as refused:
        _judgement().require(check)
    assert refused.value.detail == f"check.{kind}"
    assert refused.value.where == "same_unit"


def test_a_check_that_holds_lets_the_answer_through():
    _judgement().require(Check("counted", CheckKind.BINDING, Rule("document.count == arguments.count")))


def test_no_value_appears_in_a_refusal():
    for source in (
        "document.secret + 1 == 2",
        "int(document.secret) == 1",
        "document[document.secret] == 1",
        "document.secret",
    ):
        with pytest.raises(Refusal) as refused:
            _judgement().holds(Rule(source))
        assert "MARKER" not in str(refused.value)


def test_a_name_that_was_not_given_is_an_error():
    judgement = Judgement(arguments={"count": 3}, host="web-1")
    assert judgement.holds(Rule("arguments.count == 3", REQUEST_NAMES))
    with pytest.raises(Refusal) as refused:
        judgement.holds(Rule("document.count == 3"))
    assert refused.value.detail == "check.error"


def test_the_document_is_converted_once_for_all_rules(monkeypatch):
    made = []
    context = cel.Context
    monkeypatch.setattr(cel, "Context", lambda **given: made.append(1) or context(**given))
    judgement = _judgement()
    for source in ("document.count == 3", "document.count > 1", "host == 'web-1'"):
        assert judgement.holds(Rule(source))
    assert made == [1]


def test_rules_can_be_imported_without_loading_cel():
    code = "import sys, sshfacts.schemas.checks; print('cel' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
