"""The connections to one host with one login, and the queue of calls that wait for a session on them."""

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable

from sshfacts.errors import Refusal
from sshfacts.ssh.backoff import Backoff
from sshfacts.ssh.connection import PooledConnection
from sshfacts.ssh.faults import Unconnected, Useless
from sshfacts.ssh.limits import PoolLimits
from sshfacts.ssh.run import warm_up

STOPPING = "the service is stopping"


class HostPool:
    """Hands out sessions in the order they were asked for.

    The first connect is a probe, and no second one starts until it succeeded: three connects at once
    with a bad key are three failed logins in the eyes of the host. While the host is left alone after a
    failure, calls are refused at once with the reason of that failure.

    Args:
        connect: makes one connection; raises `Unconnected` and nothing else.
    """

    def __init__(self, connect: Callable[[], Awaitable[PooledConnection]], limits: PoolLimits) -> None:
        self._connect = connect
        self._limits = limits
        self._backoff = Backoff(limits.backoff)
        self._connections: list[PooledConnection] = []
        self._waiting: deque[asyncio.Future[PooledConnection]] = deque()
        self._connecting: set[asyncio.Task[None]] = set()
        self._has_changed = asyncio.Event()
        self._stopping = False

    @property
    def connections(self) -> tuple[PooledConnection, ...]:
        """Those that are open, retired ones included."""
        return tuple(self._connections)

    def pause(self) -> float:
        """Return for how many seconds the host is left alone."""
        return self._backoff.remaining(asyncio.get_running_loop().time())

    async def lease(self, deadline: float) -> PooledConnection:
        """Wait for a session and return its connection; the caller gives it back.

        Args:
            deadline: on the event loop's clock.

        Raises:
            Unconnected: the host cannot be reached or refuses us.
            Refusal: `busy.host`, `timeout.queue`, `timeout.connect`.
        """
        if self._stopping:
            raise Unconnected("ssh.unreachable", STOPPING)
        if len(self._waiting) >= self._limits.waiting:
            raise Refusal("busy.host", f"{self._limits.waiting} calls wait for this host")
        loop = asyncio.get_running_loop()
        place: asyncio.Future[PooledConnection] = loop.create_future()
        self._waiting.append(place)
        self._dispatch()
        try:
            if not place.done():
                await asyncio.wait((place,), timeout=max(0.0, deadline - loop.time()))
        except asyncio.CancelledError:
            self._leave(place)
            raise
        if not place.done():
            self._leave(place)
            raise Refusal("timeout.queue" if self._usable() else "timeout.connect")
        return place.result()

    def renew(self) -> None:
        """Log in anew for every call that has no session yet, because what we log in with has changed.

        Connections that carry commands carry them to their end, and what the host thought of the old
        login does not count any more.
        """
        for connecting in self._connecting:
            connecting.cancel()
        self._backoff.succeeded()
        for connection in tuple(self._connections):
            connection.retire()
        self._dispatch()

    async def close(self, seconds: float) -> None:
        """Take no more calls, let those that run end within `seconds`, then close every connection."""
        self._stopping = True
        self._refuse_waiting(Unconnected("ssh.unreachable", STOPPING))
        for connecting in tuple(self._connecting):
            connecting.cancel()
        await asyncio.gather(*self._connecting, return_exceptions=True)
        connections = tuple(self._connections)
        for connection in connections:
            connection.retire()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while any(connection.slots.taken for connection in connections):
                    self._has_changed.clear()
                    await self._has_changed.wait()
        await asyncio.gather(*(connection.close() for connection in connections))
        self._drop_gone()

    def changed(self) -> None:
        """Look who can be served now; a connection calls this."""
        self._has_changed.set()
        self._dispatch()

    def proved(self) -> None:
        """Forget all failures; a connection calls this."""
        self._backoff.succeeded()

    def useless(self, refusal: Useless) -> None:
        """Leave a host alone that lets us in and runs nothing: else each call would log in anew."""
        self._backoff.failed(refusal, asyncio.get_running_loop().time())

    def _usable(self) -> list[PooledConnection]:
        return [connection for connection in self._connections if connection.is_usable]

    def _drop_gone(self) -> None:
        self._connections = [connection for connection in self._connections if not connection.is_gone]

    def _leave(self, place: "asyncio.Future[PooledConnection]") -> None:
        """Take back a place in the queue, with the session it may have been given meanwhile."""
        if not place.done():
            self._waiting.remove(place)
            place.cancel()
        elif place.exception() is None:
            place.result().give_back()

    def _dispatch(self) -> None:
        """Give free sessions to those who wait longest, then see whether more connections are worth it."""
        self._drop_gone()
        while self._waiting and (connection := self._freest()) is not None:
            connection.take()
            self._waiting.popleft().set_result(connection)
        if self._waiting:
            self._grow()

    def _freest(self) -> PooledConnection | None:
        """Return the connection with the fewest sessions, if one has room."""
        having_room = (one for one in self._usable() if one.slots.is_free)
        return min(having_room, key=lambda one: one.slots.taken, default=None)

    def _grow(self) -> None:
        usable = len(self._usable())
        connecting = len(self._connecting)
        if self._backoff.refusal is not None and self.pause() > 0:
            if not usable and not connecting:
                self._refuse_waiting(self._backoff.refusal)
            return
        if usable:
            needed = -(-len(self._waiting) // self._limits.sessions)
            wanted = min(needed, self._limits.connections - usable)
        else:
            wanted = 1
        busy = sum(1 for one in self._connections if one.slots.taken and not one.is_usable)
        wanted = min(wanted, 2 * self._limits.connections - usable - busy)
        for _ in range(wanted - connecting):
            task = asyncio.get_running_loop().create_task(self._add())
            self._connecting.add(task)
            task.add_done_callback(self._connected)

    async def _add(self) -> None:
        connection = await self._connect()
        connection.owner = self
        learnt = (one.slots.most for one in self._connections)
        connection.slots.most = min(learnt, default=self._limits.sessions)
        self._connections.append(connection)
        self._dispatch()
        if not connection.slots.taken:
            connection.take()
            connection.spawn(warm_up(connection))

    def _connected(self, task: "asyncio.Task[None]") -> None:
        self._connecting.discard(task)
        if self._stopping:
            return
        fault = None if task.cancelled() else task.exception()
        if isinstance(fault, Unconnected):
            self._backoff.failed(fault, asyncio.get_running_loop().time())
        elif fault is not None:
            self._refuse_waiting(Unconnected("internal", type(fault).__name__))
        self._dispatch()

    def _refuse_waiting(self, refusal: Unconnected) -> None:
        while self._waiting:
            self._waiting.popleft().set_exception(refusal.copy())
