"""What asyncssh is told for each connection. Every line closes a default that is too open or too slow."""

import getpass
import os
from collections.abc import Callable, Sequence

import asyncssh

from sshfacts.commands.settings import Host
from sshfacts.ssh.host_keys import Trust

WINDOW_BYTES = 128 * 1024
PACKET_BYTES = 32 * 1024
"""Most bytes of one packet, so also the most that a flood gets over its limit."""
KEEPALIVE_SECONDS = 10
TCP_USER_TIMEOUT_MS = 20_000
"""Unacknowledged data ends the connection after this long; keepalive alone would wait for the kernel."""
CIPHERS = ("aes128-gcm@openssh.com", "aes256-gcm@openssh.com", "chacha20-poly1305@openssh.com", "aes256-ctr")
"""AES-GCM first: it halves the CPU time of a command, and Terrapin (CVE-2023-48795) does not touch it."""


def connect_options(
    host: Host,
    trust: Trust,
    key: asyncssh.SSHKeyPair,
    connect_seconds: float,
    client_factory: Callable[[], asyncssh.SSHClient],
) -> asyncssh.SSHClientConnectionOptions:
    """Return the options of one connection to `host`: one key, pinned hosts, nothing from the environment."""
    _ensure_local_user()
    return asyncssh.SSHClientConnectionOptions(
        client_factory=client_factory,
        host=host.address,
        port=host.port,
        username=host.user,
        config=None,  # the default reads ~/.ssh/config, which can turn checks off and run local commands
        # who the host is
        known_hosts=trust.known_hosts(),
        server_host_key_algs=trust.algorithms(),
        x509_trusted_certs=None,
        # who we are
        client_keys=[key],
        agent_path=None,  # a key of an agent is `key`; asyncssh itself would offer all that it holds
        agent_forwarding=False,
        gss_host=None,
        preferred_auth="publickey",
        password_auth=False,
        kbdint_auth=False,
        host_based_auth=False,
        disable_trivial_auth=True,
        # the wire
        encryption_algs=list(CIPHERS),
        compression_algs=None,
        connect_timeout=connect_seconds,  # TCP, key exchange and login; login_timeout does not cover TCP
        login_timeout=connect_seconds,
        keepalive_interval=KEEPALIVE_SECONDS,
        keepalive_count_max=2,
        # channels
        encoding=None,  # with an encoding, one byte that is not text closes the connection for everybody
        utf8_decode_errors="replace",  # the same for banners and messages of signals
        request_pty=False,
        window=WINDOW_BYTES,
        max_pktsize=PACKET_BYTES,
    )


def scan_options(
    host: Host, algorithms: Sequence[str], seconds: float, client_factory: Callable[[], asyncssh.SSHClient]
) -> asyncssh.SSHClientConnectionOptions:
    """Return the options of a connection that ends when the host has shown a key: none is pinned, so none is accepted.

    It has no key of ours to show, and says nothing of who we are.
    """
    _ensure_local_user()
    return asyncssh.SSHClientConnectionOptions(
        client_factory=client_factory,
        host=host.address,
        port=host.port,
        username="nobody",
        config=None,
        known_hosts=([], [], []),  # not None, which accepts every key, and not [], which reads a file
        server_host_key_algs=list(algorithms),
        x509_trusted_certs=None,
        client_keys=None,
        agent_path=None,
        gss_host=None,
        preferred_auth="publickey",
        encryption_algs=list(CIPHERS),
        compression_algs=None,
        connect_timeout=seconds,
        login_timeout=seconds,
        utf8_decode_errors="replace",
    )


def _ensure_local_user() -> None:
    """Give asyncssh a local user name, which it asks for and we never use.

    A container may run under a uid that has no entry in passwd; then the question is an error.
    """
    try:
        getpass.getuser()
    except (KeyError, OSError):
        os.environ["LOGNAME"] = "sshfacts"
