"""A fixed number of fields on each line: `getent`, `dpkg-query`, `ps`, `stat --printf`."""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from sshfacts.adapters.formats import Fields
from sshfacts.adapters.lines import LineReader
from sshfacts.errors import Refusal
from sshfacts.limits import ReadLimits
from sshfacts.values import JsonValue

_BLANKS = re.compile(r"[ \t]+")

_CUTS: Mapping[str, Callable[[str], list[str]]] = MappingProxyType(
    {
        "tab": lambda line: line.split("\t"),
        "colon": lambda line: line.split(":"),
        # Two spaces in a row are no empty field but a padded column, which `blanks` reads.
        "space": lambda line: [] if "  " in f" {line} " else line.split(" "),
        "blanks": lambda line: _BLANKS.split(line.strip(" \t")),
    }
)


class FieldsReader(LineReader):
    """Reads each line into an object of strings; a line with another number of fields is refused."""

    def __init__(self, form: Fields, limits: ReadLimits) -> None:
        longest = len(form.names) * (limits.string + 1)
        super().__init__(limits, longest=longest, tab=form.separator in {"tab", "blanks"})
        self._rows = _Rows(form.names, limits)
        self._cut = _CUTS[form.separator]

    def _read_line(self, line: str) -> None:
        fields = self._cut(line) if line else []
        self._rows.add(fields, self._where)

    def _finish(self) -> JsonValue:
        self._check_end()
        return self._rows.rows


class NulFieldsReader(LineReader):
    r"""Reads fields that each end with a NUL byte; as many as there are names make one row.

    Lines mean nothing here (`stat --printf='%s\0%Y\0'` writes none), and a newline in a field is
    refused like any control character.
    """

    def __init__(self, form: Fields, limits: ReadLimits) -> None:
        most = limits.items * len(form.names)
        super().__init__(limits, longest=limits.string, most=most, terminator=b"\0", tab=False, unit="field")
        self._rows = _Rows(form.names, limits)
        self._names = form.names
        self._fields: list[str] = []

    def _read_line(self, line: str) -> None:
        self._fields.append(line)
        if len(self._fields) == len(self._names):
            self._rows.add(self._fields, self._where)
            self._fields = []

    def _finish(self) -> JsonValue:
        self._check_end()
        if self._fields:
            raise Refusal("output.truncated", self._where)
        return self._rows.rows


class _Rows:
    """The rows so far."""

    def __init__(self, names: tuple[str, ...], limits: ReadLimits) -> None:
        self._names = names
        self._limits = limits
        # The document's list is a value too, and so is each row.
        self._most = min(limits.items, (limits.values - 1) // (len(names) + 1))
        self.rows: list[JsonValue] = []

    def add(self, fields: list[str], where: str) -> None:
        if len(fields) != len(self._names):
            raise Refusal("output.unread_line", where)
        if any(len(field) > self._limits.string for field in fields):
            raise Refusal("output.string", where)
        if len(self.rows) >= self._most:
            raise Refusal("output.items", where)
        self.rows.append(dict(zip(self._names, fields, strict=True)))
