"""Whatever stands in a file, reading it ends in a value or in findings, and in nothing else."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sshfacts.commands.compile import Workbench, compile_operation
from sshfacts.commands.contracts import Contracts
from sshfacts.commands.findings import Findings, Place
from sshfacts.commands.settings_file import FILE, read_settings
from sshfacts.limits import CEILINGS
from sshfacts.schemas.profile import Kind
from tests.support.sites import SETTINGS, UNIT, SiteFiles

PIECES = st.sampled_from(
    [
        *(
            "",
            " ",
            "\n",
            "\t",
            ":",
            "- ",
            "{",
            "}",
            "[",
            "]",
            "{}",
            "[]",
            "''",
            '"',
            "'",
            "\\",
            "#",
            "&a",
            "*a",
            "!",
            "%",
            "?",
        ),
        *(
            "null",
            "true",
            "0",
            "-1",
            "1.5",
            "9" * 30,
            "x" * 600,
            "..",
            "/",
            "\0",
            "\x1b",
            "\u202e",
            "\ud7ff",
            "\U0001f600",
        ),
        *("unit", "{unit}", "{other}", "^[a-z]+$", "(((", "a{1000}", "document", "||", "now", "@", "`", "8KiB", "sh"),
        *("\n  ", "\nx: 1\n", ", ", "=", "[[", "]]", '"""', "'''", "2026-11-30", "1e9", '{"a": 1, "a": 2}', "\\ud800"),
    ]
)


@st.composite
def spoiled(draw: st.DrawFn, text: str) -> str:
    """The text with up to four cuts, each filled with something else."""
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 12)))
        text = text[:start] + draw(PIECES) + text[end:]
    return text


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return SiteFiles(tmp_path_factory.mktemp("hostile"), operations={"unit": UNIT}).write()


def read_contract(root: Path, findings: Findings) -> object:
    return Contracts(root, findings).load("unit/facts.v1", Kind.FACTS, Place("here"))


def read_command(root: Path, findings: Findings) -> object:
    bench = Workbench(root, CEILINGS, Contracts(root, findings), findings)
    return compile_operation(root / "commands" / "unit.yaml", bench)


def judge(path: Path, text: str, read: Callable[[Path, Findings], object], root: Path) -> None:
    before = path.read_bytes()
    try:
        path.write_text(text, encoding="utf-8", newline="")
        findings = Findings()
        value = read(root, findings)
    finally:
        path.write_bytes(before)
    assert value is not None or len(findings) > 0
    for finding in findings.sorted():
        # A message never carries what could drive a terminal, and always has a place in a file of the site.
        assert "\x1b" not in str(finding)
        assert Path(finding.path).is_relative_to(root)


@settings(max_examples=60)
@given(spoiled(UNIT))
def test_command_files(root: Path, text: str):
    judge(root / "commands" / "unit.yaml", text, read_command, root)


@settings(max_examples=60)
@given(spoiled(SETTINGS))
def test_settings(root: Path, text: str):
    judge(root / FILE, text, read_settings, root)


@settings(max_examples=60)
@given(st.data())
def test_contracts(root: Path, data: st.DataObject):
    path = root / "schemas" / "unit" / "facts.v1.json"
    judge(path, data.draw(spoiled(path.read_text())), read_contract, root)


@pytest.mark.parametrize("read", [read_command, read_settings, read_contract])
def test_the_files_are_in_order_before_they_are_spoiled(root: Path, read: Callable[[Path, Findings], object]):
    findings = Findings()
    assert read(root, findings) is not None
    assert findings.sorted() == ()
