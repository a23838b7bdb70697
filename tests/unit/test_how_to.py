"""The how-to pages are followed to the letter: their files make a site, and their commands do what they say."""

import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from sshfacts.builtin import builtin_site
from sshfacts.storage.recorder import open_recorder
from tests.support.records import intent, outcome, refused, url_of

PAGE_FOLDER = Path(__file__).parents[2] / "docs" / "how-to"
PAGE = (PAGE_FOLDER / "add-an-operation.md").read_text(encoding="utf-8")
FILES = re.findall(r"^`([\w/.]+)`:\n\n```\w+\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = "".join(re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
PRINTED = re.findall(r"^```text\n(file_age .*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
NEEDS_A_HOST = ("ssh ", "--host")


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write every file of the page, run every command that needs no host, and return what they print."""
    root = tmp_path_factory.mktemp("site")
    for name, content in [("commands/site.toml", 'name = "mine"\nformat = 1\n'), *FILES]:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    program = root / "bin" / "sshfacts"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\nfrom sshfacts.cli.main import main\nmain()\n")
    program.chmod(0o755)
    lines = [line for line in COMMANDS.splitlines() if not any(word in line for word in NEEDS_A_HOST)]
    done = subprocess.run(
        ["/bin/sh", "-eu"],
        input="\n".join(lines),
        cwd=root,
        env={"PATH": f"{program.parent}:/usr/bin:/bin", "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    assert done.returncode == 0
    return done.stdout


def without_numbers(text: str) -> list[str]:
    return re.sub(r"[0-9,]+", "N", text).split()


def test_the_page_has_all_the_files_of_an_operation():
    assert {Path(name).suffix for name, _ in FILES} == {".yaml", ".json", ".out"}


def test_check_prints_what_the_page_shows(printed: str):
    [shown] = PRINTED

    assert " ".join(without_numbers(shown)) in " ".join(without_numbers(printed))


def test_try_ends_with_the_facts_of_the_page(printed: str):
    assert '"size_bytes":1048576,"written_at":"2026-11-30T08:00:00Z"' in printed.splitlines()[-1]


RECORD_PAGE = (PAGE_FOLDER / "query-the-record.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("statement", re.findall(r"^```sql\n(.*?)^```$", RECORD_PAGE, re.MULTILINE | re.DOTALL))
async def test_the_questions_to_the_record_can_be_asked(tmp_path: Path, statement: str):
    async with open_recorder(url_of(tmp_path / "audit.db")) as recorder:
        leaf = await recorder.append(intent("req.J7q94MkP"))
        await recorder.append(outcome(leaf, "req.J7q94MkP", code="INVALID_RESPONSE", detail="check.binding"))
        await recorder.append(refused("req.J7q94MkQ"))

    with closing(sqlite3.connect(tmp_path / "audit.db")) as connection:
        assert len(connection.execute(statement).fetchall()) == 1


def test_every_saved_question_that_is_named_is_there():
    named = re.findall(r"`(\w+\.sql)`", RECORD_PAGE)

    assert len(named) > 8
    assert [name for name in named if not (builtin_site() / "storage" / "queries" / name).is_file()] == []
