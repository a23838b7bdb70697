"""The one place that turns exceptions of asyncssh and of the system into refusals.

The texts of those exceptions hold what the peer sent, so none is passed on: `where` is in our own words.
The order of the tests matters, because the classes overlap: `HostKeyNotVerifiable`, `PermissionDenied`,
`KeyExchangeFailed` and `ProtocolError` are `DisconnectError`s, and `TimeoutError` is an `OSError`.
"""

import errno
import socket

import asyncssh

from sshfacts.errors import Refusal

MISTAKEN = frozenset({"ssh.host_key", "ssh.login"})
"""Details that no second try mends; trying again only looks like an attack to the host."""


class Unconnected(Refusal):
    """No connection could be made, so nothing has run.

    Args:
        host_key: fingerprint of the key the host showed, if it came that far.
    """

    def __init__(self, detail: str, where: str | None = None, host_key: str | None = None) -> None:
        super().__init__(detail, where)
        self.host_key = host_key

    def copy(self) -> "Unconnected":
        """Return the same refusal anew: one exception object raised in many tasks mixes their tracebacks."""
        return type(self)(self.detail, self.where, self.host_key)


class Useless(Unconnected):
    """The host let us in, and then opened no session."""


class NotStarted(Refusal):
    """A connection did not take the command; it provably never started, so another try is safe at once."""


class Lost(Refusal):
    """The connection went away after the command was sent; it may have run, or may still run."""


def unconnected(error: Exception, host_key: str | None) -> Unconnected:
    """Return the refusal for an exception of connecting or logging in."""
    detail, where = _connecting(error)
    return Unconnected(detail, where, host_key)


_CONNECTING: tuple[tuple[type[Exception], str, str], ...] = (
    (asyncssh.HostKeyNotVerifiable, "ssh.host_key", "the key is not pinned"),
    (asyncssh.PermissionDenied, "ssh.login", "the host does not take our key"),
    (asyncssh.KeyExchangeFailed, "ssh.protocol", "no algorithm in common"),
    (asyncssh.ProtocolError, "ssh.protocol", "the peer broke the protocol"),
    (asyncssh.ProtocolNotSupported, "ssh.protocol", "the peer speaks another version"),
    (asyncssh.CompressionError, "ssh.protocol", "a packet could not be read"),
    (asyncssh.MACError, "ssh.protocol", "a packet could not be read"),
    (asyncssh.DisconnectError, "ssh.unreachable", "the peer hung up before the login"),
    (asyncssh.ChannelOpenError, "ssh.unreachable", "the jump host does not reach it"),
    (socket.gaierror, "ssh.unreachable", "the address does not resolve"),
    (TimeoutError, "timeout.connect", "no login in time"),
    # A key that cannot sign: its agent went away or refuses, or its type is unfit.
    (ValueError, "ssh.login", "our key cannot be used"),
)
"""The first class that fits counts."""
_PROTOCOL = tuple(kind for kind, detail, _ in _CONNECTING if detail == "ssh.protocol")


def _connecting(error: Exception) -> tuple[str, str]:
    if isinstance(error, asyncssh.ProtocolError) and "authentication failures" in error.reason:
        return "ssh.login", "the host counts too many failed keys"
    if isinstance(error, asyncssh.ChannelOpenError) and error.code == asyncssh.OPEN_ADMINISTRATIVELY_PROHIBITED:
        return "ssh.channel", "the jump host forbids forwarding"
    for kind, detail, where in _CONNECTING:
        if isinstance(error, kind):
            return detail, where
    if isinstance(error, OSError):
        return "ssh.unreachable", errno.errorcode.get(error.errno or 0, "no connection")
    return "internal", type(error).__name__


def open_failed(error: Exception, *, connection_closed: bool) -> Refusal:
    """Return the refusal for an exception of opening a channel, before exec was sent.

    sshd's MaxSessions and a connection that has just closed are the same error code; only the state of
    the connection tells them apart.
    """
    if connection_closed:
        return NotStarted("ssh.unreachable", "the connection closed before the command was sent")
    match error:
        case asyncssh.ChannelOpenError() if error.code == asyncssh.OPEN_CONNECT_FAILED:
            return NotStarted("busy.host", "the host opens no more sessions")
        case asyncssh.ChannelOpenError():
            return Refusal("ssh.channel", f"open refused with code {error.code:#x}")
        case asyncssh.DisconnectError() | OSError():
            return NotStarted("ssh.unreachable", "the connection closed before the command was sent")
        case _:
            return Refusal("internal", type(error).__name__)


def exec_failed(error: Exception, *, is_answer: bool) -> Refusal:
    """Return the refusal for an exception after exec was sent.

    Args:
        is_answer: the host answered the exec request; otherwise channel or connection closed instead.
    """
    match error:
        case asyncssh.ChannelOpenError() if is_answer:
            return Refusal("ssh.channel", "exec refused")
        case asyncssh.ChannelOpenError() | asyncssh.DisconnectError() | OSError():
            return Lost("ssh.lost", "before the host confirmed the start")
        case _:
            return Refusal("internal", type(error).__name__)


def channel_lost(error: Exception) -> Refusal:
    """Return the refusal for the exception that a connection ended with under a running command."""
    if isinstance(error, _PROTOCOL):
        return Refusal("ssh.protocol", "the peer broke the protocol while the command ran")
    return Lost("ssh.lost")
