"""Reads what the settings name, keys and pins, and tells everything that is wrong with them in one run."""

from collections.abc import Mapping

from sshfacts.commands.settings import Settings
from sshfacts.errors import Finding, SiteError
from sshfacts.ssh.credentials import LoadedCredential, load
from sshfacts.ssh.host_keys import Trust, trust

Credentials = Mapping[str, LoadedCredential]
"""By name."""
Trusts = Mapping[str, Trust]
"""By the host's alias."""


def load_all(settings: Settings) -> tuple[Trusts, Credentials]:
    """Return the pins of every host, and every credential.

    Raises:
        SiteError: with a finding for each that cannot be used.
    """
    findings: list[Finding] = []
    loaded = _trusts(settings, findings), _credentials(settings, findings)
    if findings:
        raise SiteError(findings)
    return loaded


def load_credentials(settings: Settings) -> Credentials:
    """Return every credential.

    Raises:
        SiteError: with a finding for each that cannot be used.
    """
    findings: list[Finding] = []
    loaded = _credentials(settings, findings)
    if findings:
        raise SiteError(findings)
    return loaded


def _trusts(settings: Settings, findings: list[Finding]) -> Trusts:
    loaded = {}
    for alias, host in settings.hosts.items():
        try:
            loaded[alias] = trust(host)
        except ValueError as error:
            why = "Without a pinned key, anybody on the way can answer for the host."
            fix = "Copy the public key line from the host itself, such as /etc/ssh/ssh_host_ed25519_key.pub."
            findings.append(_finding(settings, "settings.host_keys", f"host {alias}: {error}", why, fix))
    return loaded


def _credentials(settings: Settings, findings: list[Finding]) -> Credentials:
    loaded = {}
    for name, credential in settings.credentials.items():
        try:
            loaded[name] = load(credential)
        except ValueError as error:
            why = "A key that others can read or replace is not ours alone."
            fix = "Make the file a regular one, owned by the service's user, with mode 0600."
            findings.append(_finding(settings, "settings.credential", f"credential {name}: {error}", why, fix))
    return loaded


def _finding(settings: Settings, code: str, what: str, why: str, fix: str) -> Finding:
    return Finding(str(settings.path), 0, 0, code, what, why, fix)
