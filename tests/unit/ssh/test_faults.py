"""The table of exceptions; each was seen from asyncssh 2.24 against OpenSSH 9.2."""

import errno
import socket

import asyncssh
import pytest

from sshfacts.ssh.faults import Lost, NotStarted, Unconnected, exec_failed, open_failed, unconnected

REMOTE = "text-of-the-peer"


@pytest.mark.parametrize(
    ("error", "detail"),
    [
        (asyncssh.HostKeyNotVerifiable(REMOTE), "ssh.host_key"),
        (asyncssh.PermissionDenied(REMOTE), "ssh.login"),
        (asyncssh.ProtocolError(f"Too many authentication failures {REMOTE}"), "ssh.login"),
        (asyncssh.KeyExchangeFailed(REMOTE), "ssh.protocol"),
        (asyncssh.ProtocolError(REMOTE), "ssh.protocol"),
        (asyncssh.ProtocolNotSupported(REMOTE), "ssh.protocol"),
        (asyncssh.CompressionError(REMOTE), "ssh.protocol"),
        (asyncssh.MACError(REMOTE), "ssh.protocol"),
        (asyncssh.ConnectionLost(REMOTE), "ssh.unreachable"),
        (asyncssh.ServiceNotAvailable(REMOTE), "ssh.unreachable"),
        (asyncssh.DisconnectError(99, REMOTE), "ssh.unreachable"),
        (asyncssh.ChannelOpenError(asyncssh.OPEN_CONNECT_FAILED, REMOTE), "ssh.unreachable"),
        (asyncssh.ChannelOpenError(asyncssh.OPEN_ADMINISTRATIVELY_PROHIBITED, REMOTE), "ssh.channel"),
        (socket.gaierror(socket.EAI_NONAME, REMOTE), "ssh.unreachable"),
        (ConnectionRefusedError(errno.ECONNREFUSED, REMOTE), "ssh.unreachable"),
        (ConnectionResetError(), "ssh.unreachable"),
        (OSError(REMOTE), "ssh.unreachable"),
        (TimeoutError(), "timeout.connect"),
        (asyncssh.KeyImportError(REMOTE), "ssh.login"),
        (ValueError(REMOTE), "ssh.login"),
        (RuntimeError(REMOTE), "internal"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_connecting(error, detail):
    refusal = unconnected(error, "SHA256:seen")
    assert (refusal.detail, refusal.host_key) == (detail, "SHA256:seen")
    assert refusal.where is not None
    assert REMOTE not in str(refusal)


OPEN_FAILED = asyncssh.ChannelOpenError(asyncssh.OPEN_CONNECT_FAILED, REMOTE)


@pytest.mark.parametrize(
    ("error", "connection_closed", "kind", "detail"),
    [
        (OPEN_FAILED, False, NotStarted, "busy.host"),
        (OPEN_FAILED, True, NotStarted, "ssh.unreachable"),  # the same code; only the connection's state differs
        (asyncssh.ConnectionLost(REMOTE), False, NotStarted, "ssh.unreachable"),
        (ConnectionResetError(), False, NotStarted, "ssh.unreachable"),
        (asyncssh.ChannelOpenError(1, REMOTE), False, None, "ssh.channel"),
        (asyncssh.ChannelOpenError(3, REMOTE), False, None, "ssh.channel"),
        (asyncssh.ChannelOpenError(4, REMOTE), False, None, "ssh.channel"),
        (RuntimeError(REMOTE), False, None, "internal"),
    ],
)
def test_opening(error, connection_closed, kind, detail):
    refusal = open_failed(error, connection_closed=connection_closed)
    assert refusal.detail == detail
    assert isinstance(refusal, NotStarted) == (kind is NotStarted)
    assert REMOTE not in str(refusal)


@pytest.mark.parametrize(
    ("error", "is_answer", "kind", "detail"),
    [
        (asyncssh.ChannelOpenError(0xFFFFFFFF, REMOTE), True, None, "ssh.channel"),
        (asyncssh.ChannelOpenError(0xFFFFFFFF, REMOTE), False, Lost, "ssh.lost"),
        (asyncssh.ConnectionLost(REMOTE), False, Lost, "ssh.lost"),
        (TimeoutError(errno.ETIMEDOUT, REMOTE), False, Lost, "ssh.lost"),
        (RuntimeError(REMOTE), False, None, "internal"),
    ],
)
def test_exec(error, is_answer, kind, detail):
    refusal = exec_failed(error, is_answer=is_answer)
    assert refusal.detail == detail
    assert isinstance(refusal, Lost) == (kind is Lost)
    assert REMOTE not in str(refusal)


def test_a_copy_says_the_same():
    first = Unconnected("ssh.login", "why", "SHA256:seen")
    second = first.copy()
    assert second is not first
    assert (second.detail, second.where, second.host_key) == (first.detail, first.where, first.host_key)
