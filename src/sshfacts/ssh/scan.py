"""Looks at the keys that a host shows, without logging in and without trusting one of them.

A connection shows one key, that of the first algorithm in our list which the host has. So each further
connection leaves out the kinds that were seen, until the host has none of those that are left.
"""

import asyncio

import asyncssh

from sshfacts.commands.settings import Host, Settings
from sshfacts.ssh.faults import Unconnected, unconnected
from sshfacts.ssh.host_keys import CERTIFIED_ALGORITHMS, PLAIN_ALGORITHMS
from sshfacts.ssh.limits import PoolLimits
from sshfacts.ssh.options import scan_options
from sshfacts.ssh.shown_keys import ShownKey
from sshfacts.ssh.transport import SshTransport
from sshfacts.ssh.way import Opened, Way

HANG_UPS_ALLOWED = 2
"""Connections in a row that show no key. sshd hangs up where it has no key of a kind that is left, mostly before we can
read why; since a network can do the same, it is asked twice."""
_NONE_OF_THESE = frozenset({"ssh.protocol", "ssh.unreachable"})


async def scan(way: Way) -> list[ShownKey]:
    """Return all keys that the host shows, its own before the authority of its certificate.

    Connections are made one after another: sshd 9.8 and later takes each one without a login for a small
    offence, and many of them for a large one.

    Raises:
        Unconnected: it showed none, or went away in between.
    """
    shown: list[ShownKey] = []
    algorithms = [*PLAIN_ALGORITHMS, *CERTIFIED_ALGORITHMS]
    hang_ups = 0
    while algorithms and hang_ups < HANG_UPS_ALLOWED:
        opened = await way.open()
        try:
            key = await _look(way.host, opened, algorithms)
        except Unconnected as refusal:
            if not shown or refusal.detail not in _NONE_OF_THESE:
                raise
            hang_ups += 1
            continue
        finally:
            opened.close()
        hang_ups = 0
        shown.append(key)
        seen = CERTIFIED_ALGORITHMS if key.is_authority else [name.decode() for name in key.key.sig_algorithms]
        algorithms = [name for name in algorithms if name not in seen]
    return shown


async def scan_host(host: Host, settings: Settings | None) -> list[ShownKey]:
    """Return all keys that `host` shows, which need not be one of the settings; see `scan`.

    Credentials are read, and a login is made, for nothing but the jump hosts on the way.

    Args:
        settings: those that know `host.via`, if it is set.

    Raises:
        SiteError: `host.via` is set, and a credential or a pin cannot be used.
    """
    if host.via is None or settings is None:
        return await scan(Way(host, PoolLimits().connect_seconds, None))
    transport = SshTransport(settings)
    try:
        return await scan(transport.way(host))
    finally:
        await transport.close()


class _Look(asyncssh.SSHClient):
    """Takes down the key that is shown, and accepts none: the connection ends in the key exchange."""

    def __init__(self) -> None:
        self.shown: ShownKey | None = None

    def validate_host_public_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:  # noqa: ARG002 - asyncssh's signature
        self.shown = ShownKey(key, is_authority=False)
        return False

    def validate_host_ca_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:  # noqa: ARG002 - asyncssh's signature
        self.shown = ShownKey(key, is_authority=True)
        return False


async def _look(host: Host, opened: Opened, algorithms: list[str]) -> ShownKey:
    look = _Look()
    try:
        async with asyncio.timeout(opened.seconds):
            await opened.connect(scan_options(host, algorithms, opened.seconds, lambda: look))
    except Exception as error:  # noqa: BLE001 - the table of faults knows what is not known, too
        if look.shown is None:
            raise unconnected(error, None) from None
    if look.shown is None:
        raise Unconnected("internal", "a connection that accepts no key was accepted")
    return look.shown
