"""An operation is held to its near misses; what is let through is told without any value."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sshfacts.builtin import builtin_site
from sshfacts.commands.captured import Captured
from sshfacts.commands.cases import check_cases
from sshfacts.commands.findings import Findings
from sshfacts.commands.near_miss_check import MOST, Accepted, check_near_misses
from sshfacts.commands.operation import Operation
from sshfacts.commands.site import load_site
from sshfacts.errors import Finding
from sshfacts.schemas.contract import Contract
from sshfacts.values import JsonValue
from tests.support.sites import BACKUP, CONTRACTS, UNIT, SiteFiles

AT = datetime(2026, 11, 30, 10, tzinfo=UTC)
UNIT_CASE = Accepted(Path("good.yaml"), Captured(b"Id=nginx\nState=zz-marker\n", 0, {"unit": "nginx"}, "web-1", AT))
BACKUP_OUT = (Path(__file__).parents[2] / "layers" / "good.out").read_bytes()
BACKUP_CASE = Accepted(Path("good.yaml"), Captured(BACKUP_OUT, 0, {"job": "nightly"}, "web-1", AT))
WORDS = {"type": "string", "maxLength": 60, "pattern": "^([a-z-]+|[A-Z][a-z ]+[.])$"}


class Accepting(Contract):
    """A contract whose engine is broken."""

    def violation(self, value: JsonValue) -> str | None:  # noqa: ARG002 - the method that it replaces
        return None


def operation(tmp_path: Path, name: str, text: str, **contracts: dict[str, object]) -> Operation:
    return SiteFiles(tmp_path, {name: text}, {**CONTRACTS, **contracts}).load().operations[name]


def findings_of(checked: Operation, case: Accepted) -> list[Finding]:
    findings = Findings()
    check_near_misses(checked, [case], findings)
    return list(findings.sorted())


@pytest.mark.parametrize(("name", "text", "case"), [("unit", UNIT, UNIT_CASE), ("backup", BACKUP, BACKUP_CASE)])
def test_a_good_operation_lets_none_through(tmp_path: Path, name: str, text: str, case: Accepted):
    assert findings_of(operation(tmp_path, name, text), case) == []


def test_a_text_of_facts_that_may_be_a_sentence_is_found(tmp_path: Path):
    facts = {**CONTRACTS["unit/facts.v1"]}
    facts["properties"] = {**facts["properties"], "state": WORDS}  # type: ignore[dict-item] # an object
    lax = operation(tmp_path, "unit", UNIT, **{"unit/facts.v1": facts})

    found = findings_of(lax, UNIT_CASE)

    assert [finding.what for finding in found] == [
        "the envelope's contract let through a sentence at /data/state",
        "the facts contract let through a sentence at /state",
    ]
    assert {(finding.code, finding.path) for finding in found} == {("case.near_miss", "good.yaml")}
    assert "zz-marker" not in "".join(map(str, found))


@pytest.mark.parametrize(
    ("check", "flaw"),
    [("not_too_old", "an old answer"), ("clocks_agree", "an answer from the future")],
)
def test_a_freshness_check_with_one_side_is_found(tmp_path: Path, check: str, flaw: str):
    one_sided = "".join(line for line in BACKUP.splitlines(keepends=True) if check not in line)

    [finding] = findings_of(operation(tmp_path, "backup", one_sided), BACKUP_CASE)

    assert finding.what == f"the freshness checks let through {flaw}"


def test_a_contract_that_is_not_applied_is_found_once_and_counted(tmp_path: Path):
    unit = operation(tmp_path, "unit", UNIT)
    contract = unit.output.contract
    broken = replace(unit, output=replace(unit.output, contract=Accepting(contract.schema, contract.kind)))

    [finding] = findings_of(broken, UNIT_CASE)

    assert finding.what.startswith("the document contract let through an array for an object, and ")
    assert finding.what.endswith(" more near misses")
    assert "zz-marker" not in str(finding)


def test_an_envelope_that_is_not_checked_is_found(tmp_path: Path):
    unit = operation(tmp_path, "unit", UNIT)
    unchecked = replace(unit, envelope=_Unchecked(unit.envelope.success_schema))  # type: ignore[arg-type] # stands for it

    [finding] = findings_of(unchecked, UNIT_CASE)

    assert finding.what.startswith("the envelope's contract let through success that also has an error, and ")


class _Unchecked:
    def __init__(self, success_schema):
        self.success_schema = success_schema

    def validate(self, envelope: JsonValue) -> None:
        """Accept it, whatever it is."""


def test_a_reader_that_lets_something_through_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(
        "sshfacts.commands.near_miss_check.output_flaws", lambda *_: [("no flaw at all", UNIT_CASE.captured.stdout)]
    )

    [finding] = findings_of(operation(tmp_path, "unit", UNIT), UNIT_CASE)

    assert finding.what == "the reader let through no flaw at all"


def test_that_something_does_not_exist_is_an_answer_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(
        "sshfacts.commands.near_miss_check.output_flaws", lambda *_: [("not found", b"Id=nginx\nState=not-found\n")]
    )

    [finding] = findings_of(operation(tmp_path, "unit", UNIT), UNIT_CASE)

    assert finding.what == "the reader let through not found"


def test_the_near_misses_of_one_contract_are_bounded():
    site = load_site(builtin_site(), need_settings=False)

    for checked in site.operations.values():
        counts = check_cases(checked)
        # Three contracts, and per case some dozens of outputs and envelopes.
        assert 300 < counts.near_misses <= 3 * (MOST + counts.accepted) + 200 * counts.accepted
        assert counts.findings == ()


def test_without_a_case_there_is_nothing_to_try(tmp_path: Path):
    assert check_near_misses(operation(tmp_path, "unit", UNIT), [], Findings()) == 0
