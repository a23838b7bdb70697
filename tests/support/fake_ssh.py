"""asyncssh's connection and channel, as far as the pool and the session touch them."""

from collections.abc import Callable

import asyncssh


class FakeSsh:
    """A connection that is only open or closed."""

    def __init__(self) -> None:
        self.on_close: Callable[[], None] = lambda: None
        self._closed = False

    def is_closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self.on_close()

    async def wait_closed(self) -> None:
        """A fake is closed at once."""

    async def create_session(self, _: object, command: str) -> None:
        raise asyncssh.ChannelOpenError(asyncssh.OPEN_CONNECT_FAILED, f"no sessions here for {command}")


class FakeChannel:
    """A channel that notes what is asked of it."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def send_signal(self, name: str) -> None:
        self.asked.append(f"signal {name}")

    def abort(self) -> None:
        self.asked.append("abort")

    def write_eof(self) -> None:
        self.asked.append("eof")
