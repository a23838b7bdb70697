"""From a command file to an operation: reads it, checks it against all it names, and freezes it."""

from dataclasses import dataclass
from pathlib import Path

from sshfacts.commands import compile_answer as answers
from sshfacts.commands import names
from sshfacts.commands.command_fields import COMMAND
from sshfacts.commands.command_file import CommandFile, Decision
from sshfacts.commands.compile_arguments import compile_arguments
from sshfacts.commands.compile_run import compile_run
from sshfacts.commands.contracts import Contracts
from sshfacts.commands.digest import operation_digest
from sshfacts.commands.findings import Findings, Place, Unreadable
from sshfacts.commands.operation import Effect, Operation, Status
from sshfacts.commands.source import Source, require_inside
from sshfacts.commands.yaml_source import read_yaml
from sshfacts.limits import COMMAND_FILE_BYTES, ReadLimits
from sshfacts.schemas.envelope import HOSTS_TOOL, UNKNOWN_TOOL, EnvelopeContract

_RESERVED = (UNKNOWN_TOOL, HOSTS_TOOL)


@dataclass(frozen=True, slots=True)
class Workbench:
    """What the command files of one site are compiled with."""

    root: Path
    ceilings: ReadLimits
    contracts: Contracts
    findings: Findings


def compile_operation(path: Path, bench: Workbench) -> Operation | None:
    """Return the operation of a command file, or None when the findings say why there is none."""
    before = len(bench.findings)
    if not names.OPERATION.accepts(path.stem) or path.stem in _RESERVED:
        fix = f"use {names.OPERATION.form}; the service itself uses {' and '.join(map(repr, _RESERVED))}"
        bench.findings.add("name.pattern", Place(str(path)), f"{path.stem!r} is no name of an operation", fix)
    try:
        require_inside(bench.root, path, bench.findings)
        source = read_yaml(path, COMMAND_FILE_BYTES, bench.findings)
        given = COMMAND.read(source.root, bench.findings)
    except Unreadable:
        return None
    operation = _compile(given, source, path, bench)
    return operation if len(bench.findings) == before else None


def _compile(given: CommandFile, source: Source, path: Path, bench: Workbench) -> Operation | None:
    """Check everything, so that one run shows all there is; build only when every part is there."""
    findings = bench.findings
    _check_life(given, source, findings)
    arguments = compile_arguments(given.arguments, source, findings)
    run = compile_run(given.run, given.arguments, source, findings)
    document, facts = answers.load_contracts(given, bench.contracts, source)
    limits = answers.compile_limits(given.output, bench.ceilings, source, findings)
    adapter = answers.read_adapter(given.output, bench.root, source, findings)
    not_found = answers.compile_not_found(given, source, findings)
    ask_when = answers.compile_ask_when(given, source, findings)
    checks = answers.compile_checks(given, source, findings)
    selection = answers.compile_selection(given, facts, source, findings)
    if arguments is None or document is None or facts is None or selection is None:
        return None
    return Operation(
        name=path.stem,
        title=given.title,
        use_when=given.use_when,
        owner=given.owner,
        status=given.status,
        use_instead=given.use_instead,
        effect=given.effect,
        grants=given.grants,
        asks=_asks(given),
        ask_when=ask_when,
        host_groups=given.hosts,
        needs=given.needs,
        arguments=arguments.arguments,
        arguments_contract=arguments.contract,
        run=run,
        output=answers.compile_output(given.output, limits, document, adapter, source, findings),
        not_found=not_found,
        checks=checks,
        unbound_because=given.unbound_because,
        facts_contract_name=given.facts.contract,
        facts_contract=facts.contract,
        selection=selection,
        envelope=EnvelopeContract(path.stem, facts.contract.schema),
        retry=given.retry,
        raw=given.raw,
        digest=operation_digest(source.value, document.source.value, facts.source.value, adapter),
        path=path,
    )


def _asks(given: CommandFile) -> bool:
    """A change asks unless its file says otherwise."""
    if given.decision is None:
        return given.effect is Effect.CHANGE
    return given.decision is Decision.ASK


def _check_life(given: CommandFile, source: Source, findings: Findings) -> None:
    """Check the fields that say when an operation is served, asked about and repeated."""
    if given.status is Status.DEPRECATED and given.use_instead is None:
        place = source.place(("status",))
        findings.add("status.use_instead", place, "a deprecated operation names no other", "add `use_instead`")
    elif given.status is not Status.DEPRECATED and given.use_instead is not None:
        place = source.place(("use_instead",), key=True)
        findings.add("status.use_instead", place, "the operation is not deprecated", "leave `use_instead` out")
    if given.ask_when is not None and _asks(given):
        place = source.place(("ask_when",), key=True)
        fix = "leave `ask_when` out, or write `decision: allow` beside it"
        findings.add("decision.redundant", place, "every call of this operation asks already", fix)
    if given.retry is not None and given.effect is Effect.CHANGE:
        place = source.place(("retry",), key=True)
        findings.add("retry.effect", place, "an operation that changes something has `retry`", "leave it out")
