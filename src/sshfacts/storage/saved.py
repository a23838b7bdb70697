"""The saved questions of auditors: SQL files of the built-in site, each with its question and parameters.

A file begins with comments: the question, then one line for each parameter, `--   NAME: text` or
`--   NAME: instant`. The rest is one statement for every database, with named parameters.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

import sqlalchemy as sa

from sshfacts.builtin import builtin_site
from sshfacts.errors import UsageError
from sshfacts.storage.engine import transaction
from sshfacts.storage.tables import Instant

_QUESTION = re.compile(r"-- (?P<question>\S.*\?)")
_PARAMETER = re.compile(r"--   (?P<name>[a-z_0-9]+): (?P<kind>text|instant)")


class Kind(StrEnum):
    """What a parameter takes."""

    TEXT = "text"
    INSTANT = "instant"
    """RFC 3339; without a time zone it is UTC, as everything in the record is."""


@dataclass(frozen=True, slots=True)
class SavedQuery:
    """One question and the statement that answers it."""

    name: str
    question: str
    parameters: Mapping[str, Kind]
    statement: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The rows of an answer, and the names of their columns."""

    columns: tuple[str, ...]
    rows: list[tuple[object, ...]]


def saved_queries() -> dict[str, SavedQuery]:
    """Return the saved queries of the built-in site by name.

    Raises:
        ValueError: a file does not begin as it must.
    """
    files = sorted((builtin_site() / "storage" / "queries").glob("*.sql"))
    return {file.stem: read_query(file) for file in files}


def read_query(file: Path) -> SavedQuery:
    """Read one file.

    Raises:
        ValueError: it does not begin with its question and parameters.
    """
    first, *rest = file.read_text(encoding="utf-8").splitlines()
    question = _QUESTION.fullmatch(first)
    if question is None:
        raise ValueError(f"{file.name} does not begin with its question")
    head = [line for line in rest if line.startswith("--")]
    found = [_PARAMETER.fullmatch(line) for line in head]
    parameters = {one["name"]: Kind(one["kind"]) for one in found if one is not None}
    if len(parameters) != len(head):
        raise ValueError(f"{file.name} has a comment that is no parameter")
    return SavedQuery(file.stem, question["question"], parameters, "\n".join(rest[len(head) :]))


def run(engine: sa.Engine, query: SavedQuery, arguments: Mapping[str, str]) -> Answer:
    """Answer a saved question. Blocks.

    Args:
        engine: opened for reading.
        arguments: a text for each of the query's parameters.

    Raises:
        UsageError: an argument is missing, unknown, or not of its kind.
        RecordUnavailable: the database cannot be read.
    """
    if arguments.keys() != query.parameters.keys():
        raise UsageError(f"{query.name} takes {', '.join(query.parameters)}")
    bound = [_bind(name, kind, arguments[name]) for name, kind in query.parameters.items()]
    with transaction(engine) as connection:
        result = connection.execute(sa.text(query.statement).bindparams(*bound))
        return Answer(tuple(result.keys()), [tuple(row) for row in result])


def _bind(name: str, kind: Kind, text: str) -> sa.BindParameter[object]:
    if kind is Kind.TEXT:
        return sa.bindparam(name, text, sa.Text)
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{name} is an instant, such as 2026-11-30T10:00:00Z or 2026-11-30") from None
    return sa.bindparam(name, instant if instant.tzinfo is not None else instant.replace(tzinfo=UTC), Instant)
