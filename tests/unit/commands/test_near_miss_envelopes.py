"""Near misses of envelopes: an agent gets facts or a code, and nothing that is a bit of both."""

from datetime import UTC, datetime

import pytest

from sshfacts.commands.near_miss_envelopes import envelope_flaws
from sshfacts.errors import Code, Refusal
from sshfacts.schemas.envelope import EnvelopeContract, failure, success
from tests.support.contracts import of_one

AT = datetime(2026, 11, 30, 10, tzinfo=UTC)
GOOD = success("disk", "req.J7q94MkP", "web-1", AT, {"a": True})
CONTRACT = EnvelopeContract("disk", of_one({"type": "boolean"}))
FLAWS = list(envelope_flaws(GOOD))


def test_what_they_are_made_from_is_accepted():
    CONTRACT.validate(GOOD)
    CONTRACT.validate(failure("disk", "req.J7q94MkP", Code.INVALID_RESPONSE))
    CONTRACT.validate(failure("disk", "req.J7q94MkP", Code.APPROVAL_REQUIRED, approval_id="apr.8s2Kd03L"))


@pytest.mark.parametrize(("flaw", "envelope"), FLAWS, ids=[flaw for flaw, _ in FLAWS])
def test_every_near_miss_is_refused(flaw: str, envelope):
    with pytest.raises(Refusal) as caught:
        CONTRACT.validate(envelope)

    assert caught.value.detail == "internal", flaw


@pytest.mark.parametrize(
    "flaw",
    [
        "success that also has an error",
        "failure that also has data",
        "success without an outcome",
        "failure without an outcome",
        "an unknown code",
        "success of another tool",
        "failure of another tool",
    ],
)
def test_the_ones_that_matter_most_are_among_them(flaw: str):
    assert flaw in dict(FLAWS)


def test_every_flaw_has_a_name_of_its_own():
    assert len(dict(FLAWS)) == len(FLAWS) > 35


def test_they_are_made_from_any_facts():
    for data in ({}, {"near_miss": True}):
        for _, envelope in envelope_flaws({**GOOD, "data": {**GOOD["data"], **data}}):  # type: ignore[dict-item] # an object
            with pytest.raises(Refusal):
                CONTRACT.validate(envelope)
