"""The closed list of what is no request."""

import re
from http import HTTPStatus
from pathlib import Path

import pytest

from sshfacts.errors import Code
from sshfacts.service.problems import NotARequest, Problem, as_json


@pytest.mark.parametrize("problem", list(Problem))
def test_each_has_a_status_and_a_sentence(problem: Problem):
    assert HTTPStatus(problem.status) >= HTTPStatus.BAD_REQUEST
    assert problem.meaning.endswith(".")
    assert as_json(problem)["error"] == {
        "code": problem.value,
        "retryable": problem.retryable,
        "message": problem.meaning,
    }


def test_no_code_means_two_things():
    assert {str(problem) for problem in Problem}.isdisjoint(map(str, Code))


def test_only_what_passes_by_itself_is_retryable():
    retryable = {problem for problem in Problem if problem.retryable}
    assert retryable == {Problem.BODY_SLOW, Problem.RECORD_UNAVAILABLE, Problem.SHUTTING_DOWN}


def test_the_error_says_what_is_wrong():
    assert str(NotARequest(Problem.BODY_ENCODING)) == "The body is not UTF-8."


def test_the_page_has_every_problem():
    page = (Path(__file__).parents[3] / "docs" / "reference" / "rpc.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([A-Z_]+)` \| (\d{3}) \| (.*) \|$", page, re.MULTILINE)
    assert rows == [(problem.value, str(problem.status), problem.meaning) for problem in Problem]
