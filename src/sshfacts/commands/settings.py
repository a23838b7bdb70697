"""What `sshfacts.toml` says, as frozen values: hosts, credentials, callers, people and ceilings.

`commands.settings_file` reads and checks the file; nothing here touches a disk. Credentials are
references to files and sockets, never the secrets themselves.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from sshfacts.limits import CEILINGS, ReadLimits


class Role(StrEnum):
    """What a person may be."""

    OPERATOR = "operator"
    APPROVER = "approver"
    AUDITOR = "auditor"


@dataclass(frozen=True, slots=True)
class Host:
    """One host by its alias. Agents see the alias and never the address."""

    alias: str
    address: str
    user: str
    credential: str
    """Name of the credential it is logged in to with; it exists in `Settings.credentials`."""
    port: int = 22
    host_keys: tuple[str, ...] = ()
    """Pinned host keys as OpenSSH public key lines, `ssh-ed25519 AAAA...`."""
    host_cas: tuple[str, ...] = ()
    """Certificate authorities for host keys, as OpenSSH public key lines. A host has a key or a CA, or both."""
    revoked_keys: tuple[str, ...] = ()
    groups: frozenset[str] = field(default_factory=frozenset)
    via: str | None = None
    """Alias of the host to jump through; chains of it end and have no cycle."""


@dataclass(frozen=True, slots=True)
class Credential:
    """How the service logs in: either a key file or a running agent."""

    name: str
    key_file: Path | None = None
    passphrase_file: Path | None = None
    certificate_file: Path | None = None
    agent_socket: Path | None = None


@dataclass(frozen=True, slots=True)
class CallerSettings:
    """One agent's identity and what it may use."""

    name: str
    grants: frozenset[str] = field(default_factory=frozenset)
    host_groups: frozenset[str] = field(default_factory=frozenset)
    principal: str | None = None
    """The person the agent works for; that person cannot approve the agent's calls."""


@dataclass(frozen=True, slots=True)
class Person:
    """One human and the roles the human has."""

    name: str
    roles: frozenset[Role] = field(default_factory=frozenset)


@dataclass(frozen=True, slots=True)
class Settings:
    """The whole of `sshfacts.toml`, checked: every name that one part uses exists in the other."""

    path: Path
    """The file, absolute."""
    service_name: str
    database_url: str
    """SQLAlchemy URL; the path of the SQLite file in it is absolute."""
    ceilings: ReadLimits = CEILINGS
    hosts: Mapping[str, Host] = field(default_factory=dict)
    credentials: Mapping[str, Credential] = field(default_factory=dict)
    callers: Mapping[str, CallerSettings] = field(default_factory=dict)
    people: Mapping[str, Person] = field(default_factory=dict)
