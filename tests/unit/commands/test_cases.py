"""Cases that do not end as their files say, or say it in a form that proves nothing."""

import json
from pathlib import Path

import pytest

from sshfacts.commands.cases import CaseCounts, check_cases
from tests.support.sites import CONTRACTS, SiteFiles

OUT = b'{"mounts": [{"path": "/", "free_bytes": 1000}]}\n'
FACTS = '{facts: {mounts: [{path: "/", free_bytes: 1000}]}}'
REFUSED = "{refused: document, detail: contract.document}"
HEAD = 'host: web-1\nat: "2026-11-30T10:00:00Z"\nexit: 0\nfrom: made by hand\n'


def check(tmp_path: Path, files: dict[str, bytes | str]) -> CaseCounts:
    cases = tmp_path / "schemas" / "disk" / "cases"
    cases.mkdir(parents=True)
    for name, content in files.items():
        (cases / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return check_cases(SiteFiles(tmp_path).load().operations["disk"])


def case(expect: str, head: str = HEAD) -> str:
    return f"{head}expect: {expect}\n"


def pair(name: str, body: bytes, expect: str) -> dict[str, bytes | str]:
    return {f"{name}.out": body, f"{name}.yaml": case(expect)}


EXTRA = pair("extra", b'{"mounts": [], "more": 1}\n', REFUSED)
GOOD = pair("good", OUT, FACTS)


def codes(result: CaseCounts) -> list[str]:
    return [finding.code for finding in result.findings]


def test_cases_that_end_as_they_say_are_counted(tmp_path: Path):
    result = check(tmp_path, {**GOOD, **EXTRA})

    assert (result.accepted, result.refused, result.findings) == (1, 1, ())
    assert result.near_misses > 100


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        (pair("good", OUT, FACTS.replace("1000", "999")), "case.differs"),
        (pair("good", OUT, FACTS.replace("1000", "1000.0")), "case.differs"),
        (pair("more", OUT, REFUSED), "case.differs"),
        (pair("good", b"{}\n", FACTS), "case.differs"),
        (pair("more", b"{}\n", "{refused: facts, detail: contract.facts}"), "case.differs"),
        (pair("more", OUT, "{refused: document}"), "case.expect"),
        (pair("more", OUT, "{detail: contract.document}"), "case.expect"),
        (pair("more", OUT, "{}"), "case.expect"),
        (pair("more", OUT, "{refused: document, detail: contract.document, facts: {}}"), "case.expect"),
        (pair("more", OUT, "{refused: facts, detail: contract.document}"), "case.detail"),
        (pair("more", OUT, "{refused: facts, detail: contract.fact}"), "case.detail"),
        (pair("more", OUT, "{refused: fact, detail: contract.facts}"), "field.choice"),
        ({"more.yaml": case(REFUSED)}, "source.missing"),
        ({"more.out": OUT}, "case.stray_output"),
        ({"more.out": OUT, "more.yaml": case(REFUSED, HEAD.replace("exit: 0", "exit: 256"))}, "field.range"),
        ({"more.out": OUT, "more.yaml": case(REFUSED, HEAD.replace("2026-11-30T", "30-11-2026T"))}, "field.pattern"),
        ({"more.out": OUT, "more.yaml": case(REFUSED, HEAD.replace("host:", "hots:"))}, "field.unknown"),
        ({"more.out": OUT, "more.yaml": case(REFUSED, HEAD.replace("from: made by hand\n", ""))}, "field.missing"),
    ],
)
def test_one_case_that_is_wrong_is_one_finding(tmp_path: Path, changed, code):
    assert codes(check(tmp_path, {**GOOD, **EXTRA, **changed})) == [code]


def test_the_finding_shows_both_ends(tmp_path: Path):
    [finding] = check(tmp_path, {**GOOD, **EXTRA, **pair("good", b"{}\n", FACTS)}).findings

    assert finding.path.endswith("schemas/disk/cases/good.yaml")
    assert 'expected the facts {"mounts"' in finding.what
    assert "got a refusal by document with contract.document (required" in finding.what


def test_both_kinds_of_cases_are_needed(tmp_path: Path):
    assert codes(check(tmp_path, GOOD)) == ["case.none_refused"]


def test_an_operation_without_cases_has_two_findings(tmp_path: Path):
    assert codes(check(tmp_path, {})) == ["case.none_accepted", "case.none_refused"]


def test_a_case_is_judged_by_its_exit_status_before_its_output(tmp_path: Path):
    failed = HEAD.replace("exit: 0", "exit: 1")
    cases = {"failed.out": b"usage\n", "failed.yaml": case("{refused: run, detail: command.exit_status}", failed)}

    assert check(tmp_path, {**GOOD, **cases}).findings == ()


def test_a_flood_is_refused_whatever_its_exit_status(tmp_path: Path):
    failed = HEAD.replace("exit: 0", "exit: 1")
    cases = {"flood.out": b" " * 9000, "flood.yaml": case("{refused: read, detail: output.too_large}", failed)}

    assert check(tmp_path, {**GOOD, **cases}).findings == ()


def test_a_real_time_is_asked_for(tmp_path: Path):
    wrong = HEAD.replace("2026-11-30", "2026-02-30")

    files = {**GOOD, **EXTRA, "more.out": OUT, "more.yaml": case(REFUSED, wrong)}

    assert codes(check(tmp_path, files)) == ["field.pattern"]


def test_near_misses_are_made_only_of_cases_that_end_as_they_say(tmp_path: Path):
    result = check(tmp_path, {**pair("good", OUT, FACTS.replace("1000", "999")), **EXTRA})

    assert codes(result) == ["case.differs"]
    assert result.near_misses == 0


def test_a_near_miss_that_is_let_through_is_a_finding_at_its_case(tmp_path: Path):
    path = {"type": "string", "maxLength": 60, "pattern": "^(/|[A-Za-z ]+[.])$"}
    contracts = json.loads(json.dumps(CONTRACTS))
    contracts["disk/facts.v1"]["properties"]["mounts"]["items"]["properties"]["path"] = path
    cases = tmp_path / "schemas" / "disk" / "cases"
    cases.mkdir(parents=True)
    for name, content in {**GOOD, **EXTRA}.items():
        (cases / name).write_bytes(content.encode() if isinstance(content, str) else content)

    result = check_cases(SiteFiles(tmp_path, contracts=contracts).load().operations["disk"])

    assert {(finding.code, Path(finding.path).name) for finding in result.findings} == {("case.near_miss", "good.yaml")}
    assert "the facts contract let through a sentence at /mounts/*/path" in [one.what for one in result.findings]
