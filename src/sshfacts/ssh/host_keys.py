"""Pinned host keys: what a host must show before we log in to it."""

from dataclasses import dataclass

import asyncssh

from sshfacts.commands.settings import Host
from sshfacts.ssh.public_keys import parse_public_key

PLAIN_ALGORITHMS = (
    "ssh-ed25519",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "rsa-sha2-512",
    "rsa-sha2-256",
)
"""What a host may sign with. asyncssh's own list has SHA-1 in it."""
CERTIFIED_ALGORITHMS = tuple(f"{name}-cert-v01@openssh.com" for name in PLAIN_ALGORITHMS)


@dataclass(frozen=True, slots=True)
class Trust:
    """The keys one host is known by, parsed. There is always at least one."""

    keys: tuple[asyncssh.SSHKey, ...]
    authorities: tuple[asyncssh.SSHKey, ...]
    revoked: tuple[asyncssh.SSHKey, ...]

    def known_hosts(self) -> tuple[list[asyncssh.SSHKey], list[asyncssh.SSHKey], list[asyncssh.SSHKey]]:
        """Return the form that asyncssh takes.

        It must be this tuple: an empty list or empty bytes silently stand for `~/.ssh/known_hosts`, and
        `None` turns the verification off.
        """
        return list(self.keys), list(self.authorities), list(self.revoked)

    def algorithms(self) -> list[str]:
        """Return all algorithms, those that a trusted key can answer with first.

        The host answers with the first one it has a key for. So the pinned types come first: a host has
        keys of several types, of which often one is pinned. And the others follow, since a host that has
        none of the pinned types then shows its key and is refused for it; if it could not, it would hang
        up, and an attack would look like an outage.
        """
        pinned = {name.decode() for key in self.keys for name in key.sig_algorithms}
        first = [name for name in PLAIN_ALGORITHMS if name in pinned]
        second = CERTIFIED_ALGORITHMS if self.authorities else ()
        return list(dict.fromkeys((*first, *second, *PLAIN_ALGORITHMS, *CERTIFIED_ALGORITHMS)))

    def describe(self) -> str:
        """Return the pinned fingerprints, for operators."""
        pins = [key.get_fingerprint() for key in self.keys]
        pins += [f"CA {key.get_fingerprint()}" for key in self.authorities]
        return ", ".join(pins)


def trust(host: Host) -> Trust:
    """Return the parsed keys of `host`.

    Raises:
        ValueError: a line is no OpenSSH public key, or the host has neither key nor authority.
    """
    keys = _parsed(host.host_keys, "host_keys")
    authorities = _parsed(host.host_cas, "host_cas")
    if not keys and not authorities:
        raise ValueError("no host key and no authority is pinned")
    return Trust(keys, authorities, _parsed(host.revoked_keys, "revoked_keys"))


def _parsed(lines: tuple[str, ...], field: str) -> tuple[asyncssh.SSHKey, ...]:
    return tuple(_key(line, f"{field}[{index}]") for index, line in enumerate(lines))


def _key(line: str, place: str) -> asyncssh.SSHKey:
    try:
        key = parse_public_key(line)
    except ValueError as error:
        raise ValueError(f"{place} is {error}") from None
    if not any(name.decode() in PLAIN_ALGORITHMS for name in key.sig_algorithms):
        raise ValueError(f"{place} is of a type that is not accepted; use ed25519, ecdsa or rsa")
    return key
