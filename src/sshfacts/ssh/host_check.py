"""Whether hosts can be used as they are configured: connect, verify, log in, and run the command that does nothing."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from sshfacts.commands.settings import Host
from sshfacts.errors import Refusal
from sshfacts.ssh.evidence import Evidence
from sshfacts.ssh.faults import Unconnected, Useless
from sshfacts.ssh.run import WARM_UP, Nowhere
from sshfacts.ssh.transport import Command, Transport

AT_ONCE = 16
"""Hosts that are checked at the same time."""
SECONDS = 20
"""For one host: a chain of two jump hosts, and the host itself, each with the 5 seconds of a connect."""
OUTPUT_BYTES = 1024
NEEDS_TRUE = "The login's shell must run commands, and a forced command must let `true` through."


@dataclass(frozen=True, slots=True)
class HostCheck:
    """How far one host let us in."""

    host: Host
    host_key: str | None
    """Fingerprint of the key it showed, accepted or not."""
    logged_in: bool
    refusal: Refusal | None
    """Why it cannot be used, or `None` if it can."""

    @property
    def key_is_trusted(self) -> bool | None:
        """Whether the key it showed is a pinned one; `None` if it showed none."""
        if self.refusal is not None and self.refusal.detail == "ssh.host_key":
            return False
        return None if self.host_key is None else True

    @property
    def login_is_accepted(self) -> bool | None:
        """Whether it let us in; `None` if we could not ask."""
        if self.refusal is not None and self.refusal.detail == "ssh.login":
            return False
        return True if self.logged_in else None

    @property
    def is_reachable(self) -> bool | None:
        """Whether an SSH server answered; `None` if our own key kept us from asking."""
        if self.key_is_trusted is not None:
            return True
        return None if self.login_is_accepted is False else False

    @property
    def fix(self) -> str:
        """What to do about the refusal; empty if there is none."""
        if self.refusal is None:
            return ""
        return NEEDS_TRUE if self.refusal.detail == "command.exit_status" else self.refusal.entry.fix


async def check_hosts(transport: Transport, hosts: Iterable[Host]) -> list[HostCheck]:
    """Return one check for each host, in the same order; nothing is raised for a host that cannot be used."""
    limit = asyncio.Semaphore(AT_ONCE)

    async def check(host: Host) -> HostCheck:
        async with limit:
            return await _check(transport, host)

    return await asyncio.gather(*map(check, hosts))


async def _check(transport: Transport, host: Host) -> HostCheck:
    evidence = Evidence()
    command = Command(WARM_UP, SECONDS, stdout_bytes=OUTPUT_BYTES, stderr_bytes=OUTPUT_BYTES, idempotent=True)
    try:
        status = await transport.run(host, command, Nowhere(), evidence)
    except Refusal as refusal:
        was_connected = isinstance(refusal, Useless) or not isinstance(refusal, Unconnected)
        return HostCheck(host, evidence.host_key, evidence.host_key is not None and was_connected, refusal)
    refused = Refusal("command.exit_status", f"`{WARM_UP}` ended with {status}") if status else None
    return HostCheck(host, evidence.host_key, logged_in=True, refusal=refused)
