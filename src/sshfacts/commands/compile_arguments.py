"""Compiles the arguments of an operation and proves that no accepted value can harm the command."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from sshfacts.commands.command_file import ArgumentFile
from sshfacts.commands.findings import Findings
from sshfacts.commands.operation import Argument
from sshfacts.commands.source import Pointer, Source, steps
from sshfacts.commands.words import HOSTILE, Unprovable, is_word, reach
from sshfacts.schemas.contract import Contract
from sshfacts.schemas.profile import Kind, lint
from sshfacts.values import JsonObject, JsonValue


@dataclass(frozen=True, slots=True)
class CompiledArguments:
    """The arguments by name, and the closed contract of them together."""

    arguments: Mapping[str, Argument]
    contract: Contract


def compile_arguments(
    given: Mapping[str, ArgumentFile], source: Source, findings: Findings
) -> CompiledArguments | None:
    """Return the compiled arguments, or None when the findings say why there are none."""
    schema = _contract_schema(given)
    problems = lint(schema, Kind.ARGUMENTS)
    for problem in problems:
        findings.add_problem(problem, source.place(_in_command_file(steps(problem.pointer))))
    if problems:
        return None
    arguments: dict[str, Argument] = {}
    for name, argument in given.items():
        _prove_charset(name, argument, source, findings)
        _try_values(name, argument, source, findings)
        examples = argument.examples
        arguments[name] = Argument(name, argument.description, argument.schema, examples.good, examples.bad)
    return CompiledArguments(MappingProxyType(arguments), Contract(schema, Kind.ARGUMENTS))


def _contract_schema(given: Mapping[str, ArgumentFile]) -> JsonObject:
    properties: JsonObject = {
        name: {**argument.schema, "description": argument.description} for name, argument in given.items()
    }
    required: list[JsonValue] = [*given]
    return {"type": "object", "additionalProperties": False, "required": required, "properties": properties}


def _in_command_file(pointer: Pointer) -> Pointer:
    """Turn a pointer into the contract into one into the command file."""
    match pointer:
        case ("properties", name, *rest):
            return ("arguments", name, "schema", *rest) if rest else ("arguments", name, "schema")
    return ("arguments",)


def _prove_charset(name: str, argument: ArgumentFile, source: Source, findings: Findings) -> None:
    """Show that every text the schema accepts is a word; see `commands.words`."""
    if argument.schema["type"] != "string":
        return
    at = ("arguments", name, "schema")
    listed = argument.schema.get("enum")
    if isinstance(listed, list):
        for index, value in enumerate(listed):
            if isinstance(value, str) and not is_word(value):
                place = source.place((*at, "enum", str(index)))
                findings.add(
                    "arguments.charset", place, f"{value[:40]!r} cannot be passed as a word", "leave the value out"
                )
        return
    pattern = argument.schema.get("pattern")
    if not isinstance(pattern, str):
        return
    place = source.place((*at, "pattern"))
    try:
        start = reach(pattern)
    except Unprovable as reason:
        fix = "list the characters in classes, such as [A-Za-z0-9_.-]"
        findings.add("arguments.charset", place, f"the pattern of {name!r} holds {reason}", fix)
        return
    if "-" in start.first:
        findings.add(
            "arguments.dash", place, f"the pattern of {name!r} can match a leading dash", "begin with [A-Za-z0-9]"
        )


def _try_values(name: str, argument: ArgumentFile, source: Source, findings: Findings) -> None:
    """Hold the author's examples and the engine's hostile values against the schema."""
    contract = Contract(_contract_schema({name: argument}), Kind.ARGUMENTS)
    at = ("arguments", name, "examples")
    for index, value in enumerate(argument.examples.good):
        violation = contract.violation({name: value})
        if violation is not None:
            place = source.place((*at, "good", str(index)))
            findings.add(
                "arguments.good_example",
                place,
                f"the schema refuses {_shown(value)}",
                "correct the example or the schema",
            )
    for index, value in enumerate(argument.examples.bad):
        if contract.violation({name: value}) is None:
            place = source.place((*at, "bad", str(index)))
            findings.add(
                "arguments.bad_example",
                place,
                f"the schema accepts {_shown(value)}",
                "correct the example or the schema",
            )
    if argument.schema["type"] != "string":
        return
    for hostile in HOSTILE:
        if contract.violation({name: hostile}) is None:
            place = source.place(("arguments", name, "schema"))
            findings.add(
                "arguments.hostile", place, f"the schema accepts {_shown(hostile)}", "tighten pattern and maxLength"
            )


def _shown(value: JsonValue) -> str:
    """Return an author's value for a message, cut to a readable length."""
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
