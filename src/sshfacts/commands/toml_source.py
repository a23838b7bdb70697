"""TOML files with positions: `sshfacts.toml` and `commands/site.toml`."""

import re
import tomllib
from pathlib import Path

from sshfacts.commands.findings import Findings, Place
from sshfacts.commands.source import Pointer, Source, read_text
from sshfacts.commands.toml_positions import locate_toml
from sshfacts.values import JsonValue

_AT = re.compile(r" \(at (?:line ([0-9]+), column ([0-9]+)|end of document)\)$")


def read_toml(path: Path, most_bytes: int, findings: Findings) -> Source:
    """Return a TOML file as JSON values with positions.

    Raises:
        Unreadable: the file is not TOML, or holds a date; the findings say why.
    """
    text = read_text(path, most_bytes, findings)
    name = str(path)
    source = Source(name, None, lambda: locate_toml(text))
    try:
        source.value = _plain(tomllib.loads(text), (), source, findings)
    except tomllib.TOMLDecodeError as error:
        raise _syntax(error, text, name, findings) from None
    except (ValueError, RecursionError):
        what = "a number has thousands of digits, or a value is nested without end"
        raise findings.stop("toml.syntax", Place(name), what, "correct it") from None
    return source


def _syntax(error: tomllib.TOMLDecodeError, text: str, name: str, findings: Findings) -> Exception:
    """Name the place of a syntax error, which tomllib puts at the end of its message."""
    message = str(error)
    at = _AT.search(message)
    if at is None:
        place = Place(name)
    elif at.group(1):
        place = Place(name, int(at.group(1)), int(at.group(2)))
    else:
        place = Place(name, text.count("\n") + 1, 1)
    if message.startswith("Cannot "):  # overwrite a value, declare a table twice, change an inline table
        return findings.stop("toml.syntax", place, "a key or table stands here a second time", "make it one")
    # The message may quote what stands in the file, which could be a secret in the wrong place.
    return findings.stop(
        "toml.syntax", place, "the text is not TOML here", "quote texts; see https://toml.io/en/v1.0.0"
    )


def _plain(value: object, pointer: Pointer, source: Source, findings: Findings) -> JsonValue:
    match value:
        case dict():
            return {str(key): _plain(member, (*pointer, str(key)), source, findings) for key, member in value.items()}
        case list():
            return [_plain(item, (*pointer, str(index)), source, findings) for index, item in enumerate(value)]
        case bool() | int() | float() | str():
            return value
        case _:
            raise findings.stop(
                "toml.date", source.place(pointer), "a date stands here", "quote it if it is meant as text"
            )
