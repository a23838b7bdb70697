"""Compiles what becomes of the output: limits, contracts, rules and the selection."""

from dataclasses import fields, replace
from pathlib import Path

from sshfacts.adapters.formats import PythonAdapter
from sshfacts.commands import names
from sshfacts.commands.adapter_lint import lint_adapter
from sshfacts.commands.command_fields import REJECT
from sshfacts.commands.command_file import CommandFile, OutputFile
from sshfacts.commands.contracts import Contracts, LoadedContract
from sshfacts.commands.findings import Findings, Unreadable
from sshfacts.commands.operation import Output
from sshfacts.commands.source import Pointer, Source, read_text, require_inside
from sshfacts.limits import CEILINGS, DEFAULTS, KIB, ReadLimits
from sshfacts.schemas.checks import ANSWER_NAMES, REQUEST_NAMES, Check, CheckKind, Rule, rule_problems
from sshfacts.schemas.profile import Kind
from sshfacts.schemas.selection import Selection, selection_problems

ADAPTER_BYTES = 64 * KIB
"""One adapter's code."""
_JUDGED = REQUEST_NAMES | {"document"}
"""What `not_found` may mention: whether something exists does not depend on the clock."""


def compile_limits(given: OutputFile, ceilings: ReadLimits, source: Source, findings: Findings) -> ReadLimits:
    """Return the limits of the file, with the service's defaults where it has none."""
    chosen: dict[str, int] = {}
    for limit in fields(ReadLimits):
        wanted: int | None = getattr(given, limit.name)
        ceiling: int = getattr(ceilings, limit.name)
        if wanted is not None and ceiling < wanted <= getattr(CEILINGS, limit.name):  # over that, the field says so
            what = f"output.{limit.name} is {wanted}, over the site's ceiling"
            findings.add("limits.ceiling", source.place(("output", limit.name)), what, f"use at most {ceiling}")
        chosen[limit.name] = wanted if wanted is not None else min(getattr(DEFAULTS, limit.name), ceiling)
    return ReadLimits(**chosen)


def compile_output(
    given: OutputFile,
    limits: ReadLimits,
    contract: LoadedContract,
    adapter: bytes | None,
    source: Source,
    findings: Findings,
) -> Output:
    """Return how stdout is read.

    Args:
        adapter: the code that was digested, and that the worker is to run.
    """
    rejects = given.empty == REJECT
    if not rejects:
        violation = contract.contract.violation(given.empty)
        if violation is not None:
            what = f"the document contract refuses it: {violation}"
            findings.add(
                "output.empty_document",
                source.place(("output", "empty")),
                what,
                "write `reject`, or correct one of the two",
            )
    form = given.format
    return Output(
        format=replace(form, source=adapter) if isinstance(form, PythonAdapter) and adapter is not None else form,
        limits=limits,
        empty=None if rejects else given.empty,
        rejects_empty=rejects,
        contract_name=given.document,
        contract=contract.contract,
    )


def read_adapter(given: OutputFile, root: Path, source: Source, findings: Findings) -> bytes | None:
    """Return the adapter's code; None when the format needs none, or the findings say why there is none."""
    if not isinstance(given.format, PythonAdapter) or not names.ADAPTER.accepts(given.format.name):
        return None
    path = root / "adapters" / f"{given.format.name}.py"
    if not path.is_file():
        place = source.place(("output", "format", "adapter"))
        findings.add("output.adapter", place, f"there is no file {path}", "write the adapter, or correct the name")
        return None
    try:
        require_inside(root, path, findings)
        code = read_text(path, ADAPTER_BYTES, findings)
    except Unreadable:
        return None
    lint_adapter(code, path, findings)
    return code.encode()


def load_contracts(
    given: CommandFile, contracts: Contracts, source: Source
) -> tuple[LoadedContract | None, LoadedContract | None]:
    """Return the contracts of document and facts."""
    document = contracts.load(given.output.document, Kind.DOCUMENT, source.place(("output", "document")))
    facts = contracts.load(given.facts.contract, Kind.FACTS, source.place(("facts", "contract")))
    return document, facts


def compile_checks(given: CommandFile, source: Source, findings: Findings) -> tuple[Check, ...]:
    """Return the checks; those whose rule cannot be compiled are left out."""
    compiled: list[Check] = []
    for index, check in enumerate(given.checks):
        pointer = ("checks", str(index))
        if check.name in [other.name for other in given.checks[:index]]:
            findings.add(
                "checks.repeated",
                source.place((*pointer, "name")),
                f"{check.name!r} stands there already",
                "rename one of them",
            )
        rule = _rule(check.rule, ANSWER_NAMES, check.kind, (*pointer, "rule"), source, findings)
        if rule is not None:
            compiled.append(Check(check.name, check.kind, rule))
    _require_tie(given, source, findings)
    return tuple(compiled)


def _require_tie(given: CommandFile, source: Source, findings: Findings) -> None:
    """An operation has a check that ties its answer to the question or the clock, or says why not."""
    tied = any(check.kind is not CheckKind.CONSISTENCY for check in given.checks)
    if not tied and given.unbound_because is None:
        fix = "add a check of kind binding or freshness, or say in `unbound_because` why there can be none"
        findings.add(
            "checks.unbound",
            source.place(("checks",), key=True),
            "no check ties the answer to the request or the clock",
            fix,
        )
    elif tied and given.unbound_because is not None:
        place = source.place(("unbound_because",), key=True)
        findings.add("checks.unbound", place, "there is a binding or freshness check", "leave `unbound_because` out")


def compile_not_found(given: CommandFile, source: Source, findings: Findings) -> Rule | None:
    """Return the rule that tells when the thing asked for does not exist."""
    return _optional_rule(given.not_found, _JUDGED, "not_found", source, findings)


def compile_ask_when(given: CommandFile, source: Source, findings: Findings) -> Rule | None:
    """Return the rule that tells which calls a person must approve."""
    return _optional_rule(given.ask_when, REQUEST_NAMES, "ask_when", source, findings)


def _optional_rule(
    text: str | None, known: frozenset[str], field: str, source: Source, findings: Findings
) -> Rule | None:
    return None if text is None else _rule(text, known, None, (field,), source, findings)


def _rule(
    text: str, known: frozenset[str], kind: CheckKind | None, pointer: Pointer, source: Source, findings: Findings
) -> Rule | None:
    problems = rule_problems(text, known, kind)
    for problem in problems:
        findings.add_problem(problem, source.place(pointer))
    return None if problems else Rule(text, known)


def compile_selection(
    given: CommandFile, facts: LoadedContract | None, source: Source, findings: Findings
) -> Selection | None:
    """Return the selection; its names must be those of the facts contract."""
    place = source.place(("facts", "select"))
    problems = selection_problems(given.facts.select)
    for problem in problems:
        findings.add_problem(problem, place)
    if problems:
        return None
    selection = Selection(given.facts.select)
    if facts is not None:
        described = facts.contract.schema.get("properties")
        promised = frozenset(described) if isinstance(described, dict) else frozenset()
        for name in sorted(promised - selection.names):
            findings.add(
                "facts.names",
                place,
                f"the contract has {name!r}, the selection has not",
                "select it, or take it out of the contract",
            )
        for name in sorted(selection.names - promised):
            findings.add(
                "facts.names",
                place,
                f"the selection has {name!r}, the contract has not",
                "describe it in the contract, or leave it out",
            )
    return selection
