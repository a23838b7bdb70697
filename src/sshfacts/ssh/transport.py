"""The one door of this room: run a command on a host, and get its exit status or a refusal."""

import asyncio
import logging
import unicodedata
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Protocol

from sshfacts.commands.settings import Host, Settings
from sshfacts.errors import Refusal
from sshfacts.limits import COMMAND_BYTES
from sshfacts.ssh.attempts import Attempts, Command
from sshfacts.ssh.credentials import LoadedCredential
from sshfacts.ssh.dial import Dialer
from sshfacts.ssh.evidence import Evidence
from sshfacts.ssh.limits import PoolLimits
from sshfacts.ssh.loading import load_all, load_credentials
from sshfacts.ssh.pool import STOPPING, HostPool
from sshfacts.ssh.session import Sink
from sshfacts.ssh.way import Way

__all__ = ["Command", "Sink", "SshTransport", "Transport"]

CONNECTS_AT_ONCE = 6
"""Over all hosts together."""
CLOSE_SECONDS = 5.0
_UNSENDABLE = frozenset({"Cc", "Cs"})
"""Control characters, NUL and newlines among them, and lone surrogates."""


class Transport(Protocol):
    """Runs commands on hosts."""

    async def run(
        self,
        host: Host,
        command: Command,
        sink: Sink,
        evidence: Evidence,
        *,
        before_exec: Callable[[], Awaitable[None]] | None = None,
    ) -> int:
        """Return the exit status, 0 to 255; whether it is one to be expected is the caller's to say.

        Args:
            sink: gets stdout while it arrives; `restart` begins each attempt.
            evidence: is filled as things become known, so it tells something after a failure as well.
            before_exec: awaited once, just before the command is sent; what it raises is raised.

        Raises:
            Refusal: a detail of the stage run, `output.too_large`, or what `before_exec` raised.
        """


class SshTransport:
    """Runs commands over SSH, with one pool of connections per host and login.

    Keys and pins are read here, once: what is wrong with them stops the start and not a call. `reload`
    reads the keys again.

    Args:
        limits: bounds of each pool.

    Raises:
        SiteError: credentials that cannot be used safely, or hosts without a valid pin.
    """

    def __init__(self, settings: Settings, limits: PoolLimits | None = None) -> None:
        # At INFO asyncssh logs commands; nothing that it logs at WARNING or above comes from a host.
        logging.getLogger("asyncssh").setLevel(logging.WARNING)
        self._settings = settings
        self._limits = limits or PoolLimits()
        self._gate = asyncio.Semaphore(CONNECTS_AT_ONCE)
        self._pools: dict[Host, HostPool] = {}
        self._is_closing = False
        self._reloading = asyncio.Lock()
        self._trusts, self._credentials = load_all(settings)

    async def run(
        self,
        host: Host,
        command: Command,
        sink: Sink,
        evidence: Evidence,
        *,
        before_exec: Callable[[], Awaitable[None]] | None = None,
    ) -> int:
        """Run `command` on `host`; see `Transport.run`."""
        evidence.key_fingerprint = self._credentials[host.credential].fingerprint
        _check_sendable(command.text)
        if self._is_closing:
            raise Refusal("ssh.unreachable", STOPPING)
        return await Attempts(self._pool(host), command, sink, evidence, before_exec).exit_status()

    async def reload(self) -> frozenset[str]:
        """Read all credentials anew, and return the names of those that changed.

        The changed ones count for all calls that have no session yet; commands that run keep the
        connection they have. A host that refused the old login is asked again at once. What an
        ssh-agent holds needs no reload: it is asked at each login.

        Raises:
            SiteError: one of them cannot be used; then all stay as they were.
        """
        async with self._reloading:
            loaded = await asyncio.to_thread(load_credentials, self._settings)  # a passphrase takes 150 ms of CPU
            changed = frozenset(name for name, new in loaded.items() if new != self._credentials[name])
            self._credentials = loaded
        for login, pool in self._pools.items():
            if login.credential in changed:
                pool.renew()
        return changed

    def way(self, host: Host) -> Way:
        """Return how `host` is reached, which may be one that the settings do not name."""
        jump = None if host.via is None else self._pool(self._settings.hosts[host.via])
        return Way(host, self._limits.connect_seconds, jump)

    async def close(self) -> None:
        """Let running commands end within a few seconds, then close all connections, jump hosts last."""
        self._is_closing = True
        for jumps in sorted(set(map(self._jumps, self._pools)), reverse=True):
            pools = [pool for login, pool in self._pools.items() if self._jumps(login) == jumps]
            await asyncio.gather(*(pool.close(CLOSE_SECONDS) for pool in pools))

    def _pool(self, host: Host) -> HostPool:
        """Return the pool of this login; aliases that differ in nothing but their name share it."""
        login = _login(host)
        pool = self._pools.get(login)
        if pool is None:
            credential, pins = self._credential_of(host), self._trusts[host.alias]
            dialer = Dialer(self.way(host), credential, pins, self._limits, self._gate)
            pool = self._pools[login] = HostPool(dialer.connect, self._limits)
        return pool

    def _credential_of(self, host: Host) -> Callable[[], LoadedCredential]:
        return lambda: self._credentials[host.credential]

    def _jumps(self, host: Host) -> int:
        return 0 if host.via is None else 1 + self._jumps(self._settings.hosts[host.via])


def _login(host: Host) -> Host:
    return replace(host, alias="", groups=frozenset())


def _check_sendable(command: str) -> None:
    """Refuse a command that would open a shell, or cost other calls their connection.

    An empty command is an interactive shell. sshd closes the whole connection at a NUL byte, and at about
    256 KiB. Rendering makes no such command; this is the second lock.
    """
    if len(command.encode("utf-8", "replace")) > COMMAND_BYTES:
        raise Refusal("internal", f"the command has more than {COMMAND_BYTES} bytes")
    if not command or any(unicodedata.category(character) in _UNSENDABLE for character in command):
        raise Refusal("internal", "the command is empty, or has a control character")
