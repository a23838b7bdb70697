"""The page of faults says what the code does, and names tests that there are."""

import ast
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from sshfacts.commands.operation import RETRIED
from sshfacts.errors import DETAILS, Code, Stage
from sshfacts.ssh.faults import MISTAKEN

TESTS = Path(__file__).parents[2]
PAGE = TESTS.parent / "docs" / "reference" / "ssh-faults.md"
FOLDERS = (TESTS / "unit" / "ssh", TESTS / "integration")
AT_ONCE = {"at once": {"busy.host", "ssh.unreachable"}, "once": {"ssh.lost"}}
"""What is tried again without being asked for: the details of `NotStarted` and of `Lost`."""
OF_CALLERS = {"command.exit_status", "command.missing", "not_found.exit"}
"""Details of the stage run that are judged by the exit status, and not here."""


@dataclass(frozen=True)
class Row:
    """One line of a table."""

    situation: str
    result: str
    code: str
    again: str
    test: str

    @property
    def detail(self) -> str | None:
        return self.result.strip("`") if self.result.startswith("`") else None


def _rows() -> list[Row]:
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [Row(*row) for row in cells if row[0] != "what happens"]


ROWS = _rows()
FAULTS = [row for row in ROWS if row.detail is not None]


@cache
def _sources(file: str) -> dict[str, str]:
    """The text of each test of a file, with its decorators."""
    [path] = [folder / file for folder in FOLDERS if (folder / file).exists()]
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    tests = (node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return {
        node.name: "\n".join(
            lines[min([node.lineno, *(one.lineno for one in node.decorator_list)]) - 1 : node.end_lineno]
        )
        for node in tests
    }


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.situation)
def test_the_test_of_a_row_exists_and_looks_for_its_detail(row: Row):
    file, name = re.fullmatch(r"`(\w+\.py)::(\w+)`", row.test).groups()
    assert name in _sources(file)
    if row.detail is not None:
        assert row.detail in _sources(file)[name].replace("\\", "")  # as text or as a pattern


@pytest.mark.parametrize("row", FAULTS, ids=lambda row: row.situation)
def test_the_code_and_the_retry_of_a_row_are_those_of_its_detail(row: Row):
    code = DETAILS[row.detail].code
    assert row.code == f"`{code}`"
    if row.detail in MISTAKEN or code not in RETRIED:
        assert row.again == "never"
    else:
        assert row.again == "retry" or row.detail in AT_ONCE[row.again]


def test_every_row_is_a_situation_of_its_own():
    assert len({row.situation for row in ROWS}) == len(ROWS)
    assert {row.again for row in ROWS if row.detail is None} == {""}


def test_every_detail_of_a_run_has_a_row():
    of_the_run = {name for name, entry in DETAILS.items() if entry.stage is Stage.RUN} - OF_CALLERS
    assert of_the_run <= {row.detail for row in FAULTS}
    assert {DETAILS[name].code for name in OF_CALLERS} == {Code.COMMAND_FAILED, Code.NOT_FOUND}
