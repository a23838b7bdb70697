"""The lowest layer: the callbacks of one channel, which count, hash and bound what arrives.

asyncssh calls `data_received` once for each packet, at once and in order. There is no stream object and
no buffer between the packet and the bound, so a flood is cut within one packet (32 KiB) over its limit.
"""

import asyncio
import hashlib
from typing import Protocol

import asyncssh

from sshfacts.errors import Refusal
from sshfacts.limits import STDERR_KEPT
from sshfacts.ssh.evidence import Evidence

SIGNALS = frozenset(
    ("ABRT", "ALRM", "FPE", "HUP", "ILL", "INT", "KILL", "PIPE", "QUIT", "SEGV", "TERM", "USR1", "USR2")
)
"""RFC 4254 §6.10. Another name is text of the host's own, so it is told as `other`."""
OTHER_SIGNAL = "other"


class Sink(Protocol):
    """Takes stdout while it arrives. It is called from a packet handler, so it must be quick."""

    def restart(self) -> None:
        """A new attempt begins: forget everything."""

    def write(self, chunk: bytes) -> None:
        """Take the next bytes of stdout, those of the packet that goes over the limit included. Never raises."""


class _Stream:
    """Counts and hashes one stream."""

    __slots__ = ("_sha256", "bytes", "limit")

    def __init__(self, limit: int) -> None:
        self.bytes = 0
        self.limit = limit
        self._sha256 = hashlib.sha256()

    def take(self, chunk: bytes) -> None:
        self.bytes += len(chunk)
        self._sha256.update(chunk)

    def is_over(self) -> bool:
        return self.bytes > self.limit

    def digest(self) -> str:
        return self._sha256.hexdigest()


class CommandSession(asyncssh.SSHClientSession[bytes]):
    """What one channel does to us, from open to close.

    Args:
        sink: gets every counted chunk of stdout.
        stdout_bytes: most bytes of stdout; one more ends the run.
        stderr_bytes: the same for stderr.
    """

    def __init__(self, sink: Sink, stdout_bytes: int, stderr_bytes: int) -> None:
        loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[None] = loop.create_future()
        """Done when there is nothing more to wait for: the channel is closed, or a bound was broken."""
        self.closed: asyncio.Future[None] = loop.create_future()
        """Done when both ends have closed the channel, so that its slot is free again."""
        self.exec_sent = False
        self.exec_refused = False
        """Whether the host answered the exec request with no. `run_once` sets it: a session is not told."""
        self.broken_bound: Refusal | None = None
        """`output.too_large` or `command.stderr`, once one of the two is true."""
        self.sink_fault: Exception | None = None
        self.lost_by: Exception | None = None
        """Why the connection went away under the channel."""
        self.exit_status: int | None = None
        self.exit_signal: str | None = None
        self._sink = sink
        self._stdout = _Stream(stdout_bytes)
        self._stderr = _Stream(stderr_bytes)
        self._stderr_head = b""
        self._channel: asyncssh.SSHClientChannel[bytes] | None = None
        self._abandoned = False

    @property
    def is_silent(self) -> bool:
        """Whether not one byte of output has come."""
        return self._stdout.bytes == 0 and self._stderr.bytes == 0

    @property
    def has_channel(self) -> bool:
        """Whether the host opened a channel for it."""
        return self._channel is not None

    @property
    def may_have_started(self) -> bool:
        """Whether the command may run, or may have run; if not, it provably never started."""
        return self.exec_sent and not self.exec_refused

    @property
    def has_end(self) -> bool:
        """Whether the host said how the command ended."""
        return self.exit_status is not None or self.exit_signal is not None

    def connection_made(self, chan: asyncssh.SSHClientChannel[bytes]) -> None:
        """Take the open channel; asyncssh sends exec right after this returns.

        A caller that gave up meanwhile is the late-open race: on a closed channel asyncssh sends no exec,
        so the command of an abandoned run is provably never started.
        """
        self._channel = chan
        if self._abandoned:
            chan.abort()
        else:
            self.exec_sent = True

    def data_received(self, data: bytes, datatype: asyncssh.DataType) -> None:
        """Count and hash one packet, and abort the channel if it goes over a bound."""
        if self.ended.done():
            return
        if datatype is None:
            self._stdout.take(data)
            self._give(data)
            if self._stdout.is_over():
                self._break("output.too_large", self._stdout)
        else:
            self._stderr.take(data)
            self._stderr_head += data[: STDERR_KEPT - len(self._stderr_head)]
            if self._stderr.is_over():
                self._break("command.stderr", self._stderr)

    def eof_received(self) -> bool:
        """Keep our half open: the exit status is still to come."""
        return True

    def exit_status_received(self, status: int) -> None:
        """Take the exit status, 0 to 255 (asyncssh cuts it to one byte)."""
        self.exit_status = status

    def exit_signal_received(self, signal: str, core_dumped: bool, msg: str, lang: str) -> None:  # noqa: ARG002, FBT001 - asyncssh's signature
        """Take the name of the signal that ended the command; the message is remote text and is dropped."""
        self.exit_signal = signal if signal in SIGNALS else OTHER_SIGNAL

    def connection_lost(self, exc: Exception | None) -> None:
        """Take note that the channel is closed, or its connection gone."""
        if not self.ended.done():
            self.lost_by = exc
            self.ended.set_result(None)
        if not self.closed.done():
            self.closed.set_result(None)

    def end_input(self) -> None:
        """Tell the command that its stdin is empty."""
        if self._channel is not None:
            self._channel.write_eof()

    def abandon(self) -> None:
        """End a run that nobody waits for any more: kill what runs, close the channel, send no exec.

        The signal is a request without an answer, and sshd refuses it for root and for forced commands.
        That is why the command text carries its own `timeout -k`; see `Evidence.end_unconfirmed`.
        """
        self._abandoned = True
        if self._channel is not None and not self.closed.done():
            self._channel.send_signal("KILL")
            self._channel.abort()

    def report(self, evidence: Evidence) -> None:
        """Write down what was seen. A command that never started leaves no trace of a run."""
        if not self.may_have_started:
            evidence.started_at = None
            return
        evidence.exit_status = self.exit_status
        evidence.exit_signal = self.exit_signal
        evidence.stdout_bytes = self._stdout.bytes
        evidence.stdout_sha256 = self._stdout.digest()
        evidence.stderr_bytes = self._stderr.bytes
        evidence.stderr_sha256 = self._stderr.digest()
        evidence.stderr_head = self._stderr_head
        evidence.end_unconfirmed = not self.has_end

    def _give(self, chunk: bytes) -> None:
        try:
            self._sink.write(chunk)
        except Exception as fault:  # noqa: BLE001 - here it would close the connection under other sessions
            self.sink_fault = fault
            self._end_now()

    def _break(self, detail: str, stream: _Stream) -> None:
        self.broken_bound = Refusal(detail, f"more than {stream.limit} bytes")
        self._end_now()

    def _end_now(self) -> None:
        if not self.ended.done():
            self.ended.set_result(None)
        self.abandon()
