r"""Near misses of captured output: bytes that are one flaw away from an answer, and that its format may not read.

Only flaws that the format itself forbids are made. To take a line away, for one, can leave a valid answer.
"""

import re
from collections.abc import Iterator
from typing import TypeAlias, assert_never

from sshfacts.adapters.formats import Fields, Format, Json, JsonLines, KeyValue, PythonAdapter
from sshfacts.commands.near_miss_json import json_flaws

Flaw: TypeAlias = tuple[str, bytes]
"""What is wrong, and the output that has it."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_SEPARATORS = {"tab": b"\t", "colon": b":", "space": b" ", "blanks": b" "}
_NO_TEXT = (
    ("an escape character", b"\x1b[0m"),
    ("a carriage return", b"\r"),
    ("a byte that is not UTF-8", b"\xff"),
    ("a surrogate in UTF-8", b"\xed\xa0\x80"),
    ("an overlong form in UTF-8", b"\xc0\xaf"),
)
"""What no text holds, whatever the format."""
_ALONE = (
    ("a word", b"x"),
    ("a byte order mark", _BYTE_ORDER_MARK + b"\n"),
    *((flaw, text + b"\n") for flaw, text in _NO_TEXT),
)
"""What no format reads where nothing was expected."""


def output_flaws(output_format: Format, stdout: bytes) -> Iterator[Flaw]:
    """Yield the flawed forms of an output.

    Args:
        output_format: reads `stdout` without a refusal, unless it is empty.
        stdout: what a command printed.
    """
    match output_format:
        case PythonAdapter():
            return  # what its text may be is known to the adapter alone
        case _ if not stdout:
            yield from _ALONE
        case Json():
            yield from _of_document(stdout)
        case JsonLines():
            yield from _of_documents(stdout)
        case KeyValue():
            yield from _of_lines(stdout, b"! no key")
            yield from _of_pairs(stdout)
        case Fields(separator="nul"):
            yield from _of_nul_fields(stdout, len(output_format.names))
        case Fields():
            too_many = [b"x"] * (len(output_format.names) + 1)
            yield from _of_lines(stdout, _SEPARATORS[output_format.separator].join(too_many))
        case _:
            assert_never(output_format)


def _of_document(stdout: bytes) -> Iterator[Flaw]:
    document = stdout.removesuffix(b"\n").removesuffix(b"\r")
    yield from json_flaws(document)
    yield "a byte order mark", _BYTE_ORDER_MARK + stdout
    yield "a blank in front", b" " + stdout
    yield "a line in front", b"Last login: today\n" + stdout
    yield "a second final newline", document + b"\n\n"
    yield "a blank behind", document + b" "
    yield "a NUL behind", document + b"\0"
    yield "a line behind", document + b"\ndone\n"
    yield "an unfinished text behind", document + b'"x'
    yield "a second document", document + document
    yield "a second document on a line of its own", document + b"\n" + document


def _of_documents(stdout: bytes) -> Iterator[Flaw]:
    last = _lines(stdout)[-1]
    before = stdout.removesuffix(last)
    yield "a last line without its end", stdout[:-1]
    yield "half of a last line", before + last[: len(last) // 2]
    yield "a byte order mark", _BYTE_ORDER_MARK + stdout
    yield "a blank line", stdout + b"\n"
    yield "a line that is no document", stdout + b"done\n"
    yield "a number on a line", stdout + b"1\n"
    yield "two documents on a line", stdout[:-1] + last
    yield from ((flaw, before + document + b"\n") for flaw, document in json_flaws(last[:-1]))


def _of_lines(stdout: bytes, unread: bytes) -> Iterator[Flaw]:
    """Yield the flaws of every format of lines; `unread` is a line that it does not read."""
    lines = _lines(stdout)
    first, last, middle = lines[0], lines[-1], len(lines) // 2
    unread += b"\n"
    yield "a line in front that no rule reads", unread + stdout
    yield "a line in the middle that no rule reads", b"".join((*lines[:middle], unread, *lines[middle:]))
    yield "a line behind that no rule reads", stdout + unread
    if ended := stdout.rstrip(b"\n"):
        yield "a last line without its end", ended
    yield "half of a line behind", stdout + (last[: len(last) // 2] or b"x")
    yield "a byte order mark", _BYTE_ORDER_MARK + stdout
    yield "carriage returns", stdout.replace(b"\n", b"\r\n")
    for flaw, inserted in (*_NO_TEXT, ("a NUL", b"\0")):
        yield f"{flaw} in the first line", first[:-1] + inserted + stdout[len(first) - 1 :]
        yield f"{flaw} in the last line", stdout[:-1] + inserted + b"\n"


def _of_pairs(stdout: bytes) -> Iterator[Flaw]:
    """Yield the flaws of keys. A line that begins with a letter is neither blank nor a comment, so it has a key."""
    pairs = [line for line in _lines(stdout) if re.match(rb"[A-Za-z_]", line)]
    for line in dict.fromkeys(pairs[:1] + pairs[-1:]):
        yield "a key twice", stdout + line
        yield "a key twice, one after the other", stdout.replace(line, line + line, 1)


def _of_nul_fields(stdout: bytes, names: int) -> Iterator[Flaw]:
    if ended := stdout.rstrip(b"\0"):
        yield "a last field without its end", ended
    yield "a line end behind", stdout + b"\n"
    yield "a line end in a field", b"\n" + stdout
    yield "a byte order mark", _BYTE_ORDER_MARK + stdout
    if names > 1:
        yield "a field too many", stdout + b"x\0"
        yield "a field too few", stdout[stdout.index(b"\0") + 1 :]
    yield from ((f"{flaw} in the first field", inserted + stdout) for flaw, inserted in _NO_TEXT)


def _lines(stdout: bytes) -> list[bytes]:
    """Return the lines with their ends. The last one has its end too, or the output would not have been read."""
    return re.findall(rb"[^\n]*\n", stdout)
