"""Holds an operation to its near misses: what is one flaw away from a case that gives facts must be refused."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import chain
from pathlib import Path

from sshfacts.commands.captured import Captured, facts_of
from sshfacts.commands.findings import Findings, Place
from sshfacts.commands.near_miss_envelopes import envelope_flaws
from sshfacts.commands.near_miss_outputs import output_flaws
from sshfacts.commands.near_misses import near_misses
from sshfacts.commands.operation import Operation
from sshfacts.errors import Code, Refusal, Stage
from sshfacts.schemas.checks import CheckKind
from sshfacts.schemas.contract import Contract
from sshfacts.schemas.envelope import success
from sshfacts.schemas.profile import Kind
from sshfacts.values import JsonObject, JsonValue

MOST = 1_000
"""Near misses of one contract of an operation, shared among its cases: enough to break every rule of a large contract,
and little enough to try in a second."""

_REQUEST_ID = "req.nearmiss"
_LONG = timedelta(days=366)


@dataclass(frozen=True, slots=True)
class Accepted:
    """A case that gives facts."""

    path: Path
    captured: Captured


@dataclass(frozen=True, slots=True)
class _Verdict:
    """What became of one near miss."""

    gate: str
    """What must refuse it."""
    flaw: str
    """What is wrong with it, and where."""
    passed: bool


@dataclass(slots=True)
class _Answer:
    """What the stages make of a case; an observer of them."""

    made: dict[Stage, JsonValue] = field(default_factory=dict)

    def passed(self, stage: Stage, result: JsonValue) -> None:
        """Keep what a stage hands on."""
        self.made[stage] = result

    def refused(self, refusal: Refusal) -> None:
        """Nothing to keep."""


def check_near_misses(operation: Operation, cases: Sequence[Accepted], findings: Findings) -> int:
    """Try near misses of the cases of an operation, and report those that are let through.

    Returns:
        How many were tried.
    """
    share = MOST // max(len(cases), 1) + 1
    tried = 0
    for case in cases:
        through: dict[str, list[str]] = {}
        for verdict in _verdicts(operation, case.captured, share):
            tried += 1
            if verdict.passed:
                through.setdefault(verdict.gate, []).append(verdict.flaw)
        for gate, flaws in through.items():
            more = f", and {len(flaws) - 1} more near misses" if len(flaws) > 1 else ""
            what = f"{gate} let through {flaws[0]}{more}"
            findings.add("case.near_miss", Place(str(case.path)), what, "tighten it, and add a case for it")
    return tried


def _verdicts(operation: Operation, captured: Captured, share: int) -> Iterator[_Verdict]:
    answer = _Answer()
    facts = facts_of(operation, captured, answer)
    envelope = success(operation.name, _REQUEST_ID, captured.host, captured.at, facts)
    return chain(
        _of_contract("the document contract", operation.output.contract, answer.made[Stage.READ], share),
        _of_contract("the facts contract", operation.facts_contract, facts, share),
        _of_envelope(operation, envelope, share),
        _of_output(operation, captured),
        _of_clock(operation, captured),
    )


def _of_contract(gate: str, contract: Contract, value: JsonValue, share: int) -> Iterator[_Verdict]:
    for near_miss in near_misses(contract, value, share):
        flaw = f"{near_miss.flaw} at {near_miss.place}" if near_miss.place else near_miss.flaw
        yield _Verdict(gate, flaw, contract.violation(near_miss.value) is None)


def _of_envelope(operation: Operation, envelope: JsonObject, share: int) -> Iterator[_Verdict]:
    contract = Contract(operation.envelope.success_schema, Kind.FACTS)
    yield from _of_contract("the envelope's contract", contract, envelope, share)
    for flaw, flawed in envelope_flaws(envelope):
        try:
            operation.envelope.validate(flawed)
        except Refusal:
            passed = False
        else:
            passed = True
        yield _Verdict("the envelope's contract", flaw, passed)


def _of_output(operation: Operation, captured: Captured) -> Iterator[_Verdict]:
    for flaw, stdout in output_flaws(operation.output.format, captured.stdout):
        yield _Verdict("the reader", flaw, _is_answer(operation, replace(captured, stdout=stdout)))


def _of_clock(operation: Operation, captured: Captured) -> Iterator[_Verdict]:
    """A freshness check has two sides: an answer of last year is too old, and one of next year a lie."""
    if any(check.kind is CheckKind.FRESHNESS for check in operation.checks):
        for flaw, at in (("an old answer", captured.at + _LONG), ("an answer from the future", captured.at - _LONG)):
            yield _Verdict("the freshness checks", flaw, _is_answer(operation, replace(captured, at=at)))


def _is_answer(operation: Operation, captured: Captured) -> bool:
    """Tell whether an agent would take it for an answer: that something does not exist is one as well."""
    try:
        facts_of(operation, captured)
    except Refusal as refusal:
        return refusal.code is not Code.INVALID_RESPONSE
    return True
