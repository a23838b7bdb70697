"""Strict JSON files with positions: the contracts.

`json` decides what is JSON. It gives no positions, so a second, simple walk over the same text finds
them, and only when a finding asks; that walk may assume that the text is well-formed.
"""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Never

from sshfacts.commands.findings import Findings, Place, Unreadable
from sshfacts.commands.source import LineIndex, Pointer, Positions, Source, read_text
from sshfacts.values import JsonObject, JsonValue

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[][{}:,]|[^\s"\]\[{}:,]+')


def read_json(path: Path, most_bytes: int, findings: Findings) -> Source:
    """Return a JSON file with positions.

    Raises:
        Unreadable: the file is not strict JSON; the findings say why.
    """
    text = read_text(path, most_bytes, findings)
    name = str(path)
    objects = _Objects()
    try:
        value: JsonValue = json.loads(text, object_pairs_hook=objects.build, parse_constant=_refuse_constant)
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except json.JSONDecodeError as error:
        place = Place(name, error.lineno, error.colno)
        raise findings.stop("json.syntax", place, error.msg.lower(), "correct the line") from None
    except UnicodeEncodeError:
        raise findings.stop(
            "json.syntax", Place(name), "an escape names half of a character", "write the character itself"
        ) from None
    except (ValueError, RecursionError):
        what = "the file holds NaN, Infinity, a number of thousands of digits or endless nesting"
        raise findings.stop("json.syntax", Place(name), what, "write plain JSON") from None
    if objects.have_duplicates:
        raise _duplicates(text, name, findings)
    return Source(name, value, lambda: locate(text)[0])


class _Objects:
    """Builds objects, and remembers whether a name stood twice: only a text that was read to its end has places."""

    def __init__(self) -> None:
        self.have_duplicates = False

    def build(self, pairs: list[tuple[str, JsonValue]]) -> JsonObject:
        members = dict(pairs)
        self.have_duplicates |= len(members) != len(pairs)
        return members


def _refuse_constant(_name: str) -> Never:
    raise ValueError("not JSON")


def _duplicates(text: str, name: str, findings: Findings) -> Unreadable:
    for pointer, line, column in locate(text)[1]:
        what = f"{pointer[-1]!r} stands here a second time"
        findings.add("json.duplicate_name", Place(name, line, column), what, "remove one of the two")
    return Unreadable(name)


def locate(text: str) -> tuple[Positions, list[tuple[Pointer, int, int]]]:
    """Return the positions in a well-formed JSON text, and those of names that stand a second time."""
    walk = _Walk(LineIndex(text))
    for token in _TOKEN.finditer(text):
        walk.take(token)
    return walk.positions, walk.repeated


@dataclass(slots=True)
class _Walk:
    """Follows the tokens of a text, with the current key or index of each open container."""

    lines: LineIndex
    positions: Positions = field(default_factory=Positions)
    repeated: list[tuple[Pointer, int, int]] = field(default_factory=list)
    path: list[str] = field(default_factory=list)
    in_object: list[bool] = field(default_factory=list)
    expects_name: bool = False

    def take(self, token: re.Match[str]) -> None:
        match token.group():
            case "]" | "}":
                self.path.pop()
                self.in_object.pop()
                self.expects_name = False
            case ",":
                self.expects_name = self.in_object[-1]
                if not self.expects_name:
                    self.path[-1] = str(int(self.path[-1]) + 1)
            case ":":
                self.expects_name = False
            case word if self.expects_name:
                self._name(json.loads(word), self.lines.position(token.start()))
            case word:
                self.positions.values.setdefault(tuple(self.path), self.lines.position(token.start()))
                if word in ("[", "{"):
                    self.expects_name = word == "{"
                    self.in_object.append(self.expects_name)
                    self.path.append("0")

    def _name(self, name: str, place: tuple[int, int]) -> None:
        self.path[-1] = name
        pointer = tuple(self.path)
        if pointer in self.positions.keys:
            self.repeated.append((pointer, *place))
        self.positions.keys.setdefault(pointer, place)
