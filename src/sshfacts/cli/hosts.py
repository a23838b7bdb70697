"""`sshfacts hosts`: which there are, whether their keys are the pinned ones, and whether they can be used."""

import asyncio
import logging
import sys
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from sshfacts.cli.options import SiteOption, live_site, site_if_any
from sshfacts.cli.output import console, print_table
from sshfacts.errors import Refusal, SiteError, UsageError

if TYPE_CHECKING:
    from sshfacts.commands.settings import Host, Settings
    from sshfacts.ssh.host_check import HostCheck
    from sshfacts.ssh.shown_keys import Comparison, ShownKey

app = typer.Typer(help="List hosts, look at their keys, and see whether they can be used.", no_args_is_help=True)

_WORDS = {True: "yes", False: "NO", None: "-"}


@app.command("list")
def list_(site: SiteOption = None) -> None:
    """List the hosts of a site by alias; addresses are in sshfacts.toml."""
    hosts = live_site(site).require_settings().hosts
    print_table(
        "",
        ("host", "groups", "via", "credential"),
        (
            (host.alias, " ".join(sorted(host.groups)) or "-", host.via or "-", host.credential)
            for host in hosts.values()
        ),
    )


@app.command("scan")
def scan(
    target: Annotated[str, typer.Argument(metavar="HOST|ADDRESS[:PORT]", help="An alias, or where it is.")],
    via: Annotated[str | None, typer.Option(metavar="HOST", help="The host to jump through to an address.")] = None,
    site: SiteOption = None,
) -> None:
    """Show the keys of a host without logging in to it; nothing is trusted or written."""
    from sshfacts.ssh.scan import scan_host

    settings = _settings_if_any() if site is None and via is None else live_site(site).require_settings()
    host = _target(target, via, settings)
    _say_nothing_twice()
    try:
        shown = asyncio.run(scan_host(host, settings))
    except Refusal as refusal:
        _report(target, refusal, refusal.entry.fix)
        sys.exit(1)
    known = _known(host, settings)
    compared = _compared(shown, known)
    print_table(
        f"{target}: {host.address} port {host.port}",
        ("type", "fingerprint", f"beside the pins of {known.alias}" if known else "beside pins"),
        (
            (f"authority {key.kind}" if key.is_authority else key.kind, key.fingerprint, pin)
            for key, pin in compared.rows
        ),
    )
    sys.exit(0 if _told(compared, known) else 1)


@app.command("check")
def check(
    aliases: Annotated[list[str] | None, typer.Argument(metavar="[HOST]...", help="All, if none is named.")] = None,
    site: SiteOption = None,
) -> None:
    """Log in to hosts as calls do, run nothing there but `true`, and say what does not work and what mends it."""
    settings = live_site(site).require_settings()
    unknown = [alias for alias in aliases or () if alias not in settings.hosts]
    if unknown:
        raise UsageError(f"no host {unknown[0]!r} in {settings.path.name}")
    hosts = [settings.hosts[alias] for alias in aliases or settings.hosts]
    _say_nothing_twice()
    checks = asyncio.run(_check(settings, hosts))
    print_table(
        "",
        ("host", "reachable", "host key", "login", "result"),
        (
            (
                one.host.alias,
                _WORDS[one.is_reachable],
                " ".join(filter(None, (_WORDS[one.key_is_trusted], one.host_key))),
                _WORDS[one.login_is_accepted],
                "ok" if one.refusal is None else one.refusal.detail,
            )
            for one in checks
        ),
    )
    for one in checks:
        if one.refusal is not None:
            _report(one.host.alias, one.refusal, one.fix)
    sys.exit(1 if any(one.refusal is not None for one in checks) else 0)


async def _check(settings: "Settings", hosts: "list[Host]") -> "list[HostCheck]":
    from sshfacts.ssh.host_check import check_hosts
    from sshfacts.ssh.transport import SshTransport

    transport = SshTransport(settings)
    try:
        return await check_hosts(transport, hosts)
    finally:
        await transport.close()


def _settings_if_any() -> "Settings | None":
    """Return the settings of the current folder, if there are any to compare with; a new host needs none."""
    try:
        loaded = site_if_any()
    except SiteError:
        note = "note: the site of this folder cannot be loaded, so nothing is compared; `sshfacts check` says why"
        console(stderr=True).print(Text(note), soft_wrap=True)
        return None
    return None if loaded is None else loaded.require_settings()


def _target(text: str, via: str | None, settings: "Settings | None") -> "Host":
    """Return what is to be looked at: a host of the settings, or one that only its address is known of."""
    from sshfacts.commands.settings import Host
    from sshfacts.ssh.address import parse_address

    if settings is not None and text in settings.hosts:
        if via is not None:
            raise UsageError(f"the way to {text!r} stands in {settings.path.name}; --via is for addresses")
        return settings.hosts[text]
    if via is not None and (settings is None or via not in settings.hosts):
        raise UsageError(f"no host {via!r} to jump through")
    try:
        address, port = parse_address(text)
    except ValueError as error:
        raise UsageError(f"{text!r} is no host of this site, and {error}") from None
    return Host(alias=text, address=address, port=port, user="", credential="", via=via)


def _known(host: "Host", settings: "Settings | None") -> "Host | None":
    """Return the host of the settings whose pins count: the one that was named, or the first at this address."""
    if settings is None:
        return None
    place = (host.address, host.port, host.via)
    there = (one for one in settings.hosts.values() if (one.address, one.port, one.via) == place)
    return settings.hosts.get(host.alias) or next(there, None)


def _compared(shown: "list[ShownKey]", known: "Host | None") -> "Comparison":
    from sshfacts.ssh.host_keys import Trust, trust
    from sshfacts.ssh.shown_keys import compare

    return compare(shown, Trust((), (), ()) if known is None else trust(known))


def _told(compared: "Comparison", known: "Host | None") -> bool:
    """Say what follows from the keys, and return whether all is well."""
    errors = console(stderr=True)
    if compared.is_alarming:
        what = "a key is not the pinned one, or is revoked: somebody may stand in between"
        fix = "if the host got new keys, compare them out of band, take the old pin out, and scan again"
        errors.print(Text(f"error: {what}\n  fix: {fix}"), soft_wrap=True)
        return False
    if compared.unpinned:
        console().print(Text("\n".join(_lines(compared))), soft_wrap=True)
    if known is None or compared.is_usable:
        return True
    errors.print(Text(f"error: {known.alias} shows none of the keys that are pinned"), soft_wrap=True)
    return False


def _lines(compared: "Comparison") -> list[str]:
    """Return what a person does next, with the lines to paste. An authority speaks for many hosts, so it is no line."""
    own = [key for key in compared.pinnable if not key.is_authority]
    authorities = [key for key in compared.unpinned if key.is_authority]
    return [
        "",
        "Nothing is trusted yet. Compare each fingerprint with what the host itself says, on its console:",
        "    for key in /etc/ssh/ssh_host_*_key.pub; do ssh-keygen -lf $key; done",
        "Then these lines go into the host's table in sshfacts.toml:",
        "",
        *(("host_keys = [", *(f'    "{key.line}",  # {key.fingerprint}' for key in own), "]") if own else ()),
        *(f'# If this authority is yours: host_cas = ["{key.line}"]  # {key.fingerprint}' for key in authorities),
    ]


def _report(name: str, refusal: Refusal, fix: str) -> None:
    where = f" ({refusal.where})" if refusal.where else ""
    text = f"{name}: error[{refusal.detail}]: {refusal.entry.meaning.rstrip('.')}{where}\n  fix: {fix}"
    console(stderr=True).print(Text(text), soft_wrap=True)


def _say_nothing_twice() -> None:
    """Keep the log of refused connections quiet: these commands tell them themselves."""
    logging.getLogger("sshfacts.ssh").setLevel(logging.ERROR)
