"""docs/how-to/verify-the-record.md, followed to the letter."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sshfacts.cli.main import app
from sshfacts.storage.engine import open_for_writing, prepare
from tests.support.records import url_of
from tests.support.sealed import rows_of_calls, sqlite
from tests.support.sites import SETTINGS, SiteFiles

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "verify-the-record.md").read_text(encoding="utf-8")
SETTING = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
COMMANDS = "".join(re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)).splitlines()


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    files = SiteFiles(tmp_path, settings=SETTINGS + "".join(SETTING))
    files.write()
    prepare(open_for_writing(url_of(tmp_path / "audit.db")))
    sqlite(tmp_path).append(rows_of_calls(20))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(command: str) -> str:
    """Run one line as a shell would, and return what it prints."""
    line, _, target = command.partition(" > ")
    for inner in re.findall(r'"\$\((.*)\)"', line):
        digits = subprocess.run(["/bin/sh", "-c", inner], capture_output=True, text=True, check=True, timeout=10).stdout
        line = line.replace(f'"$({inner})"', digits.strip())
    result = CliRunner().invoke(app, shlex.split(line)[1:])
    assert result.exit_code == 0, (command, result.output, result.exception)
    if target:
        Path(target).write_text(result.stdout, encoding="utf-8")
    return result.stdout


def test_every_command_does_what_it_says(root: Path):
    printed = [(command, run(command)) for command in COMMANDS]

    assert all(command.startswith("sshfacts audit ") for command in COMMANDS)
    assert printed[1][1] == "sealed 46 records; the log has 46\n"
    assert "`sealed 46 records; the log has 46`" in PAGE
    verified = [text for command, text in printed if " verify" in command]
    assert len(verified) == 4
    assert {text.splitlines()[-1] for text in verified} == {"the record is what was written"}
    assert ["warning" in text for text in verified] == [False, False, True, False]
    assert (root / "requests.csv").read_text(encoding="utf-8").startswith("caveat,")
    assert (root / "seal" / "checkpoint.key.pub").read_text().count("\n") == 1


def test_the_page_says_what_the_sealer_says():
    source = "".join(
        path.read_text(encoding="utf-8")
        for path in (Path(__file__).parents[2] / "src" / "sshfacts" / "storage").glob("*.py")
    )
    told = re.findall(r"^\| `([^`]+)` \|", PAGE, re.MULTILINE)
    assert len(told) == 5
    for text in told:
        for part in filter(None, (part.strip() for part in text.split("..."))):
            assert part in source
