"""What `sshfacts.toml` says, as frozen values: doors, hosts, credentials, callers, people and ceilings.

`commands.settings_file` reads and checks the file; nothing here touches a disk. Credentials are
references to files and sockets, never the secrets themselves.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from sshfacts.limits import CEILINGS, KEEP_FREE, RAW_PER_DAY, ReadLimits


class Role(StrEnum):
    """What a person may be."""

    OPERATOR = "operator"
    APPROVER = "approver"
    AUDITOR = "auditor"
    RAW_READER = "raw_reader"
    """Sees what hosts sent, which no other role includes."""


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
    passphrase_credential: str | None = None
    """Name of the systemd credential that holds the passphrase, instead of `passphrase_file`."""
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
    oidc: str | None = None
    """What the claim `Oidc.caller_claim` holds in this caller's JWTs; `None` for one that has none."""
    calls_per_minute: int = 120
    """Calls over a longer time; a caller that was quiet may make one minute's calls at once."""
    concurrent: int = 8
    """Calls that run at the same time."""
    queue: int = 16
    """Calls that wait for one of those to end."""
    pending_approvals: int = 8
    """Calls that wait for a person."""
    session: str | None = None
    """The client's session, where the token of a request carries one; a file has none. It is for the record alone."""


@dataclass(frozen=True, slots=True)
class Person:
    """One human and the roles the human has."""

    name: str
    roles: frozenset[Role] = field(default_factory=frozenset)


@dataclass(frozen=True, slots=True)
class ApprovalSettings:
    """How long an approval lasts."""

    wait: int = 3_600
    """Seconds for which a call waits for a person, and for which a refusal stands."""
    use: int = 900
    """Seconds after the grant in which the call must be made again."""


@dataclass(frozen=True, slots=True)
class RawSettings:
    """How encrypted copies of what hosts sent are kept."""

    key_files: tuple[Path, ...] = ()
    """The first wraps the keys of new copies. Without any nothing is kept, whatever an operation says."""
    per_day: int = RAW_PER_DAY
    """Bytes of copies that one process keeps in one day."""


class Algorithm(StrEnum):
    """How a JWT may be signed: with a private key that only the issuer holds, and never with a shared secret."""

    ES256 = "ES256"
    ES384 = "ES384"
    PS256 = "PS256"
    RS256 = "RS256"
    EDDSA = "EdDSA"


@dataclass(frozen=True, slots=True)
class Oidc:
    """Whose JWTs are believed, and what their claims mean."""

    issuer: str
    """What `iss` must be, to the letter."""
    resource: str
    """URL of `/mcp` as clients reach it; RFC 9728 metadata names it."""
    audience: str
    """What `aud` must hold."""
    jwks: str
    """Where the issuer's public keys are."""
    algorithms: frozenset[Algorithm]
    required_scopes: frozenset[str]
    """Each must be in `scope`; they open the door and grant nothing."""
    caller_claim: str
    principal_claim: str | None
    grants_claim: str | None
    """If set, a caller has only those of its grants that this claim lists, too."""
    host_groups_claim: str | None


@dataclass(frozen=True, slots=True)
class Doors:
    """Where agents come in."""

    address: str = "127.0.0.1"
    port: int = 8722
    """0 takes a free one."""
    hosts: frozenset[str] = field(default_factory=frozenset)
    """Names that the header `Host` may hold, in lower case and without a port."""
    origins: frozenset[str] = field(default_factory=frozenset)
    """What the header `Origin` may hold; a request without the header comes from no web page."""
    oidc: Oidc | None = None


@dataclass(frozen=True, slots=True)
class AuditSettings:
    """What seals the record, so that a change of it shows."""

    origin: str
    """Name of the log, and of its keys."""
    key_file: Path
    state_file: Path
    checkpoints: Path | None = None
    """Folder into which each checkpoint is put as a file."""
    interval: int = 10
    """Seconds between two passes of a service."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The whole of `sshfacts.toml`, checked: every name that one part uses exists in the other."""

    path: Path
    """The file, absolute."""
    service_name: str
    database_url: str
    """As `storage.engine` takes it: paths in it are absolute, and it holds no password."""
    doors: Doors = field(default_factory=Doors)
    approvals: ApprovalSettings = field(default_factory=ApprovalSettings)
    audit: AuditSettings | None = None
    """`None` leaves the record without proof: nothing is sealed."""
    database_keep_free: int = KEEP_FREE
    """Bytes that stay free on the disk of an SQLite file; below them the service takes no calls."""
    raw: RawSettings = field(default_factory=RawSettings)
    ceilings: ReadLimits = CEILINGS
    hosts: Mapping[str, Host] = field(default_factory=dict)
    credentials: Mapping[str, Credential] = field(default_factory=dict)
    callers: Mapping[str, CallerSettings] = field(default_factory=dict)
    people: Mapping[str, Person] = field(default_factory=dict)
