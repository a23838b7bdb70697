"""Requests as a table for people: CSV, to be read in a spreadsheet. It proves nothing, and says so in each row."""

import csv
from collections.abc import Iterable
from dataclasses import fields
from datetime import datetime
from typing import TextIO

from sshfacts.storage.canonical import rfc3339
from sshfacts.storage.queries import RequestRow

CAVEAT = "reading copy, not evidence"
"""The first cell of each row."""

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")


def write_table(file: TextIO, rows: Iterable[RequestRow]) -> int:
    """Write a header and one row for each request, and return how many requests there were.

    Args:
        file: opened with `newline=""`.

    Raises:
        OSError: the file cannot be written.
    """
    names = [field.name for field in fields(RequestRow)]
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["caveat", *names, "state"])
    count = 0
    for row in rows:
        writer.writerow([CAVEAT, *(cell(getattr(row, name)) for name in names), cell(row.state)])
        count += 1
    return count


def cell(value: str | int | datetime | None) -> str:
    """Return the text of one cell. A text that a spreadsheet would run as a formula gets an apostrophe before it."""
    if isinstance(value, datetime):
        return rfc3339(value)
    if isinstance(value, str) and value.lstrip(" ").startswith(_FORMULA_STARTS):
        return f"'{value}"
    return "" if value is None else str(value)
