"""Helpers of this room's tests: reading in chunks, and what a refusal says."""

import random
from collections.abc import Callable, Iterator

import pytest

from sshfacts.adapters.formats import Format
from sshfacts.adapters.reader import open_reader
from sshfacts.errors import Refusal, Stage
from sshfacts.limits import DEFAULTS, ReadLimits
from sshfacts.values import JsonValue

_CHANCE = random.Random(7)  # noqa: S311 - chunk sizes are no secret

CHUNKINGS: dict[str, Callable[[], Iterator[int]]] = {
    "whole": lambda: iter(lambda: 1 << 30, 0),
    "one": lambda: iter(lambda: 1, 0),
    "seven": lambda: iter(lambda: 7, 0),
    "random": lambda: iter(lambda: _CHANCE.randrange(1, 3000), 0),
}

Read = Callable[..., JsonValue]
Refuse = Callable[..., tuple[str, str | None]]


@pytest.fixture(params=CHUNKINGS)
def read(request: pytest.FixtureRequest) -> Read:
    """Read stdout that arrives in chunks; every test that asks for it runs with each chunking."""

    def read_in_chunks(output_format: Format, stdout: bytes, limits: ReadLimits = DEFAULTS) -> JsonValue:
        reader = open_reader(output_format, limits)
        sizes = CHUNKINGS[request.param]()
        start = 0
        while start < len(stdout):
            size = next(sizes)
            reader.feed(stdout[start : start + size])
            start += size
        return reader.close()

    return read_in_chunks


@pytest.fixture
def refusal(read: Read) -> Refuse:
    """Return detail and place of the refusal of stdout."""

    def refusal_of(output_format: Format, stdout: bytes, limits: ReadLimits = DEFAULTS) -> tuple[str, str | None]:
        with pytest.raises(Refusal) as caught:
            read(output_format, stdout, limits)
        assert caught.value.stage is Stage.READ
        return caught.value.detail, caught.value.where

    return refusal_of
