"""One attempt: one channel, from open to end, and what its end means."""

import asyncio

from sshfacts.errors import Refusal
from sshfacts.ssh.connection import PooledConnection
from sshfacts.ssh.faults import Lost, channel_lost, exec_failed, open_failed
from sshfacts.ssh.session import CommandSession

TIMEOUT_STATUSES = frozenset({124, 137})
"""What timeout(1) returns when it ended the command by TERM, and what a shell makes of a KILL."""
TIMEOUT_SIGNALS = frozenset({"TERM", "KILL"})
"""timeout(1) with `-k` dies by KILL together with a command that ignores TERM."""
WARM_UP = "true"
WARM_UP_SECONDS = 2.0


async def run_once(connection: PooledConnection, session: CommandSession, command: str, deadline: float) -> None:
    """Run `command` on a leased connection until its channel ends or `deadline` (of the loop's clock).

    The session is given back in every case, at the latest a few seconds later. asyncssh's own
    cancellation would leak: a cancelled open has no handle, so its channel stays until the connection
    closes. That is why the open is a task of its own which nobody cancels.

    Raises:
        NotStarted: the connection did not take the command.
        Lost: the connection closed before the host confirmed the start.
        Refusal: `ssh.channel`, `timeout.connect`, `timeout.run`.
    """
    opening = asyncio.ensure_future(connection.open(session, command))
    try:
        if not await _is_done(opening, deadline):
            connection.retire()  # a host this slow, or this silent, gets no more work over this connection
            raise Refusal("timeout.run" if session.exec_sent else "timeout.connect", "waiting for a channel")
        _check_open(connection, session, opening)
        session.end_input()
        if not await _is_done(session.ended, deadline):
            if session.is_silent:
                connection.retire()
            raise Refusal("timeout.run")
    finally:
        if not opening.done():
            connection.retire()
        session.abandon()
        connection.settle(opening, session)


def exit_status(connection: PooledConnection, session: CommandSession, seconds: int, elapsed: float) -> int:
    """Return the exit status of a run that ended by itself.

    Args:
        seconds: the time limit on the host.
        elapsed: seconds since just before exec.

    Raises:
        Lost: the connection closed under the channel, so what came may be cut.
        Refusal: `output.too_large`, `command.stderr`, `command.signal`, `ssh.no_exit_status`, `ssh.protocol`,
            `timeout.run`.
    """
    if session.sink_fault is not None:
        raise session.sink_fault
    if session.broken_bound is not None:
        raise session.broken_bound
    if session.lost_by is not None:
        raise channel_lost(session.lost_by)
    if connection.aborted:
        raise Lost("ssh.lost", "closed by us")
    is_late = elapsed >= seconds
    if session.exit_signal is not None:
        if is_late and session.exit_signal in TIMEOUT_SIGNALS:
            raise Refusal("timeout.run", f"ended by {session.exit_signal} at the limit of {seconds} s")
        raise Refusal("command.signal", session.exit_signal)
    if session.exit_status is None:
        # A channel that was closed without a status looks like a clean end, and is how a cut answer looks.
        raise Refusal("ssh.no_exit_status")
    if is_late and session.exit_status in TIMEOUT_STATUSES:
        raise Refusal("timeout.run", f"ended with {session.exit_status} at the limit of {seconds} s")
    return session.exit_status


class Nowhere:
    """A sink for output that nobody wants."""

    def restart(self) -> None:
        """Forget nothing, since nothing was kept."""

    def write(self, chunk: bytes) -> None:
        """Drop it."""


async def warm_up(connection: PooledConnection) -> None:
    """Run one throwaway command, which takes the 40 ms stall of a connection's first exec upon itself.

    The stall is the server's Nagle algorithm against our delayed acknowledgement. What comes of the
    command does not matter, not even a refusal. The connection is leased, and is given back.
    """
    session = CommandSession(Nowhere(), stdout_bytes=1024, stderr_bytes=1024)
    try:
        await run_once(connection, session, WARM_UP, asyncio.get_running_loop().time() + WARM_UP_SECONDS)
    except Refusal:
        return


def _check_open(connection: PooledConnection, session: CommandSession, opening: "asyncio.Future[None]") -> None:
    error = opening.exception()
    if error is None:
        connection.opened()
        return
    if not isinstance(error, Exception):
        raise error
    if session.exec_sent:
        # asyncssh closes the channel of a refused exec only after this; one that is closed already
        # was closed by the host, without an answer.
        session.exec_refused = not session.closed.done()
        raise exec_failed(error, is_answer=session.exec_refused) from None
    is_closed = connection.ssh.is_closed()
    if not is_closed:
        connection.refused()
    raise open_failed(error, connection_closed=is_closed) from None


async def _is_done(future: "asyncio.Future[None]", deadline: float) -> bool:
    """Wait for `future` without cancelling it, and return whether it is done."""
    if not future.done():
        await asyncio.wait((future,), timeout=max(0.0, deadline - asyncio.get_running_loop().time()))
    return future.done()
