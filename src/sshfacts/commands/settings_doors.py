"""The part of `sshfacts.toml` that is about doors: `[service]` and `[oidc]`."""

import ipaddress
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from sshfacts.commands import names
from sshfacts.commands.findings import Findings
from sshfacts.commands.records import Built, Field, ListOf, Record
from sshfacts.commands.settings import Algorithm, CallerSettings, Doors, Oidc
from sshfacts.commands.shapes import Choice, Text
from sshfacts.commands.source import Source

_LISTEN = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<four>[0-9.]+)):(?P<port>[0-9]{1,5})")
_LAST_PORT = 65_535
_ORIGIN = re.compile(r"https?://[a-z0-9.-]+(?::[0-9]{1,5})?")
_LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "[::1]"})

_HOST_NAME = Text(253, r"^(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])$", "a host name in lower case, no port")
_URL = Text(
    512,
    r"^(?:https://[A-Za-z0-9.-]+|http://(?:127\.0\.0\.1|localhost|\[::1\]))(?::[0-9]{1,5})?(?:/[!$%&-;=?-Z_a-z~]*)?$",
    "a URL that begins with https://; http:// only for this machine",
)
_CLAIM = Text(128, r"^[!-~]+$", "the name of a claim")
_SCOPE = Text(128, r"^[!#-\[\]-~]+$", "a scope, without spaces")
OIDC_SUBJECT = Text(255, names.PRINTABLE, "the claim's value")
"""Shape of the value that names a caller."""


@dataclass(frozen=True, slots=True)
class ServiceFile:
    """The table `[service]`."""

    name: str = "sshfacts"
    listen: str = "127.0.0.1:8722"
    allowed_hosts: frozenset[str] = frozenset()
    allowed_origins: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class OidcFile:
    """The table `[oidc]`."""

    issuer: str
    resource: str
    jwks: str
    audience: str | None = None
    algorithms: frozenset[Algorithm] = frozenset({Algorithm.ES256, Algorithm.RS256, Algorithm.EDDSA})
    required_scopes: frozenset[str] = frozenset()
    caller_claim: str = "sub"
    principal_claim: str | None = None
    grants_claim: str | None = None
    host_groups_claim: str | None = None


SERVICE = Record(
    ServiceFile,
    {
        "name": Field(names.LABEL.text(), "How the service names itself to agents."),
        "listen": Field(
            Text(64, names.PRINTABLE, "ADDRESS:PORT"), "Address and port of the doors of `sshfacts serve`; IPv6 in [ ]."
        ),
        "allowed_hosts": Field(
            Built(frozenset[str], ListOf(_HOST_NAME, 0, 64)), "Names by which clients reach the service."
        ),
        "allowed_origins": Field(
            Built(frozenset[str], ListOf(Text(253, names.PRINTABLE, "https://NAME"), 0, 64)),
            "Origins of web pages that may call it, such as https://tools.example.com.",
        ),
    },
)

OIDC = Record(
    OidcFile,
    {
        "issuer": Field(_URL, "What `iss` must be, to the letter.", must=True),
        "resource": Field(_URL, "URL of `/mcp` as clients reach it.", must=True),
        "jwks": Field(_URL, "URL of the issuer's public keys.", must=True),
        "audience": Field(Text(512, names.PRINTABLE, "a text"), "What `aud` must hold; else it is the resource."),
        "algorithms": Field(
            Built(frozenset[Algorithm], ListOf(Choice(Algorithm), 1, len(Algorithm))),
            "Which of `ES256`, `ES384`, `PS256`, `RS256`, `EdDSA` may sign; default: `ES256`, `RS256`, `EdDSA`.",
        ),
        "required_scopes": Field(
            Built(frozenset[str], ListOf(_SCOPE, 0, 16)), "Scopes that a JWT must have to come in; they grant nothing."
        ),
        "caller_claim": Field(_CLAIM, "Claim that names the caller; it is compared with `callers.NAME.oidc`."),
        "principal_claim": Field(_CLAIM, "Claim that names the person the agent works for."),
        "grants_claim": Field(_CLAIM, "Claim that lists grants; the caller keeps only those of its own that it lists."),
        "host_groups_claim": Field(_CLAIM, "Claim that lists host groups, as `grants_claim` does grants."),
    },
)


def read_doors(
    service: ServiceFile,
    oidc: OidcFile | None,
    callers: Mapping[str, CallerSettings],
    source: Source,
    findings: Findings,
) -> Doors:
    """Return where agents come in; what does not fit together is added to the findings."""
    address, port = _listen(service.listen, source, findings)
    loopback = address.is_loopback
    if not loopback and not service.allowed_hosts:
        what = f"service.listen is {service.listen}, and service.allowed_hosts is empty"
        fix = "list the names by which clients reach the service"
        findings.add("settings.allowed_hosts", source.place(("service", "listen")), what, fix)
    for origin in sorted(service.allowed_origins):
        if _ORIGIN.fullmatch(origin) is None:
            what = f"{origin!r} is no origin"
            fix = "write scheme, name in lower case and perhaps a port: https://tools.example.com"
            findings.add("settings.allowed_origins", source.place(("service", "allowed_origins")), what, fix)
    _check_subjects(oidc, callers, source, findings)
    return Doors(
        address=str(address),
        port=port,
        hosts=service.allowed_hosts | (_LOOPBACK_NAMES if loopback else frozenset()),
        origins=service.allowed_origins,
        oidc=_oidc(oidc) if oidc is not None else None,
    )


def _listen(text: str, source: Source, findings: Findings) -> tuple[ipaddress.IPv4Address | ipaddress.IPv6Address, int]:
    match = _LISTEN.fullmatch(text)
    if match is not None and int(match["port"]) <= _LAST_PORT:
        with suppress(ValueError):
            return ipaddress.ip_address(match["six"] or match["four"]), int(match["port"])
    fix = "write an IP address and a port, such as 127.0.0.1:8722 or [::1]:8722"
    findings.add("settings.listen", source.place(("service", "listen")), f"service.listen is {text!r}", fix)
    return ipaddress.ip_address("127.0.0.1"), 0


def _check_subjects(
    oidc: OidcFile | None, callers: Mapping[str, CallerSettings], source: Source, findings: Findings
) -> None:
    owners: dict[str, str] = {}
    for name, caller in callers.items():
        if caller.oidc is None:
            continue
        place = source.place(("callers", name, "oidc"))
        if oidc is None:
            findings.add("settings.oidc", place, f"caller {name!r} has JWTs of nobody", "add the table [oidc]")
        elif caller.oidc in owners:
            what = f"callers {owners[caller.oidc]!r} and {name!r} have the same JWTs"
            findings.add("settings.oidc", place, what, "give each its own value of the claim")
        owners[caller.oidc] = name


def _oidc(given: OidcFile) -> Oidc:
    return Oidc(
        issuer=given.issuer,
        resource=given.resource,
        audience=given.audience or given.resource,
        jwks=given.jwks,
        algorithms=given.algorithms,
        required_scopes=given.required_scopes,
        caller_claim=given.caller_claim,
        principal_claim=given.principal_claim,
        grants_claim=given.grants_claim,
        host_groups_claim=given.host_groups_claim,
    )
