"""Where keys stand in a TOML text. `tomllib` decides what the text means and gives no positions.

The scan knows just enough grammar to find keys: table headers, dotted and quoted keys, and where
strings, comments, arrays and inline tables end. It may assume that `tomllib` has accepted the text.
"""

import json
import re
from dataclasses import dataclass, field

from sshfacts.commands.source import LineIndex, Pointer, Positions

_PART = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')"""
_PART_OF_KEY = re.compile(_PART)
_KEY = re.compile(rf"{_PART}(?:[ \t]*\.[ \t]*{_PART})*")
_HEADER = re.compile(rf"(\[\[?)[ \t]*({_PART}(?:[ \t]*\.[ \t]*{_PART})*)[ \t]*\]\]?")
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}'  # a multi-line string may end in one or two quotes of its own
    r"|'''.*?'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'",
    re.DOTALL,
)
_SKIP = re.compile(r"(?:[ \t\r\n]|#[^\n]*)+")
_BLANKS = re.compile(r"[ \t]*")
_SCALAR = re.compile(r"[^,\]}#\r\n]+")


def locate_toml(text: str) -> Positions:
    """Return line and column of every table, key and value in a well-formed TOML text."""
    return _Scan(text, LineIndex(text)).run()


@dataclass(slots=True)
class _Scan:
    text: str
    lines: LineIndex
    offset: int = 0
    positions: Positions = field(default_factory=Positions)
    counts: dict[Pointer, int] = field(default_factory=dict)

    def run(self) -> Positions:
        table: Pointer = ()
        while self._skip():
            header = _HEADER.match(self.text, self.offset)
            if header:
                table = self._enter(header)
                self.offset = header.end()
            else:
                self._pair(table)
        return self.positions

    def _skip(self) -> bool:
        """Go to the next thing that is neither blank nor comment; False at the end."""
        blank = _SKIP.match(self.text, self.offset)
        if blank:
            self.offset = blank.end()
        return self.offset < len(self.text)

    def _enter(self, header: re.Match[str]) -> Pointer:
        pointer = self._follow((), header.start(2), header.end(2))
        if header[1] == "[[":
            number = self.counts.get(pointer, 0)
            self.counts[pointer] = number + 1
            pointer = (*pointer, str(number))
            self._note(pointer, header.start(2))
        return pointer

    def _follow(self, pointer: Pointer, start: int, end: int) -> Pointer:
        """Follow a dotted key and note each part; a part that is an array of tables means its last element."""
        parts = list(_PART_OF_KEY.finditer(self.text, start, end))
        for part in parts:
            pointer = (*pointer, _unquoted(part[0]))
            self._note(pointer, part.start())
            if pointer in self.counts and part is not parts[-1]:
                pointer = (*pointer, str(self.counts[pointer] - 1))
        return pointer

    def _pair(self, table: Pointer) -> None:
        key = _KEY.match(self.text, self.offset)
        if key is None:  # not reached with a text that tomllib accepts; never loop on a surprise
            self.offset += 1
            return
        pointer = self._follow(table, key.start(), key.end())
        self.offset = key.end()
        self._blanks()
        self.offset += 1  # the equals sign
        self._blanks()
        self._value(pointer)

    def _blanks(self) -> None:
        blank = _BLANKS.match(self.text, self.offset)
        if blank:
            self.offset = blank.end()

    def _value(self, pointer: Pointer) -> None:
        self.positions.values[pointer] = self.lines.position(self.offset)
        opener = self.text[self.offset : self.offset + 1]
        if opener == "[":
            self._array(pointer)
        elif opener == "{":
            self._inline_table(pointer)
        else:
            token = _STRING.match(self.text, self.offset) or _SCALAR.match(self.text, self.offset)
            self.offset = token.end() if token else self.offset + 1

    def _array(self, pointer: Pointer) -> None:
        self.offset += 1
        index = 0
        while self._skip() and self.text[self.offset] != "]":
            if self.text[self.offset] == ",":
                self.offset += 1
                continue
            self._value((*pointer, str(index)))
            index += 1
        self.offset += 1

    def _inline_table(self, pointer: Pointer) -> None:
        self.offset += 1
        while self._skip() and self.text[self.offset] != "}":
            if self.text[self.offset] == ",":
                self.offset += 1
                continue
            self._pair(pointer)
        self.offset += 1

    def _note(self, pointer: Pointer, offset: int) -> None:
        """Remember where a key first stands; a table has no other place than its key."""
        place = self.lines.position(offset)
        self.positions.keys.setdefault(pointer, place)
        self.positions.values.setdefault(pointer, place)


def _unquoted(part: str) -> str:
    if part.startswith("'"):
        return part[1:-1]
    if part.startswith('"'):
        # TOML's escapes are JSON's, and \UXXXXXXXX, \e and \xHH beside them: those keep their text.
        try:
            return str(json.loads(part))
        except ValueError:
            return part[1:-1]
    return part
