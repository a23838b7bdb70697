"""The generated schema: current, and of one mind with the code that reads command files."""

import runpy
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sshfacts.builtin import builtin_site
from sshfacts.commands.command_fields import COMMAND
from sshfacts.commands.command_schema import as_text, command_schema
from sshfacts.commands.findings import Findings, Unreadable
from sshfacts.commands.source import Positions, Source
from sshfacts.commands.yaml_source import parse_yaml
from tests.support.sites import DISK, RESTART, UNIT

FILE = Path(__file__).parents[3] / "schemas" / "command.schema.json"
VALIDATOR = jsonschema.Draft202012Validator(command_schema())
BUILTIN = sorted((builtin_site() / "commands").glob("*.yaml"))


def test_the_file_is_current():
    assert FILE.read_text(encoding="utf-8") == as_text()


def test_the_module_prints_the_file(capsys: pytest.CaptureFixture[str]):
    with pytest.warns(RuntimeWarning, match="found in sys.modules"):
        runpy.run_module("sshfacts.commands.command_schema", run_name="__main__")
    assert capsys.readouterr().out == as_text()


def test_the_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(command_schema())


@pytest.mark.parametrize("path", BUILTIN, ids=lambda path: path.stem)
def test_the_built_in_files_are_valid(path: Path):
    VALIDATOR.validate(parse_yaml(path.read_text(), path.name, Findings()).value)


def test_every_field_has_a_meaning_for_the_editor():
    assert all(member["description"].endswith(".") for member in command_schema()["properties"].values())


WHOLE = parse_yaml(
    UNIT
    + "retry: {attempts: 2, seconds: 9, codes: [TIMEOUT]}\nneeds: {os: linux}\nraw: {keep: 3d}\nstatus: draft\n"
    + "decision: ask\nask_when: host == 'a'\nunbound_because: x\n",
    "unit",
    Findings(),
).value
SEEDS = [*(parse_yaml(text, "f", Findings()).value for text in (DISK, UNIT, RESTART)), WHOLE]
JUNK = st.sampled_from(
    [
        *(None, True, 0, 1, -1, 10**9, "", "x", "json", "8KiB", "30d", "reject", "allow", "X Y", "a\nb", "READ"),
        *([], ["x"], ["x", "x"], {}, {"x": 1}, {"0": "document"}, "unit/document.v1"),
        {"fields": {"separator": "tab", "names": ["a"]}},
    ]
)


def places(value: object, at: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    found = [at] if at else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, part in items:
        found += places(part, (*at, step))
    return found


def changed(value: object, at: tuple[str | int, ...], change: tuple[str, object]) -> object:
    """A copy with one part replaced, removed, or given a sibling."""
    step, *rest = at
    copy = dict(value) if isinstance(value, dict) else list(value)  # type: ignore[call-overload]
    if rest:
        copy[step] = changed(copy[step], tuple(rest), change)
    elif change[0] == "replace":
        copy[step] = change[1]
    elif change[0] == "remove":
        del copy[step]
    elif isinstance(copy, dict):
        copy["extra"] = change[1]
    else:
        copy.append(change[1])
    return copy


@st.composite
def command_files(draw: st.DrawFn) -> object:
    value = draw(st.sampled_from(SEEDS))
    at = draw(st.sampled_from(places(value)))
    return changed(value, at, (draw(st.sampled_from(["replace", "remove", "add"])), draw(JUNK)))


@given(command_files())
def test_the_schema_and_the_code_accept_the_same_files(value: object):
    findings = Findings()
    try:
        COMMAND.read(Source("f", value, Positions).root, findings)  # type: ignore[arg-type]
    except Unreadable:
        assert len(findings) > 0
    assert VALIDATOR.is_valid(value) is (len(findings) == 0), findings.sorted()
