"""One logged-in connection that several calls share."""

import asyncio
import contextlib
import random
from collections.abc import Callable, Coroutine
from typing import Protocol

import asyncssh

from sshfacts.ssh.faults import Useless
from sshfacts.ssh.limits import PoolLimits
from sshfacts.ssh.session import CommandSession
from sshfacts.ssh.slots import Slots

CLOSE_SECONDS = 2.0
"""How long the far end may take to close an aborted channel, or we to close a connection."""
SLOT_SECONDS = 0.02
"""sshd frees a slot a little after it acknowledged the close; where slots are scarce, it is waited for."""


class Owner(Protocol):
    """Who hands out the sessions of a connection."""

    def changed(self) -> None:
        """A session was given back, or the connection is gone."""

    def proved(self) -> None:
        """The host opened the first session, so it is not only reachable but of use."""

    def useless(self, refusal: Useless) -> None:
        """The connection has ended before the host opened one session."""


class PooledConnection:
    """A connection that is closed only when it carries nothing.

    It ends in steps: *retired* (takes no new session), drained (carries nothing), closed. Closing it with
    a session in flight would look like a clean end of that session.

    Args:
        connection: logged in, with its host key verified.
        host_key: fingerprint of the key it showed.
        key_fingerprint: of the key we logged in with.
        limits: when it is retired for being idle, or old.
        let_go: called when the connection is closed; frees the tunnel it runs through.
    """

    def __init__(
        self,
        connection: asyncssh.SSHClientConnection,
        host_key: str | None,
        key_fingerprint: str | None,
        limits: PoolLimits,
        let_go: Callable[[], None],
    ) -> None:
        self.ssh = connection
        self.host_key = host_key
        self.key_fingerprint = key_fingerprint
        self.slots = Slots(limits.sessions)
        self.tunnels = 0
        """Forwarded channels; sshd counts them against no limit."""
        self.aborted = False
        """Whether we closed it with sessions in flight; what they said last is not to be believed."""
        self.owner: Owner | None = None
        self._loop = asyncio.get_running_loop()
        self._retired = False
        self._lost = False
        self._let_go = let_go
        self._idle_seconds = limits.idle_seconds * _jitter()
        self._retire_at = self._loop.time() + limits.age_seconds * _jitter()
        self._idle_since = self._loop.time()
        self._timer: asyncio.Handle = self._loop.call_soon(self._look_at_clock)
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def is_usable(self) -> bool:
        """Whether it takes new sessions."""
        return not self._retired and not self.ssh.is_closed()

    @property
    def is_gone(self) -> bool:
        """Whether it is closed and carries nothing."""
        return self._lost and not self.slots.taken

    def take(self) -> None:
        """Count one more session, before anything is awaited: else two callers take the same last slot."""
        self.slots.taken += 1

    def give_back(self) -> None:
        """Count one session less."""
        self.slots.taken -= 1
        self._carries_less()

    def take_tunnel(self) -> None:
        """Turn a taken session into a tunnel."""
        self.tunnels += 1
        self.give_back()

    def give_back_tunnel(self) -> None:
        """Count one tunnel less."""
        self.tunnels -= 1
        self._carries_less()

    def retire(self) -> None:
        """Take no new sessions, and close as soon as the last one is given back."""
        self._retired = True
        self._close_if_drained()

    async def open(self, session: CommandSession, command: str) -> None:
        """Open a channel and run `command` on it; `session` gets what comes of it."""
        await self.ssh.create_session(lambda: session, command)

    def opened(self) -> None:
        """Take note that the host opened a session or a tunnel."""
        if not self.slots.has_opened and self.owner is not None:
            self.owner.proved()
        self.slots.opened()

    def refused(self) -> None:
        """Take note that the host refused a session."""
        self.slots.refused()
        if self.slots.is_used_up:
            self._blame("busy.host", "the host lets us in and opens no session")
            self.retire()

    def settle(self, opening: "asyncio.Future[None]", session: CommandSession) -> None:
        """Give the session back as soon as the far end has closed its channel.

        The slot of a channel that is not closed in time is lost to us, so its connection is retired.
        """
        if session.may_have_started and not session.has_end:
            self.slots.leaked()
            if self.slots.is_used_up:
                self.retire()
        if not _is_over(opening, session):
            self.spawn(self._settle_late(opening, session))
        elif self.slots.has_refused and session.has_channel:
            self.spawn(self._give_back_later())
        else:
            self.give_back()

    def spawn(self, work: Coroutine[None, None, None]) -> None:
        """Run `work` in the background, as long as this connection lives."""
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Close it now, whatever it carries."""
        self._retired = True
        self.aborted = self.slots.taken > 0
        self.ssh.close()
        with contextlib.suppress(TimeoutError):  # a peer that holds the close open is left to the system
            async with asyncio.timeout(CLOSE_SECONDS):
                await self.ssh.wait_closed()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def lost(self) -> None:
        """Take note that the connection is closed, by whichever end."""
        self._timer.cancel()
        self._blame("ssh.unreachable", "the host hangs up after the login")
        self._retired = self._lost = True
        self._let_go()
        self._tell_change()

    def _blame(self, detail: str, where: str) -> None:
        if not self.slots.has_opened and not self._retired and self.owner is not None:
            self.owner.useless(Useless(detail, where, self.host_key))

    def _tell_change(self) -> None:
        if self.owner is not None:
            self.owner.changed()

    async def _give_back_later(self) -> None:
        try:
            await asyncio.sleep(SLOT_SECONDS)
        finally:
            self.give_back()

    async def _settle_late(self, opening: "asyncio.Future[None]", session: CommandSession) -> None:
        try:
            await asyncio.wait((opening,), timeout=CLOSE_SECONDS)
            if session.has_channel:
                await asyncio.wait((session.closed,), timeout=CLOSE_SECONDS)
        finally:
            if not _is_over(opening, session):
                opening.add_done_callback(_is_failed)
                self._retired = True
            self.give_back()

    def _carries_less(self) -> None:
        self._idle_since = self._loop.time()
        self._close_if_drained()
        self._tell_change()

    def _close_if_drained(self) -> None:
        if self._retired and not self.slots.taken and not self.tunnels:
            self.ssh.close()

    def _look_at_clock(self) -> None:
        """Retire the connection if it is old or was idle for long; else look again when that may be so."""
        now = self._loop.time()
        is_idle = not self.slots.taken and not self.tunnels
        idle_until = (self._idle_since if is_idle else now) + self._idle_seconds
        look_at = min(self._retire_at, idle_until)
        if now >= look_at:
            self.retire()
        else:
            self._timer = self._loop.call_at(look_at, self._look_at_clock)


def _jitter() -> float:
    return random.uniform(0.9, 1.1)  # noqa: S311 - spreads reconnects, keeps no secret


def _is_failed(opening: "asyncio.Future[None]") -> bool:
    """Return whether the open failed; asking also marks its exception as seen."""
    return opening.done() and (opening.cancelled() or opening.exception() is not None)


def _is_over(opening: "asyncio.Future[None]", session: CommandSession) -> bool:
    """Return whether no channel of this session can be open any more."""
    return session.closed.done() or (_is_failed(opening) and not session.has_channel)
