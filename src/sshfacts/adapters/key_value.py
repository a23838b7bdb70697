"""`key SEPARATOR value` on each line: os-release, `systemctl show`, /proc/meminfo, `openssl x509`."""

import re

from sshfacts.adapters.formats import KeyValue
from sshfacts.adapters.lines import LineReader
from sshfacts.errors import Refusal
from sshfacts.limits import ReadLimits
from sshfacts.values import JsonObject

_BLANKS = " \t"
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_.()-]*")
"""Such as `ActiveState`, `VERSION_ID`, `Active(anon)`, `net.ipv4.ip_forward`: ASCII without blanks, so that
no two keys look alike and a sentence with a separator in it is no key."""

_QUOTED = re.compile(
    r"""
    (?P<bare>[A-Za-z0-9_@%+=:,./-]*)                         # nothing in it that a shell expands or splits
    | '(?P<single>[^']*)'                                    # literal up to the next quote
    | "(?P<double>[^"\\$`]*(?:\\["\\$`][^"\\$`]*)*)"         # these four are escaped, and only these
    """,
    re.VERBOSE,
)
_ESCAPED = re.compile(r"\\(.)")


class KeyValueReader(LineReader):
    """Reads lines into an object of strings.

    A key stands once. A line without a separator or with another kind of key is refused and not
    skipped: a sentence between the lines is an error message more often than noise. A whole line,
    with blanks and quotes, has at most as many characters as the longest name and the longest string.
    """

    def __init__(self, form: KeyValue, limits: ReadLimits) -> None:
        super().__init__(limits, longest=limits.name + len(form.separator) + limits.string)
        self._form = form
        self._members: JsonObject = {}

    def _read_line(self, line: str) -> None:
        if self._ignored(line):
            return
        key, separator, value = line.partition(self._form.separator)
        if self._form.trim:
            key, value = key.strip(_BLANKS), value.strip(_BLANKS)
        if not separator or not _KEY.fullmatch(key):
            raise Refusal("output.unread_line", self._where)
        if self._form.quoted:
            value = self._unquote(value)
        if len(key) > self._limits.name or len(value) > self._limits.string:
            raise Refusal("output.string", self._where)
        if key in self._members:
            raise Refusal("output.duplicate_name", self._where)
        if len(self._members) >= self._limits.members:
            raise Refusal("output.items", self._where)
        self._members[key] = value

    def _finish(self) -> JsonObject:
        self._check_end()
        return self._members

    def _ignored(self, line: str) -> bool:
        if "blank" in self._form.ignore and not line.strip(_BLANKS):
            return True
        return "comment" in self._form.ignore and line.startswith("#")

    def _unquote(self, value: str) -> str:
        """Return what a shell would assign, where it neither expands nor splits anything.

        os-release(5) does not allow quoted pieces to be joined, so a value is one piece.
        """
        found = _QUOTED.fullmatch(value)
        if found is None:
            raise Refusal("output.unread_line", self._where)
        if found["double"] is not None:
            return _ESCAPED.sub(r"\1", found["double"])
        return found["bare"] or found["single"] or ""
