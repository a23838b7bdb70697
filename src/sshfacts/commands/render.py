"""The exact text that is sent to a host.

    exec /usr/bin/env -i LC_ALL=C PATH=... [constants] [sudo -n] timeout -k 1 N tool arguments...

`env -i` gives the tool the same environment on every host, so that its output does not depend on a
login's settings. `timeout` ends the command on the host even when the connection is gone, since
closing a channel ends nothing there. `exec` keeps the login shell from staying in between.
"""

import re

from sshfacts.commands.operation import Operation, Run
from sshfacts.commands.words import is_word
from sshfacts.errors import Refusal
from sshfacts.limits import COMMAND_BYTES
from sshfacts.values import JsonObject, JsonValue

PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
_BARE = re.compile(r"[A-Za-z0-9_./:@+,-][A-Za-z0-9_./:@%+=,-]*")
"""What every login shell takes as it stands. A first `=` or `%` is not: `=ls` is a path in zsh, `=1` a folder in tcsh,
`%self` a number in fish."""
_NEVER_IN_QUOTES = re.compile(r"([\\'!])")
"""Within single quotes fish reads a backslash, and tcsh an exclamation mark."""


def render(operation: Operation, arguments: JsonObject) -> str:
    """Return the remote command of a call.

    Args:
        arguments: valid by `operation.arguments_contract`. They are looked at once more here,
            because this is the last place before they become part of a command.

    Raises:
        Refusal: `arguments_invalid`, an argument is missing, unknown, or cannot be passed as a word.
    """
    if arguments.keys() != operation.arguments.keys():
        raise Refusal("arguments_invalid", "the set of arguments")
    words = {f"{{{name}}}": _word(name, value) for name, value in arguments.items()}
    text = command_text(operation.run, [words.get(word, word) for word in operation.run.argv])
    if len(text) > COMMAND_BYTES:
        raise Refusal("arguments_invalid", f"the command has more than {COMMAND_BYTES} bytes")
    return text


def command_text(run: Run, argv: list[str]) -> str:
    """Return the remote form of literal words."""
    constants = [f"{name}={value}" for name, value in sorted(run.env.items())]
    privilege = ["sudo", "-n"] if run.sudo else []
    words = [
        *("exec", "/usr/bin/env", "-i", "LC_ALL=C", f"PATH={PATH}"),
        *constants,
        *privilege,
        *("timeout", "-k", "1", str(run.seconds)),
        *argv,
    ]
    return " ".join(map(_quoted, words))


def _quoted(word: str) -> str:
    """Return printable text as one word for sh, bash, dash, zsh, fish and tcsh alike.

    `shlex.quote` is for POSIX shells alone. Measured for each character at each place of a word.
    """
    if _BARE.fullmatch(word):
        return word
    parts = filter(None, _NEVER_IN_QUOTES.split(word))
    return "".join(f"\\{part}" if _NEVER_IN_QUOTES.fullmatch(part) else f"'{part}'" for part in parts) or "''"


def _word(name: str, value: JsonValue) -> str:
    """Return an argument as one word; a number in decimal, a flag as true or false."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() if value >= 0:
            return str(value)
        case str() if is_word(value):
            return value
    raise Refusal("arguments_invalid", f"argument {name} cannot be passed as a word")
