"""The table `[audit]` of `sshfacts.toml`."""

from pathlib import Path

import pytest

from sshfacts.commands.findings import Findings
from sshfacts.commands.settings import AuditSettings
from sshfacts.commands.settings_file import FILE, read_settings
from sshfacts.storage.note import SigningKey

HEAD = (
    'version = 1\n[audit]\norigin = "facts.example/main"\nkey_file = "seal/key"\nstate_file = "/var/lib/seal/state"\n'
)


def read(folder: Path, text: str) -> tuple[AuditSettings | None, list[str]]:
    (folder / FILE).write_text(text)
    findings = Findings()
    settings = read_settings(folder, findings)
    codes = [one.code for one in findings.sorted()]
    return (settings.audit if settings is not None else None), codes


def test_without_the_table_nothing_is_sealed(tmp_path: Path):
    assert read(tmp_path, "version = 1\n") == (None, [])


def test_paths_are_relative_to_the_site(tmp_path: Path):
    expected = AuditSettings("facts.example/main", tmp_path / "seal" / "key", Path("/var/lib/seal/state"))
    assert read(tmp_path, HEAD) == (expected, [])
    assert (expected.checkpoints, expected.interval) == (None, 10)


def test_every_field(tmp_path: Path):
    audit, codes = read(tmp_path, f'{HEAD}checkpoints = "drop"\ninterval = "5m"\n')
    assert codes == []
    assert audit is not None
    assert (audit.checkpoints, audit.interval) == (tmp_path / "drop", 300)


@pytest.mark.parametrize("name", ["origin", "key_file", "state_file"])
def test_what_the_table_must_have(tmp_path: Path, name: str):
    lines = [line for line in HEAD.splitlines() if not line.startswith(name)]
    assert "field.missing" in read(tmp_path, "\n".join(lines))[1]


@pytest.mark.parametrize("origin", ["", "a b", "a+b", "/a", "a\\u00e9", "x" * 129])
def test_an_origin_is_a_name_that_a_key_can_have(tmp_path: Path, origin: str):
    assert read(tmp_path, HEAD.replace("facts.example/main", origin))[1] != []


@pytest.mark.parametrize("origin", ["a", "sshfacts.example.com/production", "facts-1.example_x/a.b", "x" * 128])
def test_every_origin_that_is_taken_is_the_name_of_a_key(tmp_path: Path, origin: str):
    audit, codes = read(tmp_path, HEAD.replace("facts.example/main", origin))
    assert codes == []
    assert audit is not None
    assert SigningKey.generate(audit.origin).public.name == origin


@pytest.mark.parametrize("more", ['interval = "0s"', 'interval = "2h"', "interval = 10", 'keyfile = "x"'])
def test_what_is_no_field_or_out_of_bounds(tmp_path: Path, more: str):
    assert read(tmp_path, f"{HEAD}{more}\n")[1] != []
