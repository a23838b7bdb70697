"""Lines of strict JSON from a file descriptor."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from threading import Semaphore, Thread
from typing import Self

from sshfacts.limits import REQUEST
from sshfacts.service.body import check_message
from sshfacts.service.problems import NotARequest, Problem

_CHUNK = 64 * 1024
_AHEAD = 16  # lines that are read before somebody takes them


class LineSplitter:
    """Cuts bytes into lines. Of a line that is too long only its first bytes are kept, too many to be a request."""

    def __init__(self, most: int = REQUEST.bytes) -> None:
        self._most = most
        self._kept = bytearray()

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take the next bytes; return the lines that end in them."""
        *ends, rest = chunk.split(b"\n")
        lines = []
        for end in ends:
            self._keep(end)
            lines.append(bytes(self._kept))
            self._kept.clear()
        self._keep(rest)
        return lines

    def _keep(self, part: bytes) -> None:
        self._kept += part[: self._most + 1 - len(self._kept)]


class StrictLines:
    """Iterates over the lines that are one strict JSON-RPC message each, and refuses the others.

    A thread reads, because a descriptor may be a file, a pipe or a terminal. It is a daemon: it may wait for a line
    that never comes, and must not keep the process from ending.

    Args:
        refuse: is told what is wrong with a line that is none; its caller hears nothing else of it.
    """

    def __init__(self, descriptor: int, refuse: Callable[[Problem], Awaitable[None]]) -> None:
        self._descriptor = descriptor
        self._refuse = refuse
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._room = Semaphore(_AHEAD)
        self._loop = asyncio.get_running_loop()

    def __aiter__(self) -> Self:
        """Start to read."""
        Thread(target=self._read, name="sshfacts-stdin", daemon=True).start()
        return self

    async def __anext__(self) -> str:
        """Return the next line, as text."""
        while (line := await self._lines.get()) is not None:
            self._room.release()
            try:
                check_message(line)
            except NotARequest as error:
                await self._refuse(error.problem)
            else:
                return line.decode()
        raise StopAsyncIteration

    def _read(self) -> None:
        """Run in the thread: read to the end, and wait whenever enough lines lie ready."""
        splitter = LineSplitter()
        with suppress(RuntimeError):  # The loop is closed: nobody takes lines any more.
            while chunk := self._next_chunk():
                for line in filter(bytes.strip, splitter.feed(chunk)):
                    self._room.acquire()
                    self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
            self._loop.call_soon_threadsafe(self._lines.put_nowait, None)

    def _next_chunk(self) -> bytes:
        try:
            return os.read(self._descriptor, _CHUNK)
        except OSError:  # As of a terminal that is gone; then nothing comes any more.
            return b""
