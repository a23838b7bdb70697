"""The reference pages say what the code does: every field, its meaning, every example."""

import re
from pathlib import Path

import pytest

from sshfacts.commands import command_fields, settings_audit, settings_fields, settings_raw, site_file
from sshfacts.commands.command_fields import COMMAND, FORMAT
from sshfacts.commands.findings import Findings
from sshfacts.commands.records import Record
from sshfacts.commands.site import load_site
from sshfacts.commands.yaml_source import parse_yaml
from tests.support import finding_page
from tests.support.sites import SiteFiles

REFERENCE = Path(__file__).parents[3] / "docs" / "reference"
COMMAND_FILE = (REFERENCE / "command-file.md").read_text(encoding="utf-8")
CONFIGURATION = (REFERENCE / "configuration.md").read_text(encoding="utf-8")

SECTIONS: list[tuple[str, str, Record[object]]] = [
    (COMMAND_FILE, "The whole file", command_fields.COMMAND),
    (COMMAND_FILE, "arguments.NAME", command_fields.ARGUMENT),
    (COMMAND_FILE, "arguments.NAME.schema", command_fields.ARGUMENT_SCHEMA),
    (COMMAND_FILE, "arguments.NAME.examples", command_fields.EXAMPLES),
    (COMMAND_FILE, "run", command_fields.RUN),
    (COMMAND_FILE, "output", command_fields.OUTPUT),
    (COMMAND_FILE, "output.format.key_value", command_fields.KEY_VALUE),
    (COMMAND_FILE, "output.format.fields", command_fields.FIELDS),
    (COMMAND_FILE, "checks", command_fields.CHECK),
    (COMMAND_FILE, "facts", command_fields.FACTS),
    (COMMAND_FILE, "needs", command_fields.NEEDS),
    (COMMAND_FILE, "retry", command_fields.RETRY),
    (COMMAND_FILE, "raw", command_fields.RAW),
    (CONFIGURATION, "commands/site.toml", site_file.MARKER_FIELDS),
    (CONFIGURATION, "sshfacts.toml", settings_fields.SETTINGS),
    (CONFIGURATION, "service", settings_fields.SERVICE),
    (CONFIGURATION, "database", settings_fields.DATABASE),
    (CONFIGURATION, "audit", settings_audit.AUDIT),
    (CONFIGURATION, "approvals", settings_fields.APPROVALS),
    (CONFIGURATION, "raw", settings_raw.RAW),
    (CONFIGURATION, "oidc", settings_fields.OIDC),
    (CONFIGURATION, "limits", settings_fields.CEILING_FIELDS),
    (CONFIGURATION, "hosts.ALIAS", settings_fields.HOST),
    (CONFIGURATION, "credentials.NAME", settings_fields.CREDENTIAL),
    (CONFIGURATION, "callers.NAME", settings_fields.CALLER),
    (CONFIGURATION, "people.NAME", settings_fields.PERSON),
]


def table(page: str, heading: str) -> list[tuple[str, ...]]:
    """The rows of the first table below a heading."""
    section = re.split(rf"^#+ {re.escape(heading)}$", page, flags=re.MULTILINE)[1]
    section = re.split(r"^#+ ", section, flags=re.MULTILINE)[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("|")]
    return [tuple(row) for row in rows[2:]]


def examples(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


@pytest.mark.parametrize(("page", "heading", "record"), SECTIONS, ids=[heading for _, heading, _ in SECTIONS])
def test_every_field_is_described_as_it_is(page: str, heading: str, record: Record[object]):
    assert table(page, heading) == [
        (f"`{name}`", "yes" if field.must else "no", field.meaning) for name, field in record.members.items()
    ]


def test_every_format_is_described():
    rows = dict(table(COMMAND_FILE, "output.format"))
    assert rows.keys() == {f"`{name}`" for name in ("json", "json_lines", *FORMAT.members)}
    assert {f"`{name}`": meaning for name, (_, meaning) in FORMAT.members.items()}.items() <= rows.items()


def test_the_example_of_a_command_file_is_read_without_a_finding():
    [example] = examples(COMMAND_FILE, "yaml")
    findings = Findings()
    COMMAND.read(parse_yaml(example, "example", findings).root, findings)
    assert findings.sorted() == ()


def test_the_examples_of_the_configuration_make_a_site(tmp_path: Path):
    marker, settings = examples(CONFIGURATION, "toml")
    root = SiteFiles(tmp_path, operations={}, settings=settings).write()
    (root / "commands" / "site.toml").write_text(marker)
    site = load_site(root, need_settings=True)
    assert set(site.operations) == {"host_os", "service_status"}
    assert site.require_settings().people.keys() == {"ada", "grace"}


def test_the_page_of_findings_is_current():
    assert finding_page.PAGE.read_text(encoding="utf-8") == finding_page.page()
