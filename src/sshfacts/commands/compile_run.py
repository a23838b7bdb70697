"""Compiles the vetted command: its words, its environment, and what its exit statuses mean."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from sshfacts.commands.command_file import ArgumentFile, Privilege, RunFile
from sshfacts.commands.findings import Findings, suggestion
from sshfacts.commands.operation import ExitMeaning, Run
from sshfacts.commands.render import command_text
from sshfacts.commands.source import Source
from sshfacts.limits import COMMAND_BYTES
from sshfacts.values import JsonObject

_PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]*)\}")
_PROGRAM = re.compile(r"(?:/(?:[A-Za-z0-9_+-][A-Za-z0-9_.+-]*/)*)?[A-Za-z0-9_][A-Za-z0-9_.+-]*")
_SHELLS = frozenset({"ash", "bash", "csh", "dash", "fish", "ksh", "mksh", "sh", "tcsh", "zsh"})
_WRAPPERS = frozenset({"busybox", "doas", "env", "eval", "exec", "nohup", "setsid", "su", "sudo", "timeout", "xargs"})
"""Programs whose words name another program; busybox does it by its first one."""
_SHELL_WORDS = frozenset(("|", "||", "&", "&&", ";", "<", ">", ">>", "2>&1", "2>/dev/null", ">/dev/null"))
_STATUS = re.compile(r"0|[1-9][0-9]{0,2}")
_ENGINES_OWN = frozenset({"LC_ALL", "PATH"})
_RESERVED_STATUS: Mapping[int, str] = {
    124: "timeout",
    125: "timeout and env",
    126: "env and the shell",
    127: "env and the shell",
    137: "a command that was killed",
}


def compile_run(given: RunFile, arguments: Mapping[str, ArgumentFile], source: Source, findings: Findings) -> Run:
    """Return the command, with what is wrong with it added to the findings."""
    run = Run(
        argv=given.argv,
        exit=_exit(given, source, findings),
        seconds=given.seconds,
        sudo=given.privilege is Privilege.SUDO,
        env=MappingProxyType(dict(given.env)),
    )
    _check_program(given.argv[:1], source, findings)
    _check_words(given.argv, source, findings)
    _check_placeholders(given.argv, arguments, source, findings)
    for name in sorted(_ENGINES_OWN & given.env.keys()):
        findings.add(
            "env.reserved", source.place(("run", "env", name), key=True), f"{name} is set by the engine", "leave it out"
        )
    # A first `=` makes quotes necessary, and so the longest text.
    longest = {f"{{{name}}}": "=".ljust(_longest(argument.schema), "a") for name, argument in arguments.items()}
    if len(command_text(run, [longest.get(word, word) for word in run.argv])) > COMMAND_BYTES:
        place = source.place(("run", "argv"), key=True)
        findings.add(
            "argv.length",
            place,
            f"the command can have more than {COMMAND_BYTES} bytes",
            "lower maxLength, or use fewer words",
        )
    return run


def _check_program(first: tuple[str, ...], source: Source, findings: Findings) -> None:
    place = source.place(("run", "argv", "0"))
    for program in first:
        if _PROGRAM.fullmatch(program) is None:
            fix = "name the program as a literal, such as systemctl or /usr/bin/systemctl"
            findings.add("argv.program", place, "the first word names no program", fix)
        elif program.rpartition("/")[2] in _SHELLS | _WRAPPERS:
            fix = "name the tool itself; use `run.privilege: sudo` for rights and an adapter for text"
            findings.add("argv.shell", place, f"{program!r} runs what other words say", fix)


def _check_words(argv: tuple[str, ...], source: Source, findings: Findings) -> None:
    for index, word in enumerate(argv):
        if word in _SHELL_WORDS:
            place = source.place(("run", "argv", str(index)))
            fix = "leave it out: no shell reads these words, so the tool would get it as an argument"
            findings.add("argv.shell", place, f"{word!r} means something to a shell only", fix)


def _check_placeholders(
    argv: tuple[str, ...], arguments: Mapping[str, ArgumentFile], source: Source, findings: Findings
) -> None:
    used: set[str] = set()
    for index, word in enumerate(argv):
        place = source.place(("run", "argv", str(index)))
        whole = _PLACEHOLDER.fullmatch(word)
        if whole is not None:
            used.add(whole[1])
            if whole[1] not in arguments:
                fix = suggestion(whole[1], arguments, f"declare it in `arguments.{whole[1]}`")
                findings.add("argv.undeclared", place, f"there is no argument {whole[1]!r}", fix)
            continue
        for part in _PLACEHOLDER.finditer(word):
            # Braces without a declared name are literal text, as in `--format={{json .}}`.
            if part[1] in arguments:
                used.add(part[1])
                fix = 'give the placeholder a word of its own, such as --unit then "{unit}"'
                findings.add("argv.glued", place, f"{part[0]!r} is glued to other text", fix)
    for name in arguments:
        if name not in used:
            place = source.place(("arguments", name), key=True)
            findings.add(
                "arguments.unused", place, f'no word of run.argv is "{{{name}}}"', "use the argument, or leave it out"
            )


def _exit(given: RunFile, source: Source, findings: Findings) -> Mapping[int, ExitMeaning]:
    meanings: dict[int, ExitMeaning] = {}
    for text, meaning in given.exit.items():
        if _STATUS.fullmatch(text) is None:
            continue  # The finding about the form of the key stands already.
        status = int(text)
        place = source.place(("run", "exit", text), key=True)
        if status > 255:
            findings.add("field.range", place, f"the exit status {status} does not exist", "use 0 to 255")
        elif status in _RESERVED_STATUS:
            what = f"status {status} belongs to {_RESERVED_STATUS[status]}"
            findings.add("exit.reserved", place, what, "leave it out: it is a failure")
        elif status == 1 and given.privilege is Privilege.SUDO and meaning is ExitMeaning.NOT_FOUND:
            findings.add(
                "exit.sudo",
                place,
                "status 1 under sudo means not_found here",
                "tell it from the document by `not_found`",
            )
        meanings[status] = meaning
    if ExitMeaning.DOCUMENT not in meanings.values():
        place = source.place(("run", "exit"), key=True)
        findings.add(
            "exit.no_document", place, "no exit status means `document`", "add the status of success, mostly 0"
        )
    return MappingProxyType(meanings)


def _longest(schema: JsonObject) -> int:
    """Return how many characters the longest value has; 0 where the contract's linter already complains."""
    listed, most, maximum = schema.get("enum"), schema.get("maxLength"), schema.get("maximum")
    if isinstance(listed, list) and listed:
        return max(len(str(value)) for value in listed)
    if isinstance(most, int):
        return most
    if isinstance(maximum, int):
        return len(str(maximum))
    return len("false")
