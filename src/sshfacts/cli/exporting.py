"""`sshfacts audit export`: records as a file, for evidence or for reading."""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from sshfacts.cli.address import PasswordFileOption, UrlOption, chosen_url
from sshfacts.cli.options import SiteOption, instant_of
from sshfacts.cli.output import Progress, console
from sshfacts.cli.sealing import read_note
from sshfacts.errors import UsageError

if TYPE_CHECKING:
    from sshfacts.storage.export_format import Period

_MODE = 0o600  # it says who asked for what


class Form(StrEnum):
    """What an export is for."""

    JSONL = "jsonl"
    """Evidence: it proves itself."""
    CSV = "csv"
    """A table of requests for people; it proves nothing."""


def export(
    since: Annotated[str | None, typer.Option(metavar="TIME", help="Begin of the period; default: of the log.")] = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help="End of the period, not in it.")] = None,
    form: Annotated[Form, typer.Option("--format", help="jsonl is evidence, csv is for reading.")] = Form.JSONL,
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="Where to; default: stdout.")] = None,
    trusted: Annotated[
        Path | None, typer.Option(metavar="CHECKPOINT", help="One that the reader keeps: the file will extend it.")
    ] = None,
    site: SiteOption = None,
    url: UrlOption = None,
    password_file: PasswordFileOption = None,
) -> None:
    """Export the records of a period, as a file that proves that none is missing; `audit verify` checks it anywhere.

    Exit with 1 if records of the period are not sealed yet, and not in the file for that.
    """
    from sshfacts.storage.export_format import Period

    period = Period(instant_of(since, "--since"), instant_of(until, "--until"))
    database = chosen_url(site, url, password_file)
    if form is Form.CSV:
        with _opened(output) as file:
            _write_table(file, database, period)
        return
    with _opened(output) as file:
        missing = _write_evidence(file, database, period, trusted)
    if missing:
        console(stderr=True).print(f"{missing} records of the period are not sealed yet, and not in the file")
    sys.exit(1 if missing else 0)


def _write_evidence(file: BinaryIO, url: str, period: "Period", trusted: Path | None) -> int:
    """Write the whole file, and return how many records of the period are missing in it."""
    from sshfacts.storage.checkpoint import unsigned_checkpoint
    from sshfacts.storage.engine import open_for_reading
    from sshfacts.storage.export import Export

    earlier = None if trusted is None else unsigned_checkpoint(read_note(trusted))
    whole = Export(open_for_reading(url), period, earlier)
    whole.write(file, Progress("exported"))
    return whole.unsealed


def _write_table(file: BinaryIO, url: str, period: "Period") -> None:
    from sshfacts.storage.engine import open_for_reading
    from sshfacts.storage.export_table import write_table
    from sshfacts.storage.queries import Filters, each_request

    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    rows = each_request(open_for_reading(url), Filters(since=period.since, until=period.until))
    count = write_table(text, rows)
    text.flush()
    text.detach()
    console(stderr=True).print(f"{count} requests; this is a reading copy and no evidence")


@contextmanager
def _opened(path: Path | None) -> Iterator[BinaryIO]:
    """Give the file to write to. It gets its name when it is whole, so that a part of one is not taken for it."""
    if path is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    part = path.with_name(f"{path.name}.part")
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _MODE)
        with os.fdopen(descriptor, "wb") as file:
            yield file
        part.replace(path)
    except OSError as error:
        raise UsageError(f"the file cannot be written: {type(error).__name__}") from None
    finally:
        part.unlink(missing_ok=True)
