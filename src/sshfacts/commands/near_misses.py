"""Near misses of a contract: values that are one flaw away from a valid one, and that must all be refused.

They show that a contract holds, and that the engine applies it: every rule that it has is broken once at every sort of
place. Nothing in here asks the validator what it would say.
"""

import json
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from math import sqrt

from sshfacts.commands.near_miss_flaws import UNNAMED, Flaw, flaws
from sshfacts.commands.near_miss_places import Place, Step, places
from sshfacts.schemas.contract import Contract
from sshfacts.schemas.profile import Kind
from sshfacts.schemas.tree import read_tree
from sshfacts.values import JsonValue

_GOLDEN = (sqrt(5) - 1) / 2


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A value with one flaw."""

    flaw: str
    """What is wrong, in our own words."""
    place: str
    """Where it is wrong: a pointer by the contract's own names, with `*` for every row."""
    value: JsonValue


def near_misses(contract: Contract, value: JsonValue, most: int) -> Iterator[NearMiss]:
    """Yield near misses of a value, the same ones in every run.

    When there are more than `most`, every sort of place gets its share, with flaws in rows all over the value.

    Args:
        value: one that the contract accepts.
        most: how many at most.
    """
    root, _ = read_tree(contract.schema)
    if root is None:
        raise TypeError("a contract without a schema")
    sorts: dict[str, list[Place]] = {}
    for place in places(root, value):
        sorts.setdefault(place.sort, []).append(place)
    unnamed = _unnamed(contract)
    streams = [_stream(found, contract.kind, unnamed, turn) for turn, found in enumerate(sorts.values())]
    for place, (flaw, part) in islice(_in_turn(streams), most):
        yield NearMiss(flaw, place.sort, _replaced(value, place.steps, part))


def _unnamed(contract: Contract) -> str:
    """Return a name that stands nowhere in a contract."""
    name, text = UNNAMED, json.dumps(contract.schema)
    while name in text:
        name += "_"
    return name


def _stream(found: list[Place], kind: Kind, unnamed: str, turn: int) -> Iterator[tuple[Place, Flaw]]:
    """Yield the flaws of one sort of place, row after row.

    Rows come in an order whose beginning is spread over all of them, and flaws begin at another one for each `turn`, so
    that no flaw is always among those that are left out.
    """
    for place in _spread(found):
        all_flaws = list(flaws(place, kind, unnamed))
        first = turn % max(len(all_flaws), 1)
        yield from ((place, flaw) for flaw in all_flaws[first:] + all_flaws[:first])


def _spread(found: list[Place]) -> list[Place]:
    """Order places by the fractional parts of multiples of the golden ratio, whose beginning is spread evenly."""
    return [found[index] for index in sorted(range(len(found)), key=lambda index: index * _GOLDEN % 1)]


def _in_turn(streams: list[Iterator[tuple[Place, Flaw]]]) -> Iterator[tuple[Place, Flaw]]:
    """Yield one of each stream in turn until all have ended."""
    waiting = deque(streams)
    while waiting:
        stream = waiting.popleft()
        for item in islice(stream, 1):
            yield item
            waiting.append(stream)


def _replaced(value: JsonValue, steps: tuple[Step, ...], part: JsonValue) -> JsonValue:
    """Return a value with one part replaced; it shares all other parts with the value."""
    match value, steps:
        case _, ():
            return part
        case dict(), (str(name), *rest):
            return {**value, name: _replaced(value[name], tuple(rest), part)}
        case list(), (int(index), *rest):
            return [*value[:index], _replaced(value[index], tuple(rest), part), *value[index + 1 :]]
    raise TypeError("a place that is not in the value")
