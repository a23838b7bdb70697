"""The options and arguments that several commands share."""

import os
import pwd
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sshfacts.builtin import MARKER, builtin_site
from sshfacts.errors import UsageError
from sshfacts.values import JsonObject, JsonValue

if TYPE_CHECKING:  # These rooms import slow packages; the annotations alone must not.
    from sshfacts.commands.operation import Operation
    from sshfacts.commands.site import Site

SiteOption = Annotated[
    Path | None,
    typer.Option("--site", metavar="DIR", envvar="SSHFACTS_SITE", help="The site's folder."),
]
TokenFileOption = Annotated[
    Path | None,
    typer.Option("--token-file", metavar="FILE", help="File with the caller's token; else SSHFACTS_TOKEN is used."),
]
ArgumentPairs = Annotated[
    list[str] | None,
    typer.Argument(metavar="[k=v]...", help="The operation's arguments.", show_default=False),
]

_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,15})")


def content_site(option: Path | None) -> Path:
    """Return the folder whose operations are looked at: the one given, else the built-in site."""
    return option if option is not None else builtin_site()


def live_site(option: Path | None) -> "Site":
    """Load the site that calls run on: the one given, else the current folder.

    Raises:
        SiteError: its files cannot be served.
        UsageError: no site was given, and the current folder is none.
    """
    from sshfacts.commands.site import load_site

    if option is None and not (Path.cwd() / "sshfacts.toml").is_file():
        raise UsageError(f"no site: pass --site DIR, or set SSHFACTS_SITE; a site holds {MARKER} and sshfacts.toml")
    return load_site(option or Path.cwd(), need_settings=True)


def site_if_any() -> "Site | None":
    """Load the site of the current folder, if it is one.

    Raises:
        SiteError: its files cannot be served.
    """
    return live_site(None) if (Path.cwd() / "sshfacts.toml").is_file() else None


def token_of(token_file: Path | None) -> str:
    """Return the caller's token, from a file or from the environment and never from a flag.

    Raises:
        UsageError: there is none, or its file cannot be read.
    """
    if token_file is not None:
        try:
            return token_file.read_text("ascii").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"the token file cannot be read: {type(error).__name__}") from None
    token = os.environ.get("SSHFACTS_TOKEN", "")
    if not token:
        raise UsageError("no identity: set SSHFACTS_TOKEN or pass --token-file (make one with `sshfacts tokens add`)")
    return token


def os_user() -> str:
    """Return who runs this process, for the record beside the caller's name."""
    user_id = os.getuid()
    try:
        return pwd.getpwuid(user_id).pw_name
    except KeyError:  # A container may run under a number that has no name.
        return str(user_id)


def parse_arguments(pairs: Iterable[str], operation: "Operation | None") -> JsonObject:
    """Read `name=value` words; a value takes the type that the operation's schema asks for.

    Raises:
        UsageError: a word has no `=`, or a name stands twice.
    """
    arguments: JsonObject = {}
    for name, text in parse_pairs(pairs).items():
        argument = operation.arguments.get(name) if operation is not None else None
        arguments[name] = _typed(text, argument.schema.get("type") if argument is not None else "string")
    return arguments


def parse_pairs(pairs: Iterable[str]) -> dict[str, str]:
    """Read `name=value` words as texts.

    Raises:
        UsageError: a word has no `=`, or a name stands twice.
    """
    texts: dict[str, str] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise UsageError(f"an argument is written name=value, not {pair!r}")
        if name in texts:
            raise UsageError(f"argument {name!r} is given twice")
        texts[name] = text
    return texts


def instant_of(text: str | None, option: str) -> datetime | None:
    """Read a time of the command line; without a zone it is UTC, as everything in the record is.

    Raises:
        UsageError: it is none.
    """
    if text is None:
        return None
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{option} takes a time, such as 2026-11-30T10:00:00Z or 2026-11-30") from None
    return instant if instant.tzinfo is not None else instant.replace(tzinfo=UTC)


def _typed(text: str, kind: JsonValue) -> JsonValue:
    if kind == "integer" and _INTEGER.fullmatch(text):
        return int(text)
    if kind == "boolean" and text in ("true", "false"):
        return text == "true"
    return text
