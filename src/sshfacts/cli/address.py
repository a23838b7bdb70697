"""Which database a command looks at: the site's, or one that the command line names."""

from pathlib import Path
from typing import Annotated

import typer

from sshfacts.cli.identity import settings_of
from sshfacts.errors import UsageError

UrlOption = Annotated[
    str | None,
    typer.Option(
        "--url", metavar="URL", help="Another database or login than the site's, such as postgresql://USER@HOST/NAME."
    ),
]
PasswordFileOption = Annotated[
    Path | None, typer.Option("--password-file", metavar="FILE", help="File with the password for --url.")
]


def chosen_url(site: Path | None, url: str | None, password_file: Path | None) -> str:
    """Return the URL that the command line names, else the site's.

    Raises:
        SiteError: the site's settings cannot be used.
        UsageError: neither is given, or a password file is and no URL.
    """
    if url is None:
        if password_file is not None:
            raise UsageError("--password-file belongs to --url; that of the site stands in its sshfacts.toml")
        return settings_of(site).database_url
    from sshfacts.storage.address import with_password_file

    return url if password_file is None else with_password_file(url, password_file.absolute())
