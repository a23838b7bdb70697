"""Files as values with positions: every key and value knows its line and column.

Three readers fill a `Source`: `yaml_source` for command files, `json_source` for contracts and
`toml_source` for settings. Pointers are tuples of text; the elements of a list are named by their
index, `("run", "argv", "0")`, which is also how RFC 6901 pointers name them.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from sshfacts.commands.findings import Findings, Place
from sshfacts.values import JsonValue

Pointer: TypeAlias = tuple[str, ...]

_HIDDEN = frozenset({"Cc", "Cf", "Zl", "Zp"})
"""Unicode categories without a visible shape: controls, bidirectional and zero-width marks, separators."""

_PLAIN = re.compile(r"(?:[\t -~]|\r?\n)*")
"""What nearly every file consists of; the slow look at each character is for the others."""


@dataclass(slots=True)
class Positions:
    """Line and column, both from 1, of every key and every value."""

    keys: dict[Pointer, tuple[int, int]] = field(default_factory=dict)
    values: dict[Pointer, tuple[int, int]] = field(default_factory=dict)


class LineIndex:
    """Turns offsets into a text into line and column."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(line_end.end() for line_end in re.finditer("\n", text))]

    def position(self, offset: int) -> tuple[int, int]:
        """Return line and column of an offset, both from 1."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1


class Source:
    """One parsed file. Positions are worked out when the first finding asks for one."""

    def __init__(self, name: str, value: JsonValue, locate: Callable[[], Positions]) -> None:
        self.name = name
        self.value = value
        self._locate = locate
        self._positions: Positions | None = None

    @property
    def root(self) -> "Node":
        """The whole document as a node."""
        return Node(self, (), self.value)

    def place(self, pointer: Pointer, *, key: bool = False) -> Place:
        """Return where a value stands, or its key; for what is missing, the nearest thing around it."""
        if self._positions is None:
            self._positions = self._locate()
        positions = self._positions
        if key and pointer in positions.keys:
            return Place(self.name, *positions.keys[pointer])
        while pointer and pointer not in positions.values:
            pointer = pointer[:-1]
        return Place(self.name, *positions.values.get(pointer, (1, 1)))


@dataclass(frozen=True, slots=True)
class Node:
    """A value inside a source."""

    source: Source
    pointer: Pointer
    value: JsonValue

    @property
    def label(self) -> str:
        """How messages name the value: `run.argv.0`."""
        return ".".join(map(_shown, self.pointer)) or "the file"

    @property
    def place(self) -> Place:
        """Where the value stands."""
        return self.source.place(self.pointer)

    @property
    def key_place(self) -> Place:
        """Where the value's key stands; the value itself when it has none."""
        return self.source.place(self.pointer, key=True)

    def child(self, step: str, value: JsonValue) -> "Node":
        """Return the node of a member or element."""
        return Node(self.source, (*self.pointer, step), value)


def _shown(step: str) -> str:
    """Return a key for a message: a strange one in quotes and with escapes, a long one cut."""
    return step if step.isascii() and step.isprintable() and len(step) <= 64 else repr(step[:64])


def steps(pointer: str) -> Pointer:
    """Return the steps of an RFC 6901 JSON pointer."""
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:])


def read_text(path: Path, most_bytes: int, findings: Findings) -> str:
    """Return the text of a site's file.

    Raises:
        Unreadable: it is missing, no regular file, larger than `most_bytes`, not plain UTF-8, or holds
            a character that an editor would not show; the findings say which.
    """
    place = Place(str(path))
    try:
        if not path.exists():
            fix = "create it, or correct the name that refers to it"
            raise findings.stop("source.missing", place, "there is no such file", fix)
        if not path.is_file():
            raise findings.stop("source.unreadable", place, "this is not a regular file", "put a file here")
        with path.open("rb") as stream:
            data = stream.read(most_bytes + 1)
    except OSError as error:
        raise findings.stop(
            "source.unreadable", place, f"the file cannot be read: {error.strerror}", "correct its rights"
        ) from None
    if len(data) > most_bytes:
        raise findings.stop("source.size", place, f"the file has more than {most_bytes} bytes", "make it smaller")
    return _decode(data, place, findings)


def _decode(data: bytes, place: Place, findings: Findings) -> str:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise findings.stop(
            "source.encoding", Place(place.path, line, 1), "the file is not UTF-8", "save it as UTF-8"
        ) from None
    if text.startswith("\ufeff"):
        raise findings.stop(
            "source.encoding", place, "the file starts with a byte order mark", "save it as UTF-8 without one"
        )
    if _PLAIN.fullmatch(text):
        return text
    for number, line_text in enumerate(text.split("\n"), 1):
        for column, character in enumerate(line_text.removesuffix("\r"), 1):
            if character != "\t" and unicodedata.category(character) in _HIDDEN:
                raise findings.stop(
                    "source.hidden_character",
                    Place(place.path, number, column),
                    f"the character U+{ord(character):04X} is not visible",
                    "remove it; where a text needs it, write it as an escape",
                )
    return text


def require_inside(root: Path, path: Path, findings: Findings) -> None:
    """Refuse a file that a link takes out of the site's folder.

    Raises:
        Unreadable: it stands elsewhere; the findings say so.
    """
    try:
        inside = path.resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError):  # links that lead round in a circle; which of the two depends on Python's version
        raise findings.stop(
            "source.unreadable", Place(str(path)), "this link leads nowhere", "put a file here"
        ) from None
    if not inside:
        fix = "put the file itself into the site's folder"
        raise findings.stop(
            "source.outside", Place(str(path)), "this is a link to a file outside the site's folder", fix
        )
