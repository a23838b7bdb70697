"""Cases: captured stdout, and exactly what must come of it.

A case is `schemas/NAME/cases/CASE.out`, bytes as captured, with `CASE.yaml` beside it. It says which
facts must come out, or which stage must refuse and with which detail, and it is judged by the stages of
a live call. Every operation has at least one case of each kind: a contract that was never seen to refuse
anything proves nothing. From each case that gives facts near misses are made, and all of them must be refused.
"""

import json
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sshfacts.commands import names
from sshfacts.commands.captured import Captured, facts_of
from sshfacts.commands.findings import Findings, Place, Unreadable, suggestion
from sshfacts.commands.near_miss_check import Accepted, check_near_misses
from sshfacts.commands.operation import Operation
from sshfacts.commands.records import Field, MapOf, Record
from sshfacts.commands.shapes import Anything, Choice, Integer, Shape, Text
from sshfacts.commands.source import Node
from sshfacts.commands.yaml_source import read_yaml
from sshfacts.errors import DETAILS, Finding, Refusal, Stage
from sshfacts.limits import COMMAND_FILE_BYTES, MIB
from sshfacts.values import JsonObject, JsonValue

CASE_BYTES = 4 * MIB
"""One captured output: enough to show that the highest ceiling of 1 MiB holds."""
_TIME = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{3}|\.[0-9]{6})?Z"
_FORM = "an RFC 3339 time in UTC, such as 2026-11-30T10:00:00Z"
_SHOWN = 300


@dataclass(frozen=True, slots=True)
class Expectation:
    """What must come of a case: `facts`, or a refusal by a stage with a detail."""

    facts: JsonValue = None
    refused: Stage | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class CaseFile:
    """One case as its file says it."""

    host: str
    at: datetime
    exit: int
    source: JsonValue
    expect: Expectation
    arguments: dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class CaseCounts:
    """How many cases of an operation there are of each kind, how many near misses were tried, and what was found."""

    accepted: int
    refused: int
    near_misses: int
    findings: tuple[Finding, ...]


class Instant(Shape[datetime]):
    """A time in UTC, as RFC 3339 writes it."""

    def read(self, node: Node, findings: Findings) -> datetime:
        """Return the time; a day that the calendar does not have is no time."""
        if isinstance(node.value, str) and re.fullmatch(_TIME, node.value, re.ASCII):
            with suppress(ValueError):
                return datetime.fromisoformat(node.value)
        raise findings.stop("field.pattern", node.place, f"{node.label} is no time", f"write {_FORM}")

    def schema(self) -> JsonObject:
        """Return the schema of the text."""
        return {"type": "string", "pattern": f"^{_TIME}$"}


_EXPECT = Record(
    Expectation,
    {
        "facts": Field(Anything(), "The facts, compared exactly; without `host` and `collected_at`."),
        "refused": Field(Choice(Stage), "The stage that must refuse."),
        "detail": Field(Text(40), "The detail it must refuse with."),
    },
)


def _case_file(**values: object) -> CaseFile:
    """Build a case; `from` is a word of the language and cannot be the name of a field."""
    return CaseFile(source=values.pop("from"), **{"arguments": {}, **values})  # type: ignore[arg-type]  # checked by shape


CASE = Record(
    _case_file,
    {
        "host": Field(names.LABEL.text(), "Alias of the host that the answer came from.", must=True),
        "at": Field(Instant(), "The moment of answering.", must=True),
        "arguments": Field(MapOf(names.ARGUMENT.pattern, names.ARGUMENT.form, Anything(), 32), "What was asked with."),
        "exit": Field(Integer(0, 255), "The exit status.", must=True),
        "from": Field(Anything(), "Where it was captured, or how it was made.", must=True),
        "expect": Field(_EXPECT, "What must come of it.", must=True),
    },
)


def check_cases(operation: Operation) -> CaseCounts:
    """Judge every case of an operation and the near misses of those that give facts; report each that ends wrongly."""
    findings = Findings()
    folder = operation.path.parent.parent / "schemas" / operation.name / "cases"
    accepted = refused = 0
    good: list[Accepted] = []
    for path in sorted(folder.glob("*.yaml")):
        try:
            case = _read_case(path, findings)
            stdout = _read_stdout(path.with_suffix(".out"), findings)
        except Unreadable:
            continue  # The findings already say why.
        captured = Captured(stdout, case.exit, case.arguments, case.host, case.at)
        as_expected = _judge(operation, case, captured, Place(str(path)), findings)
        if case.expect.refused is not None:
            refused += 1
            continue
        accepted += 1
        if as_expected:
            good.append(Accepted(path, captured))
    _require_coverage(folder, accepted, refused, findings)
    return CaseCounts(accepted, refused, check_near_misses(operation, good, findings), findings.sorted())


def _require_coverage(folder: Path, accepted: int, refused: int, findings: Findings) -> None:
    place = Place(str(folder))
    if not accepted:
        findings.add(
            "case.none_accepted", place, "no case shows an answer that is accepted", "capture one with its facts"
        )
    if not refused:
        findings.add("case.none_refused", place, "no case shows an answer that is refused", "cut or change a good one")
    for path in sorted(folder.glob("*.out")):
        if not path.with_suffix(".yaml").is_file():
            findings.add(
                "case.stray_output", Place(str(path)), "no case file stands beside it", "write one, or remove it"
            )


def _read_case(path: Path, findings: Findings) -> CaseFile:
    already = len(findings)
    source = read_yaml(path, COMMAND_FILE_BYTES, findings)
    case = CASE.read(source.root, findings)
    if len(findings) > already:
        raise Unreadable  # A case with a fault of its own is not judged, since its verdict would prove nothing.
    expect = case.expect
    if (expect.refused is None) == (expect.facts is None) or (expect.refused is None) != (expect.detail is None):
        place = source.place(("expect",))
        raise findings.stop("case.expect", place, "this is not one of the two", "write facts, or refused with detail")
    entry = DETAILS.get(expect.detail) if expect.detail is not None else None
    if expect.detail is not None and (entry is None or entry.stage is not expect.refused):
        fix = suggestion(expect.detail, DETAILS, "see `sshfacts explain` for the details of each stage")
        raise findings.stop("case.detail", source.place(("expect", "detail")), "the stage has no such detail", fix)
    return case


def _read_stdout(path: Path, findings: Findings) -> bytes:
    place = Place(str(path))
    try:
        stdout = path.read_bytes()
    except OSError:
        raise findings.stop("source.missing", place, "the captured output is missing", "put it here") from None
    if len(stdout) > CASE_BYTES:
        raise findings.stop("source.size", place, f"the file has more than {CASE_BYTES} bytes", "make it smaller")
    return stdout


def _judge(operation: Operation, case: CaseFile, captured: Captured, place: Place, findings: Findings) -> bool:
    """Tell whether a case ends as its file says; add a finding if it does not."""
    expected = _told(case.expect.facts, case.expect.refused, case.expect.detail)
    try:
        got = _told(facts_of(operation, captured), None, None)
    except Refusal as refusal:
        got = _told(None, refusal.stage, refusal.detail)
        where = f" ({refusal.where})" if refusal.where else ""
    else:
        where = ""
    if got != expected:
        what = f"expected {expected[:_SHOWN]}, got {got[:_SHOWN]}{where}"
        findings.add("case.differs", place, what, "correct the operation, or the case if its author was wrong")
    return got == expected


def _told(facts: JsonValue, refused: Stage | None, detail: str | None) -> str:
    """Return an end of a case in a form that is equal only for equal ends: 1, 1.0 and true are three values."""
    if refused is not None:
        return f"a refusal by {refused} with {detail}"
    return f"the facts {json.dumps(facts, ensure_ascii=True, sort_keys=True)}"
