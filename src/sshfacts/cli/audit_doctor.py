"""`sshfacts audit doctor`: what is wrong with the database of the record."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sshfacts.cli.address import PasswordFileOption, UrlOption, chosen_url
from sshfacts.cli.identity import settings_of
from sshfacts.cli.options import SiteOption
from sshfacts.cli.output import console, print_json, print_table
from sshfacts.limits import KEEP_FREE

if TYPE_CHECKING:
    from sshfacts.commands.settings import Settings
    from sshfacts.storage.doctor import Defect


def doctor(
    site: SiteOption = None,
    url: UrlOption = None,
    password_file: PasswordFileOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object for each defect, on a line.")] = False,
) -> None:
    """Look for what is wrong with the record: guards, rights, durability, revision, disk, keys of raw copies.

    Exit with 1 if something is that a service does not go on with.

    It looks with the login of the URL, so that of the service is the one to try.
    """
    from sshfacts.storage.doctor import Effect
    from sshfacts.storage.engine import open_for_reading
    from sshfacts.storage.examination import examine

    engine = open_for_reading(chosen_url(site, url, password_file))
    found = [*examine(engine, _keep_free(site, url)), *(_raw_keys(settings_of(site)) if url is None else ())]
    for defect in found if as_json else ():
        print_json({"defect": defect.name, "effect": defect.effect.value, "what": defect.what, "fix": defect.fix})
    if found and not as_json:
        rows = ((one.name, one.effect.value, one.what, one.fix) for one in found)
        print_table("", ("defect", "the service", "what", "fix"), rows)
    if not found:
        console(stderr=True).print("no defects")
    sys.exit(1 if any(defect.effect is not Effect.ADVICE for defect in found) else 0)


def _keep_free(site: Path | None, url: str | None) -> int:
    return settings_of(site).database_keep_free if url is None else KEEP_FREE


def _raw_keys(settings: "Settings") -> "Iterator[Defect]":
    from sshfacts.storage.doctor import Defect, Effect
    from sshfacts.storage.raw_keys import RawKeyError, read_keys

    make_one = "make a key with `sshfacts audit raw-keys new`, and name it in raw.key_files"
    if not settings.raw.key_files:
        yield Defect("raw_copies", Effect.ADVICE, "there is no key, so that refused outputs are not kept", make_one)
        return
    try:
        read_keys(settings.raw.key_files)
    except RawKeyError as error:
        yield Defect(
            "raw_copies", Effect.STOPS, str(error), "put the file in its place, or take it out of raw.key_files"
        )
