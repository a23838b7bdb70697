"""Lines from a descriptor: cut right, bounded, strict, and never in the way of ending."""

import asyncio
import os
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sshfacts.service.lines import LineSplitter, StrictLines
from sshfacts.service.problems import Problem

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


@given(st.lists(st.binary(max_size=12)))
def test_chunks_do_not_matter(chunks: list[bytes]):
    splitter = LineSplitter(100_000)
    lines = [line for chunk in chunks for line in splitter.feed(chunk)]
    assert lines == b"".join(chunks).split(b"\n")[:-1]


@given(st.lists(st.sampled_from([b"x", b"xxxx", b"\n", b"xx\nx"])))
def test_nothing_is_kept_beyond_the_bound(chunks: list[bytes]):
    splitter = LineSplitter(3)
    for chunk in chunks:
        assert all(len(line) <= 4 for line in splitter.feed(chunk))
        assert len(splitter._kept) <= 4


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reading, writing = os.pipe()
    yield reading, writing
    os.close(reading)


async def read_all(descriptor: int) -> tuple[list[str], list[Problem]]:
    refused: list[Problem] = []

    async def refuse(problem: Problem) -> None:
        refused.append(problem)

    return [line async for line in StrictLines(descriptor, refuse)], refused


async def test_messages_pass_and_other_lines_are_refused(pipe: tuple[int, int]):
    reading, writing = pipe
    lines = [PING, b"", b"  ", b"no json", b'{"jsonrpc":"2.0","id":1,"id":2,"method":"x"}', b"[]", PING, b"unfinished"]
    os.write(writing, b"\n".join(lines))
    os.close(writing)

    taken, refused = await asyncio.wait_for(read_all(reading), 10)

    assert taken == [PING.decode()] * 2
    assert refused == [Problem.BODY_NOT_OBJECT, Problem.BODY_DUPLICATE_NAME, Problem.BODY_NOT_OBJECT]


async def test_a_line_that_is_too_long_is_refused_and_the_next_one_taken(pipe: tuple[int, int]):
    reading, writing = pipe

    def write() -> None:
        with os.fdopen(writing, "wb") as stream:
            for _ in range(40):
                stream.write(b"x" * 50_000)
            stream.write(b"\n" + PING + b"\n")

    written = asyncio.create_task(asyncio.to_thread(write))
    taken, refused = await asyncio.wait_for(read_all(reading), 30)
    await written

    assert (taken, refused) == ([PING.decode()], [Problem.BODY_TOO_LARGE])


async def test_a_flood_waits_in_the_pipe_and_not_in_memory(pipe: tuple[int, int]):
    reading, writing = pipe
    os.set_blocking(writing, False)

    async def refuse(_: Problem) -> None:
        raise AssertionError

    lines = aiter(StrictLines(reading, refuse))
    sent = 0
    for _ in range(200):
        try:
            sent += os.write(writing, (PING + b"\n") * 100)
        except BlockingIOError:
            await asyncio.sleep(0.005)
    # A pipe holds 64 KiB; beside it only one chunk and a few lines are under way.
    assert sent < 4 * 64 * 1024
    assert await anext(lines) == PING.decode()
    os.close(writing)


async def test_a_closed_descriptor_is_the_end():
    reading, writing = os.pipe()
    os.close(writing)
    os.close(reading)
    assert await asyncio.wait_for(read_all(reading), 10) == ([], [])
