"""`sshfacts audit verify`: whether the record is what was written."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from sshfacts.cli.address import PasswordFileOption, UrlOption, chosen_url
from sshfacts.cli.options import SiteOption
from sshfacts.cli.output import Progress, console, print_json
from sshfacts.cli.sealing import audit_settings, read_note
from sshfacts.errors import UsageError

if TYPE_CHECKING:
    from sshfacts.storage.note import PublicKey
    from sshfacts.storage.report import Report


def verify(
    export: Annotated[
        Path | None,
        typer.Argument(help="An exported file, which needs nothing but --key; else the database is verified."),
    ] = None,
    key: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY", help="A public key that you trust, or a file of them; may be repeated."),
    ] = None,
    trusted: Annotated[
        Path | None, typer.Option(metavar="CHECKPOINT", help="A checkpoint that you kept; the log must extend it.")
    ] = None,
    site: SiteOption = None,
    url: UrlOption = None,
    password_file: PasswordFileOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="The report as one JSON object.")] = False,
) -> None:
    """Verify that the record is what was written; exit with 0 if it is, 1 if it is not, 2 if that cannot be told.

    Without --key, the keys and the last checkpoint of the sealer on this host are taken. They show what was done
    to the database, and not what was done to this host.
    """
    if export is not None:
        report = _verify_file(export, key, trusted)
    else:
        report = _verify_database(chosen_url(site, url, password_file), key, trusted, site)
    if as_json:
        print_json(report.as_json())
    else:
        _print(report)
    sys.exit(1 if report.violations.count else 2 if report.unjudged.count else 0)


def _verify_file(path: Path, key: Sequence[str] | None, trusted: Path | None) -> "Report":
    from sshfacts.storage.checkpoint import open_checkpoint
    from sshfacts.storage.verify_file import verify_file

    keys = _keys(key)
    earlier = None if trusted is None else open_checkpoint(read_note(trusted), keys)
    try:
        with path.open("rb") as file:
            return verify_file(file, keys, earlier, Progress("verified"))
    except OSError as error:
        raise UsageError(f"the file cannot be read: {type(error).__name__}") from None


def _verify_database(url: str, key: Sequence[str] | None, trusted: Path | None, site: Path | None) -> "Report":
    from sshfacts.storage.checkpoint import open_checkpoint
    from sshfacts.storage.engine import open_for_reading
    from sshfacts.storage.verify_database import verify_database

    keys = _keys(key) if key else _own_keys(site)
    note = read_note(trusted) if trusted is not None else None if key else _own_note(site)
    earlier = None if note is None else open_checkpoint(note, keys)
    return verify_database(open_for_reading(url), keys, earlier, progress=Progress("verified"))


def _keys(given: Sequence[str] | None) -> "list[PublicKey]":
    """Return the keys that the command line names."""
    from sshfacts.storage.note import PublicKey
    from sshfacts.storage.signing_keys import read_public_keys

    if not given:
        raise UsageError("pass the public key that you trust with --key; the operators of the log tell it")
    keys = [read_public_keys(Path(one)) if Path(one).is_file() else [PublicKey.parse(one)] for one in given]
    return [key for some in keys for key in some]


def _own_keys(site: Path | None) -> "list[PublicKey]":
    """Return the keys of the sealer on this host."""
    from sshfacts.storage.signing_keys import KeyFile, read_public_keys

    return read_public_keys(KeyFile(audit_settings(site).key_file).public_path)


def _own_note(site: Path | None) -> str | None:
    """Return what the sealer on this host signed last; `None` if it never did."""
    from sshfacts.storage.sealer_state import SealerState

    return SealerState(audit_settings(site).state_file).read()


def _print(report: "Report") -> None:
    """Tell people what was verified and what was found."""
    shown = console()
    if report.origin is not None:
        shown.print(Text(f"log {report.origin}, {report.tree_size} records, root {report.root_hash}"), soft_wrap=True)
        shown.print(f"verified: {report.end - report.begin} records, leaves {report.begin} to before {report.end}")
        shown.print(f"they state times from {report.first_at or '-'} to {report.last_at or '-'}")
        kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(report.kinds.items()))
        shown.print(Text(f"kinds: {kinds or '-'}"), soft_wrap=True)
        shown.print(f"calls that may have run: {report.open_calls}, closed as orphans: {report.orphaned_calls}")
        shown.print(f"not sealed yet: {report.unsealed}")
    for name, findings in (
        ("violation", report.violations),
        ("unjudged", report.unjudged),
        ("warning", report.warnings),
    ):
        for text in findings.shown:
            shown.print(Text(f"{name}: {text}"), soft_wrap=True)
        if findings.count > len(findings.shown):
            shown.print(f"{name}: {findings.count - len(findings.shown)} more")
    shown.print("the record is what was written" if report.ok else _verdict(report))


def _verdict(report: "Report") -> str:
    if count := report.violations.count:
        return f"the record cannot be trusted: {count} {'violation' if count == 1 else 'violations'}"
    return "a newer version of sshfacts is needed to verify this"
