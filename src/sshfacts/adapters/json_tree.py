"""The event walk: builds the document from ijson's events and holds every bound that needs its structure.

ijson's own builders are not used: they keep the last of two members of the same name and say nothing.
"""

import math
from collections.abc import Iterator
from decimal import Decimal
from operator import length_hint
from typing import Any, TypeAlias

from sshfacts.limits import ReadLimits
from sshfacts.values import JsonObject, JsonValue

Event: TypeAlias = tuple[str, Any]
"""What `basic_parse_coro` of ijson sends: a kind and, for scalars and names, a value whose type the kind tells."""

_LARGEST = 2**53 - 1
"""The largest integer; RFC 7493 section 2.2: beyond it, a reader that knows only doubles sees another number."""
_ENDS = frozenset({"end_map", "end_array"})


class BrokenEvent(Exception):
    """An event that the walk refuses.

    Args:
        detail: a name of `sshfacts.errors.DETAILS`.
        index: its place in the list that was walked.
    """

    def __init__(self, detail: str, index: int = 0) -> None:
        super().__init__(detail)
        self.detail = detail
        self.index = index


_Container: TypeAlias = list[JsonValue] | JsonObject


class Tree:
    """One document while it grows.

    Sizes and the number of values are checked where a container ends and at the end of each walk, not
    at each value: a list of events is short, and what it can add over a limit is bounded by it.
    """

    __slots__ = ("_ended_values", "_least_limit", "_limits", "_name", "_open", "_root")

    def __init__(self, limits: ReadLimits) -> None:
        self._limits = limits
        self._least_limit = min(limits.items, limits.members)
        # The root array stands around the document, so that its value needs no case of its own.
        self._root: list[JsonValue] = []
        self._open: list[_Container] = [self._root]
        self._name = ""
        self._ended_values = 0

    @property
    def depth(self) -> int:
        """Containers of the document that are open."""
        return len(self._open) - 1

    @property
    def complete(self) -> bool:
        """Whether the document has ended."""
        return bool(self._root) and len(self._open) == 1

    @property
    def document(self) -> JsonValue:
        """The document, once it is complete."""
        return self._root[0]

    @property
    def values(self) -> int:
        """Scalars and containers so far."""
        return self._ended_values + sum(map(len, self._open))

    def walk(self, events: list[Event], *, long_strings: bool) -> None:
        """Take the next events.

        Args:
            events: in the grammar of JSON, which ijson guarantees.
            long_strings: whether a string in them can be over the limit at all; the caller knows
                how many bytes the events come from.

        Raises:
            BrokenEvent: with one of `output.duplicate_name`, `.depth`, `.items`, `.string`, `.number`.
        """
        remaining = iter(events)
        try:
            if long_strings:
                self._check_strings(remaining)
                remaining = iter(events)
            self._build(remaining)
            self._check_open()
        except BrokenEvent as broken:
            broken.index = len(events) - length_hint(remaining) - 1
            raise

    def _build(self, events: Iterator[Event]) -> None:
        # The hot loop: it works on local names, asks for the commonest kinds first, and looks at the
        # length of a name once per call. `array` is None while the innermost container is an object.
        innermost = self._open[-1]
        array = innermost if isinstance(innermost, list) else None
        members = innermost if isinstance(innermost, dict) else {}
        name = self._name
        least, most = -_LARGEST, _LARGEST
        checked_names: set[str] = set()
        for kind, value in events:
            if kind == "map_key":
                if value in members:
                    raise BrokenEvent("output.duplicate_name")
                if value not in checked_names:
                    self._check_name(value)
                    checked_names.add(value)
                name = value
                continue
            if kind == "number" and (type(value) is not int or not least <= value <= most):
                value = _nearest(value)  # noqa: PLW2901 - a second name costs 4 %
            elif value is None and kind != "null":
                innermost = self._end() if kind in _ENDS else self._start(kind, name)
                if isinstance(innermost, list):
                    array = innermost
                else:
                    array, members = None, innermost
                continue
            if array is None:
                members[name] = value
            else:
                array.append(value)
        self._name = name

    def _start(self, kind: str, name: str) -> _Container:
        if len(self._open) > self._limits.depth:
            raise BrokenEvent("output.depth")
        container: _Container = {} if kind == "start_map" else []
        around = self._open[-1]
        if isinstance(around, list):
            around.append(container)
        else:
            around[name] = container
        self._open.append(container)
        return container

    def _end(self) -> _Container:
        ended = self._open.pop()
        size = len(ended)
        if size > self._least_limit:
            self._check_size(ended)
        self._ended_values += size
        return self._open[-1]

    def _check_open(self) -> None:
        for container in self._open[1:]:
            self._check_size(container)
        if self.values > self._limits.values:
            raise BrokenEvent("output.items")

    def _check_size(self, container: _Container) -> None:
        if len(container) > (self._limits.items if isinstance(container, list) else self._limits.members):
            raise BrokenEvent("output.items")

    def _check_name(self, name: str) -> None:
        if len(name) > self._limits.name:
            raise BrokenEvent("output.string")

    def _check_strings(self, events: Iterator[Event]) -> None:
        limit = self._limits.string
        for kind, value in events:
            if kind == "string" and len(value) > limit:
                raise BrokenEvent("output.string")


def _nearest(value: int | Decimal) -> float:
    """Return the float nearest to a number, unless that is infinite, or a whole number that the number is not.

    A size of 0.9999999999999999999 is a fraction, and must not pass for the integer that rounding makes of it.
    Negative zero becomes zero: no contract means it, and `-0.0` and `0.0` are equal but not written alike.
    """
    if isinstance(value, Decimal):
        nearest = float(value)
        if value == 0:
            return 0.0
        if math.isfinite(nearest) and (value == nearest or not nearest.is_integer() or abs(nearest) > _LARGEST):
            return nearest
    raise BrokenEvent("output.number")
