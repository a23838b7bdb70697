"""The fields of `sshfacts.toml`: shape and meaning of each."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from sshfacts.commands import names
from sshfacts.commands.records import Built, Field, ListOf, MapOf, Record
from sshfacts.commands.settings import (
    ApprovalSettings,
    AuditSettings,
    CallerSettings,
    Credential,
    Host,
    Person,
    RawSettings,
    Role,
)
from sshfacts.commands.settings_audit import AUDIT
from sshfacts.commands.settings_database import DATABASE, DatabaseFile
from sshfacts.commands.settings_doors import OIDC, OIDC_SUBJECT, SERVICE, OidcFile, ServiceFile
from sshfacts.commands.settings_raw import RAW
from sshfacts.commands.shapes import Choice, FormatVersion, Integer, Quantity, Text
from sshfacts.limits import CEILINGS, KIB, MIB, ReadLimits

_KEY_TYPES = r"ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(?:256|384|521)|sk-ssh-ed25519@openssh\.com"
_BASE64 = r"[A-Za-z0-9+/]+={0,2}"
KEY_LINE = re.compile(rf"(?P<kind>{_KEY_TYPES}) (?P<key>{_BASE64})(?: [ -~]*)?")
"""A public key as OpenSSH writes it: type, base64, and perhaps a comment."""
_PUBLIC_KEY = Text(
    4_096,
    rf"^(?:{_KEY_TYPES}) {_BASE64}(?: [ -~]*)?$",
    "one line of a .pub file, such as 'ssh-ed25519 AAAA...'",
)
_PUBLIC_KEYS = ListOf(_PUBLIC_KEY, 1, 16)
_PATH = Built(Path, Text(512, names.PRINTABLE, "a path, relative to the site's folder or absolute"))
_LABELS = Built(frozenset[str], ListOf(names.LABEL.text(), 0, 64))
_MOST = 10_000
"""Hosts, callers or people of one file."""


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """`sshfacts.toml`, each field in itself correct."""

    version: int
    service: ServiceFile = field(default_factory=ServiceFile)
    database: DatabaseFile = field(default_factory=DatabaseFile)
    oidc: OidcFile | None = None
    audit: AuditSettings | None = None
    approvals: ApprovalSettings = field(default_factory=ApprovalSettings)
    raw: RawSettings = field(default_factory=RawSettings)
    limits: ReadLimits = CEILINGS
    hosts: Mapping[str, Host] = field(default_factory=dict)
    credentials: Mapping[str, Credential] = field(default_factory=dict)
    callers: Mapping[str, CallerSettings] = field(default_factory=dict)
    people: Mapping[str, Person] = field(default_factory=dict)


_DURATION = Quantity({"m": 60, "h": 3_600, "d": 86_400}, 60, 7 * 86_400, bare=False)

APPROVALS = Record(
    ApprovalSettings,
    {
        "wait": Field(_DURATION, "How long a call waits for a person, and a refusal stands; default 1h."),
        "use": Field(_DURATION, "How long after the grant the call may be made again; default 15m."),
    },
)

CEILING_FIELDS = Record[dict[str, int]](
    dict,
    {
        "bytes": Field(
            Quantity({"KiB": KIB, "MiB": MIB}, 1, CEILINGS.bytes, bare=True), "Bytes of stdout at most, such as 256KiB."
        ),
        "depth": Field(Integer(1, CEILINGS.depth), "Containers open at once."),
        "values": Field(Integer(1, CEILINGS.values), "Values in the whole document."),
        "items": Field(Integer(1, CEILINGS.items), "Elements of one array, or lines."),
        "members": Field(Integer(1, CEILINGS.members), "Members of one object."),
        "name": Field(Integer(1, CEILINGS.name), "Characters of one member's name."),
        "string": Field(Integer(1, CEILINGS.string), "Characters of one string."),
        "number": Field(Integer(1, CEILINGS.number), "Bytes of one number."),
    },
)

LIMITS = Built(lambda given: replace(CEILINGS, **given), CEILING_FIELDS)

HOST = Record(
    Host,
    {
        "address": Field(
            Text(253, r"^[A-Za-z0-9:][A-Za-z0-9.:_%-]*$", "a host name or an IP address"),
            "Where it is; agents never see it.",
            must=True,
        ),
        "port": Field(Integer(1, 65_535), "Port of its sshd."),
        "user": Field(Text(32, r"^[A-Za-z_][A-Za-z0-9_.-]*$", "a login name"), "Login on the host.", must=True),
        "credential": Field(names.LABEL.text(), "Which of `[credentials]` it is logged in to with.", must=True),
        "host_keys": Field(_PUBLIC_KEYS, "The host's pinned public keys, one line of a .pub file each."),
        "host_cas": Field(_PUBLIC_KEYS, "Public keys of authorities that sign this host's keys."),
        "revoked_keys": Field(_PUBLIC_KEYS, "Public keys that are refused whoever signed them."),
        "groups": Field(_LABELS, "Groups the host is in; operations and callers name groups."),
        "via": Field(names.LABEL.text(), "Host to jump through."),
    },
    named="alias",
)

CREDENTIAL = Record(
    Credential,
    {
        "key_file": Field(_PATH, "Private key in OpenSSH form."),
        "passphrase_file": Field(_PATH, "File that holds the key's passphrase."),
        "passphrase_credential": Field(
            Text(255, r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", "the name of a systemd credential"),
            "Name of the systemd credential that holds the key's passphrase, instead of a file.",
        ),
        "certificate_file": Field(_PATH, "User certificate for the key."),
        "agent_socket": Field(_PATH, "Socket of a running ssh-agent, instead of a key file."),
    },
    named="name",
)

CALLER = Record(
    CallerSettings,
    {
        "grants": Field(Built(frozenset[str], ListOf(names.GRANT.text(), 0, 256)), "What the caller holds."),
        "host_groups": Field(_LABELS, "Host groups that the caller may use."),
        "principal": Field(names.PERSON.text(), "The person the agent works for, who cannot approve its calls."),
        "oidc": Field(OIDC_SUBJECT, "What `oidc.caller_claim` holds in the caller's JWTs."),
        "calls_per_minute": Field(Integer(1, 60_000), "Calls it may make in a minute; default 120."),
        "concurrent": Field(Integer(1, 256), "Calls of it that run at the same time; default 8."),
        "queue": Field(Integer(0, 1_024), "Calls of it that wait for one of those to end; default 16."),
        "pending_approvals": Field(Integer(1, 256), "Calls of it that wait for a person; default 8."),
    },
    named="name",
)

PERSON = Record(
    Person,
    {
        "roles": Field(
            Built(frozenset[Role], ListOf(Choice(Role), 1, len(Role))),
            "`operator`, `approver`, `auditor`, `raw_reader`.",
            must=True,
        )
    },
    named="name",
)

SETTINGS = Record(
    SettingsFile,
    {
        "version": Field(FormatVersion(), "Version of this format.", must=True),
        "service": Field(SERVICE, "The service itself."),
        "database": Field(DATABASE, "The record."),
        "audit": Field(AUDIT, "What seals the record, so that a change of it shows."),
        "oidc": Field(OIDC, "An identity provider whose JWTs are believed beside the service's own tokens."),
        "approvals": Field(APPROVALS, "How long approvals last."),
        "raw": Field(RAW, "Encrypted copies of what hosts sent; without this table none is kept."),
        "limits": Field(LIMITS, "Ceilings over what an operation may set; they can only be lowered."),
        "hosts": Field(MapOf(names.LABEL.pattern, names.LABEL.form, HOST, _MOST), "Hosts by alias."),
        "credentials": Field(
            MapOf(names.LABEL.pattern, names.LABEL.form, CREDENTIAL, _MOST), "Keys by name: files, never values."
        ),
        "callers": Field(
            MapOf(names.LABEL.pattern, names.LABEL.form, CALLER, _MOST), "Agents by name, and what they may do."
        ),
        "people": Field(
            MapOf(names.PERSON.pattern, names.PERSON.form, PERSON, _MOST), "Humans by name, and their roles."
        ),
    },
)
"""The whole of `sshfacts.toml`."""
