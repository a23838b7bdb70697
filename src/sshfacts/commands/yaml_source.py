"""Strict YAML 1.2: one document, no anchors, tags, merge keys or directives, no key twice.

ruamel.yaml does the grammar and gives events with positions. The values are built here, because a
loader would expand aliases, keep the last of two equal keys and turn words such as `on` or `0755`
into something else than the author sees.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, StringMark, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from sshfacts.commands.findings import Findings, Place, Unreadable
from sshfacts.commands.source import Pointer, Positions, Source, read_text
from sshfacts.values import JsonValue

_DEPTH = 24
"""Containers open at once. A command file needs eight, the expected facts of a case some more."""

_CONSTANTS: dict[str, JsonValue] = {"true": True, "false": False, "null": None}
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_FLOAT = re.compile(r"-?(?:0|[1-9][0-9]{0,17})\.[0-9]{1,17}")
_AMBIGUOUS = re.compile(
    r"""(?ix) ~ | null | true | false | yes | no | on | off | y | n
    | [-+]? [0-9][0-9_]*                            # leading zero, plus sign, underscore, too long
    | [-+]? 0 [box] [0-9a-f_]+                      # other bases
    | [-+]? (?: [0-9][0-9_]* )? \. [0-9_]* (?: e [-+]? [0-9]+ )?
    | [-+]? [0-9][0-9_]* e [-+]? [0-9]+
    | [-+]? \. inf | \. nan
    | [-+]? [0-9][0-9_]* (?: : [0-5]?[0-9] )+ (?: \. [0-9]* )?   # base 60 in YAML 1.1
    """
)


def read_yaml(path: Path, most_bytes: int, findings: Findings) -> Source:
    """Return a YAML file as JSON values with positions.

    Raises:
        Unreadable: the file is not strict YAML; the findings say why.
    """
    return parse_yaml(read_text(path, most_bytes, findings), str(path), findings)


def parse_yaml(text: str, name: str, findings: Findings) -> Source:
    """Return a YAML text as JSON values with positions; see `read_yaml`."""
    before = len(findings)
    builder = _Builder(name, findings)
    try:
        for event in YAML(typ="safe", pure=True).parse(text):
            builder.take(event)
    except MarkedYAMLError as error:
        mark = error.problem_mark
        place = Place(name, mark.line + 1, mark.column + 1) if mark else Place(name)
        raise findings.stop(
            "yaml.syntax", place, f"{error.problem}", "correct the line; quote texts with special characters"
        ) from None
    except YAMLError:
        raise findings.stop(
            "yaml.syntax", Place(name), "the file holds a character that YAML forbids", "remove it"
        ) from None
    if builder.documents == 0:
        raise findings.stop("yaml.documents", Place(name), "the file is empty", "write one document")
    if len(findings) != before:
        raise Unreadable(name)
    positions = builder.positions
    return Source(name, builder.root, lambda: positions)


@dataclass(slots=True)
class _Open:
    """A container that has not ended yet."""

    pointer: Pointer
    value: dict[str, JsonValue] | list[JsonValue]
    key: str | None = None


@dataclass(slots=True)
class _Builder:
    """Builds values from events, and goes on after a fault where the rest can still be understood."""

    name: str
    findings: Findings
    documents: int = 0
    root: JsonValue = None
    positions: Positions = field(default_factory=Positions)
    stack: list[_Open] = field(default_factory=list)

    def take(self, event: Event) -> None:
        place = self._place(event)
        self._note_extras(event, place)
        match event:
            case DocumentStartEvent():
                self._start(event, place)
            case ScalarEvent() | AliasEvent() if self._expects_key():
                self._take_key(event, place)
            case ScalarEvent() | AliasEvent():
                self._put(self._scalar(event, place), place)
            case MappingStartEvent() | SequenceStartEvent():
                self._open({} if isinstance(event, MappingStartEvent) else [], place)
            case MappingEndEvent() | SequenceEndEvent():
                self.stack.pop()

    def _place(self, event: Event) -> Place:
        mark: StringMark = event.start_mark
        return Place(self.name, mark.line + 1, mark.column + 1)

    def _start(self, event: DocumentStartEvent, place: Place) -> None:
        if event.version or event.tags:
            self.findings.add(
                "yaml.directive", place, "the file has a directive", "remove the line that starts with '%'"
            )
        if self.documents:
            fix = "remove the '---' line, or make two files"
            raise self.findings.stop("yaml.documents", place, "a second document starts here", fix)
        self.documents += 1

    def _note_extras(self, event: Event, place: Place) -> None:
        """Note what JSON has no word for."""
        if isinstance(event, AliasEvent):
            fix = "write the value out; quote a text that starts with '*'"
            self.findings.add("yaml.anchor", place, f"'*{event.anchor}' is an alias", fix)
        elif isinstance(event, ScalarEvent | MappingStartEvent | SequenceStartEvent):
            if event.anchor is not None:
                fix = "remove it; quote a text that starts with '&'"
                self.findings.add("yaml.anchor", place, f"'&{event.anchor}' is an anchor", fix)
            if event.tag is not None:
                self.findings.add(
                    "yaml.tag", place, "the value has a tag", "remove it; quote a text that starts with '!'"
                )

    def _expects_key(self) -> bool:
        return bool(self.stack) and isinstance(self.stack[-1].value, dict) and self.stack[-1].key is None

    def _take_key(self, event: ScalarEvent | AliasEvent, place: Place) -> None:
        top = self.stack[-1]
        key = "*" if isinstance(event, AliasEvent) else self._key(event, place)
        if isinstance(top.value, dict) and key in top.value:
            fix = "remove one of the two"
            self.findings.add("yaml.duplicate_key", place, f"{key!r} stands here a second time", fix)
        top.key = key
        self.positions.keys[(*top.pointer, key)] = (place.line, place.column)

    def _key(self, event: ScalarEvent, place: Place) -> str:
        key: str = event.value
        if not event.implicit[0]:
            return self._quoted(key, place)
        if key == "<<":
            self.findings.add("yaml.merge", place, "'<<' is a merge key", "write the keys out")
        elif not _INTEGER.fullmatch(key) and not isinstance(self._plain(key, place), str):
            self.findings.add("yaml.key", place, f"{key!r} is no name", "quote it if it is meant as a name")
        return key

    def _scalar(self, event: ScalarEvent | AliasEvent, place: Place) -> JsonValue:
        if isinstance(event, AliasEvent):
            return None
        text: str = event.value
        return self._plain(text, place) if event.implicit[0] else self._quoted(text, place)

    def _quoted(self, text: str, place: Place) -> str:
        if any("\ud800" <= character <= "\udfff" for character in text):
            fix = "write the character itself"
            raise self.findings.stop("yaml.syntax", place, "an escape names half of a character", fix)
        return text

    def _plain(self, text: str, place: Place) -> JsonValue:
        """Give an unquoted scalar its type by the part of YAML 1.2 that YAML 1.1 reads the same way."""
        if text in _CONSTANTS:
            return _CONSTANTS[text]
        if _INTEGER.fullmatch(text):
            return int(text)
        if _FLOAT.fullmatch(text):
            return float(text)
        if not text:
            fix = "write it; an empty text is ''"
            self.findings.add("yaml.empty", self._last_key(place), "a value is missing", fix)
        elif _AMBIGUOUS.fullmatch(text):
            fix = "quote it if it is meant as text"
            self.findings.add("yaml.ambiguous", place, f"{text!r} can be read in two ways", fix)
        return text

    def _last_key(self, place: Place) -> Place:
        """Return where the key of the value due stands: the parser notices an empty one lines later."""
        top = self.stack[-1] if self.stack else None
        if top is None or top.key is None:
            return place
        return Place(self.name, *self.positions.keys[(*top.pointer, top.key)])

    def _open(self, container: dict[str, JsonValue] | list[JsonValue], place: Place) -> None:
        if self._expects_key():
            fix = "use a plain name as key"
            raise self.findings.stop("yaml.key", place, "a list or an object stands where a name is due", fix)
        if len(self.stack) == _DEPTH:
            raise self.findings.stop("yaml.depth", place, f"more than {_DEPTH} levels", "flatten the value")
        pointer = self._put(container, place)
        self.stack.append(_Open(pointer, container))

    def _put(self, value: JsonValue, place: Place) -> Pointer:
        """Put a value where it belongs and return its pointer."""
        pointer: Pointer = ()
        if not self.stack:
            self.root = value
        else:
            top = self.stack[-1]
            if isinstance(top.value, list):
                pointer = (*top.pointer, str(len(top.value)))
                top.value.append(value)
            elif top.key is not None:
                pointer = (*top.pointer, top.key)
                top.value[top.key] = value
                top.key = None
        self.positions.values[pointer] = (place.line, place.column)
        return pointer
