"""The tries that one call may take: which failure is tried again, when, and for how long.

There are two kinds. *At once*: what provably never started, up to three more times, and what was lost
after exec, once and only if a second run does no harm. *By the command file*: after a pause, for the codes
it names, within its total time. A refused login or host key and a wrong answer are never tried again.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from time import monotonic_ns

from sshfacts.commands.operation import Retry
from sshfacts.errors import Code, Refusal
from sshfacts.ssh.evidence import Attempt, Evidence
from sshfacts.ssh.faults import MISTAKEN, Lost, NotStarted, Unconnected
from sshfacts.ssh.pool import HostPool
from sshfacts.ssh.run import exit_status, run_once
from sshfacts.ssh.session import CommandSession, Sink

NOT_STARTED_TRIES = 3
"""More tries, after the first, for a command that a connection did not take."""
LOST_TRIES = 1
"""More tries for a command that was lost while it ran."""
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 5.0


@dataclass(frozen=True, slots=True)
class Command:
    """What is run, and how far."""

    text: str
    """The exact remote command, with its own time limit in it (`timeout -k 1 N`)."""
    seconds: int
    """N, the limit on the host. Ours is one second later and covers queue, connect, open and run."""
    stdout_bytes: int
    stderr_bytes: int
    idempotent: bool
    """Whether a second run does no harm."""
    retry: Retry | None = None

    @property
    def attempt_seconds(self) -> int:
        """Return our limit of one attempt by the command file."""
        return self.seconds + 1

    @property
    def total_seconds(self) -> int:
        """Return our limit of the whole call: `retry.seconds` bounds all attempts, but never cuts the first."""
        return self.attempt_seconds if self.retry is None else max(self.attempt_seconds, self.retry.seconds)


class Attempts:
    """Runs one command until an exit status, or until there is nothing left to try.

    Args:
        before_exec: awaited once, just before the command is sent for the first time.
    """

    def __init__(
        self,
        pool: HostPool,
        command: Command,
        sink: Sink,
        evidence: Evidence,
        before_exec: Callable[[], Awaitable[None]] | None,
    ) -> None:
        self._pool = pool
        self._command = command
        self._sink = sink
        self._evidence = evidence
        self._before_exec = before_exec
        self._loop = asyncio.get_running_loop()
        self._last = self._loop.time() + command.total_seconds

    async def exit_status(self) -> int:
        """Return the exit status of the first attempt that has one.

        Raises:
            Refusal: the one of the last attempt.
        """
        done = 1
        while True:
            deadline = min(self._last, self._loop.time() + self._command.attempt_seconds)
            try:
                return await self._tried_at_once(deadline)
            except Refusal as refusal:
                if not self._may_retry(refusal, done):
                    raise
                pause = self._pause(done)
                if self._loop.time() + pause >= self._last:
                    raise
            await asyncio.sleep(pause)
            done += 1

    def _may_retry(self, refusal: Refusal, done: int) -> bool:
        retry = self._command.retry
        return (
            retry is not None
            and self._command.idempotent
            and done < retry.attempts
            and refusal.code in retry.codes
            and refusal.code is not Code.INVALID_RESPONSE
            and refusal.detail not in MISTAKEN
        )

    def _pause(self, done: int) -> float:
        """Return seconds until the next attempt; while the pool leaves the host alone, any would fail."""
        pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** (done - 1)) * random.uniform(0.75, 1.25)  # noqa: S311 - no secret
        return max(pause, self._pool.pause() + 0.01)

    async def _tried_at_once(self, deadline: float) -> int:
        not_started = lost = 0
        while True:
            try:
                return await self._recorded(deadline)
            except NotStarted:
                not_started += 1
                if not_started > NOT_STARTED_TRIES:
                    raise
            except Lost:
                lost += 1
                if lost > LOST_TRIES or not self._command.idempotent:
                    raise
            await asyncio.sleep(random.uniform(0.003, 0.05))  # noqa: S311 - spreads retries, keeps no secret

    async def _recorded(self, deadline: float) -> int:
        started_at, began = datetime.now(UTC), monotonic_ns()
        detail: str | None = "internal"
        try:
            status = await self._once(deadline)
            detail = None
        except Refusal as refusal:
            detail = refusal.detail
            raise
        except asyncio.CancelledError:
            detail = "cancelled"
            raise
        finally:
            attempts = self._evidence.attempts
            attempts.append(Attempt(len(attempts) + 1, started_at, (monotonic_ns() - began) // 1_000, detail))
        return status

    async def _once(self, deadline: float) -> int:
        command, evidence = self._command, self._evidence
        evidence.begin_attempt()
        self._sink.restart()
        try:
            connection = await self._pool.lease(deadline)
        except Unconnected as refusal:
            evidence.host_key = refusal.host_key
            raise
        evidence.host_key, evidence.key_fingerprint = connection.host_key, connection.key_fingerprint
        try:
            await self._announce(deadline)
            session = CommandSession(self._sink, command.stdout_bytes, command.stderr_bytes)
        except BaseException:
            connection.give_back()
            raise
        evidence.started_at, began = datetime.now(UTC), self._loop.time()
        try:
            await run_once(connection, session, command.text, deadline)
            return exit_status(connection, session, command.seconds, self._loop.time() - began)
        finally:
            session.report(evidence)

    async def _announce(self, deadline: float) -> None:
        """Let the caller make durable that the command is about to start."""
        if self._before_exec is None:
            return
        before_exec, self._before_exec = self._before_exec, None
        try:
            async with asyncio.timeout_at(deadline) as limit:
                await before_exec()
        except TimeoutError:
            if not limit.expired():
                raise
            raise Refusal("timeout.queue", "before exec") from None
