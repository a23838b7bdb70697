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
    [read], [change] = (
        re.findall(rf"{words}\s+\(([^)]+)\)", README) for words in ("read-only operations", "one that changes a host")
    )
    operations = {path.stem: path.read_text(encoding="utf-8") for path in (builtin_site() / "commands").glob("*.yaml")}
    changing = {name for name, text in operations.items() if "\neffect: change\n" in text}
    assert set(re.findall(r"`(\w+)`", change)) == changing
    assert set(re.findall(r"`(\w+)`", read)) == operations.keys() - changing
