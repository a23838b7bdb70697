"""Reads `sshfacts.toml` and checks that its parts fit together."""

import base64
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from sshfacts.commands.findings import Findings, Place, Unreadable, suggestion
from sshfacts.commands.settings import Credential, Host, Settings
from sshfacts.commands.settings_audit import absolute
from sshfacts.commands.settings_database import database_url
from sshfacts.commands.settings_doors import read_doors
from sshfacts.commands.settings_fields import KEY_LINE, SETTINGS, SettingsFile
from sshfacts.commands.settings_raw import raw_settings
from sshfacts.commands.source import Pointer, Source
from sshfacts.commands.toml_source import read_toml
from sshfacts.limits import MIB

FILE = "sshfacts.toml"
"""The file's name; it stands beside the four folders of a site."""
_FILE_BYTES = MIB
"""Some thousand hosts with their keys."""


def read_settings(root: Path, findings: Findings) -> Settings | None:
    """Return the settings of the site at `root`, or None when the findings say why there are none."""
    try:
        source = read_toml(root / FILE, _FILE_BYTES, findings)
        given = SETTINGS.read(source.root, findings)
    except Unreadable:
        return None
    _check_hosts(given, source, findings)
    _check_credentials(given.credentials, source, findings)
    folder = root.absolute()
    return Settings(
        path=folder / FILE,
        service_name=given.service.name,
        database_url=database_url(given.database, folder, source, findings),
        database_keep_free=given.database.keep_free,
        doors=read_doors(given.service, given.oidc, given.callers, source, findings),
        audit=absolute(given.audit, folder),
        approvals=given.approvals,
        raw=raw_settings(given.raw, folder),
        ceilings=given.limits,
        hosts=MappingProxyType(dict(given.hosts)),
        credentials=MappingProxyType({name: _absolute(one, folder) for name, one in given.credentials.items()}),
        callers=MappingProxyType(dict(given.callers)),
        people=MappingProxyType(dict(given.people)),
    )


def _absolute(credential: Credential, folder: Path) -> Credential:
    """Resolve the files of a credential against the site's folder; an absolute path stays as it is."""

    def resolved(path: Path | None) -> Path | None:
        return None if path is None else folder / path

    return replace(
        credential,
        key_file=resolved(credential.key_file),
        passphrase_file=resolved(credential.passphrase_file),
        certificate_file=resolved(credential.certificate_file),
        agent_socket=resolved(credential.agent_socket),
    )


def _check_hosts(given: SettingsFile, source: Source, findings: Findings) -> None:
    for alias, host in given.hosts.items():
        pointer = ("hosts", alias)
        if host.credential not in given.credentials:
            _unknown(host.credential, "credential", given.credentials, source.place((*pointer, "credential")), findings)
        if host.via is not None and host.via not in given.hosts:
            _unknown(host.via, "host", given.hosts, source.place((*pointer, "via")), findings)
        elif _has_endless_way(host, given.hosts):
            what = f"the way of {alias!r} by `via` has no end"
            findings.add("settings.via", source.place((*pointer, "via")), what, "end the chain at a host without `via`")
        if not host.host_keys and not host.host_cas:
            what = f"no key of {alias!r} is pinned"
            fix = "add host_keys, compared out of band with the host's /etc/ssh/ssh_host_*_key.pub, or host_cas"
            findings.add("settings.host_keys", source.place(pointer, key=True), what, fix)
        for member in ("host_keys", "host_cas", "revoked_keys"):
            _check_keys(getattr(host, member), source, (*pointer, member), findings)


def _unknown(name: str, kind: str, known: Mapping[str, object], place: Place, findings: Findings) -> None:
    fix = suggestion(name, known, f"define it in [{kind}s.{name}]")
    findings.add("settings.unknown_name", place, f"there is no {kind} {name!r}", fix)


def _has_endless_way(host: Host, hosts: Mapping[str, Host]) -> bool:
    passed = {host.alias}
    while host.via is not None and host.via in hosts:
        host = hosts[host.via]
        if host.alias in passed:
            return True
        passed.add(host.alias)
    return False


def _check_keys(lines: tuple[str, ...], source: Source, pointer: Pointer, findings: Findings) -> None:
    """Look into each key: its bytes begin with the name of its type (RFC 4253, section 6.6)."""
    for index, line in enumerate(lines):
        match = KEY_LINE.fullmatch(line)
        if match is None:
            continue  # A finding says so already. The line is not shown: it could be a private key.
        kind = match["kind"]
        try:
            key = base64.b64decode(match["key"], validate=True)
        except ValueError:
            key = b""
        if not key.startswith(len(kind).to_bytes(4, "big") + kind.encode()):
            at = (*pointer, str(index))
            fix = "copy the whole line of the .pub file"
            findings.add("settings.host_keys", source.place(at), f"{'.'.join(at)} is no {kind} key", fix)


def _check_credentials(credentials: Mapping[str, Credential], source: Source, findings: Findings) -> None:
    for name, credential in credentials.items():
        if (credential.key_file is None) == (credential.agent_socket is None):
            what, fix = f"{name!r} has not exactly one source", "give key_file or agent_socket"
        elif credential.key_file is None and (
            credential.passphrase_file or credential.passphrase_credential or credential.certificate_file
        ):
            what, fix = f"{name!r} has a file that belongs to a key file", "leave it out: an agent holds it itself"
        elif credential.passphrase_file and credential.passphrase_credential:
            what, fix = f"{name!r} has two passphrases", "give passphrase_file or passphrase_credential"
        else:
            continue
        findings.add("settings.credential", source.place(("credentials", name), key=True), what, fix)
