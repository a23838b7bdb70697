"""The closed registry of details, and its page."""

import pytest

from sshfacts.errors import DETAILS, Code, Finding, Refusal, SiteError, Stage
from tests.support.error_page import PAGE, page


def test_the_page_of_error_codes_is_current():
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_code_and_every_stage_has_a_detail():
    assert {entry.code for entry in DETAILS.values()} == set(Code)
    assert {entry.stage for entry in DETAILS.values()} == set(Stage)


@pytest.mark.parametrize("entry", DETAILS.values(), ids=lambda entry: entry.name)
def test_every_detail_is_explained_in_sentences(entry):
    for text in (entry.meaning, entry.fix):
        assert len(text) > 20
        assert text.endswith(".")


def test_a_detail_outside_the_registry_cannot_be_raised():
    with pytest.raises(KeyError):
        Refusal("output.new_kind")


def test_a_refusal_says_where_in_its_text():
    assert str(Refusal("output.syntax", "byte 12")) == "output.syntax (byte 12)"
    assert str(Refusal("output.syntax")) == "output.syntax"


def test_findings_are_sorted_and_all_shown():
    second = Finding("b.yaml", 2, 1, "field.unknown", "what", "why", "fix")
    first = Finding("a.yaml", 9, 3, "field.unknown", "what", "why", "fix")

    error = SiteError([second, first])

    assert error.findings == (first, second)
    assert str(error).startswith("a.yaml:9:3: error[field.unknown]: what\n  why: why\n  fix: fix\nb.yaml:2:1:")
