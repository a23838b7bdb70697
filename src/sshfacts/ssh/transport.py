"""The one door of this room: run a command on a host, and get its exit status or a refusal."""

import asyncio
import logging
import unicodedata
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Protocol

from sshfacts.commands.settings import Host, Settings
from sshfacts.errors import Finding, Refusal, SiteError
from sshfacts.limits import COMMAND_BYTES
from sshfacts.ssh.attempts import Attempts, Command
from sshfacts.ssh.credentials import LoadedCredential, load
from sshfacts.ssh.dial import Dialer
from sshfacts.ssh.evidence import Evidence
from sshfacts.ssh.host_keys import Trust, trust
from sshfacts.ssh.limits import PoolLimits
from sshfacts.ssh.pool import STOPPING, HostPool
from sshfacts.ssh.session import Sink

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

    Keys and pins are read here, once: what is wrong with them stops the start and not a call.

    Args:
        limits: bounds of each pool.

    Raises:
        SiteError: credentials that cannot be used safely, or hosts without a valid pin.
    """

    def __init__(self, settings: Settings, limits: PoolLimits | None = None) -> None:
        # At INFO asyncssh logs commands; nothing that it logs at WARNING or above comes from a host.
        logging.getLogger("asyncssh").setLevel(logging.WARNING)
        self._hosts = settings.hosts
        self._limits = limits or PoolLimits()
        self._gate = asyncio.Semaphore(CONNECTS_AT_ONCE)
        self._pools: dict[Host, HostPool] = {}
        self._is_closing = False
        findings: list[Finding] = []
        self._trusts = _load_trusts(settings, findings)
        self._credentials = _load_credentials(settings, findings)
        if findings:
            raise SiteError(findings)

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

    async def log_in(self, host: Host) -> str | None:
        """Have a connection ready before the first call, and return the fingerprint of the host's key.

        It runs `true`, which spares the first call the 40 ms stall of a connection's first exec.

        Raises:
            Refusal: a detail of the stage run.
        """
        deadline = asyncio.get_running_loop().time() + self._limits.connect_seconds + 1
        return (await self._pool(host).prepare(deadline)).host_key

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
            jump = None if host.via is None else self._pool(self._hosts[host.via])
            credential, pins = self._credentials[host.credential], self._trusts[host.alias]
            dialer = Dialer(host, credential, pins, self._limits, self._gate, jump)
            pool = self._pools[login] = HostPool(dialer.connect, self._limits)
        return pool

    def _jumps(self, host: Host) -> int:
        return 0 if host.via is None else 1 + self._jumps(self._hosts[host.via])


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


def _load_credentials(settings: Settings, findings: list[Finding]) -> dict[str, LoadedCredential]:
    loaded = {}
    for name, credential in settings.credentials.items():
        try:
            loaded[name] = load(credential)
        except ValueError as error:
            why = "A key that others can read or replace is not ours alone."
            fix = "Make the file a regular one, owned by the service's user, with mode 0600."
            findings.append(_finding(settings, "settings.credential", f"credential {name}: {error}", why, fix))
    return loaded


def _load_trusts(settings: Settings, findings: list[Finding]) -> dict[str, Trust]:
    loaded = {}
    for alias, host in settings.hosts.items():
        try:
            loaded[alias] = trust(host)
        except ValueError as error:
            why = "Without a pinned key, anybody on the way can answer for the host."
            fix = "Copy the public key line from the host itself, such as /etc/ssh/ssh_host_ed25519_key.pub."
            findings.append(_finding(settings, "settings.host_keys", f"host {alias}: {error}", why, fix))
    return loaded


def _finding(settings: Settings, code: str, what: str, why: str, fix: str) -> Finding:
    return Finding(str(settings.path), 0, 0, code, what, why, fix)
