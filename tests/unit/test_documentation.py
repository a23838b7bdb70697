"""What the documentation says about the project is compared with the project."""

import re
from pathlib import Path

import pytest
import typer.main

from sshfacts.builtin import builtin_site
from sshfacts.cli.main import app

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_inside_the_project_lead_somewhere(page: Path):
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_the_readme_names_every_command():
    commands = set(typer.main.get_group(app).commands)
    assert set(re.findall(r"^\| `sshfacts ([a-z]+)", README, re.MULTILINE)) == commands


def test_the_readme_names_every_operation():
    listed = README.split("read-only operations (")[1].split(")")[0]
    operations = {path.stem for path in (builtin_site() / "commands").glob("*.yaml")}
    assert set(re.findall(r"`(\w+)`", listed)) == operations
