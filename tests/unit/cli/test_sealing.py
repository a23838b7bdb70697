"""`sshfacts audit seal`, `checkpoint`, `keys`, `verify` and `export`, as their users type them."""

import csv
import io
import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from sshfacts.cli.main import app
from sshfacts.errors import SshfactsError
from sshfacts.storage.checkpoint import open_checkpoint
from sshfacts.storage.note import PublicKey
from tests.support.sealed import rows_of_calls, sqlite
from tests.support.sites import SETTINGS, SiteFiles

AUDIT = """
[audit]
origin = "sshfacts.example/cli"
key_file = "seal/key"
state_file = "seal/state"
checkpoints = "seal/checkpoints"
"""


def run(root: Path, *words: str) -> Result:
    """Run one command; an error of ours ends with 2, as `main` makes it."""
    result = CliRunner().invoke(app, ["audit", *words, "--site", str(root)])
    assert result.exception is None or isinstance(result.exception, SystemExit | SshfactsError), result.exception
    if isinstance(result.exception, SshfactsError):
        result.exit_code = 2
    return result


def append(root: Path, first: int, calls: int = 20) -> None:
    sqlite(root).append(rows_of_calls(calls, first=first))


@pytest.fixture(scope="module")
def with_key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = SiteFiles(tmp_path_factory.mktemp("sites") / "site", settings=SETTINGS + AUDIT).write()
    assert run(root, "keys", "add").exit_code == 0
    append(root, 0)
    return root


@pytest.fixture(scope="module")
def with_checkpoint(with_key: Path) -> Path:
    root = Path(shutil.copytree(with_key, with_key.with_name("sealed")))
    assert run(root, "seal").exit_code == 0
    return root


@pytest.fixture
def site(with_key: Path, tmp_path: Path) -> Path:
    """A site whose record has a key and some calls."""
    return Path(shutil.copytree(with_key, tmp_path / "site"))


@pytest.fixture
def sealed(with_checkpoint: Path, tmp_path: Path) -> Path:
    """The same, sealed once."""
    return Path(shutil.copytree(with_checkpoint, tmp_path / "site"))


def key_of(root: Path) -> str:
    return (root / "seal" / "key.pub").read_text().splitlines()[0]


def test_a_site_without_the_table_says_so(tmp_path: Path):
    root = SiteFiles(tmp_path).write()
    for words in (("seal",), ("keys", "add"), ("keys", "list"), ("verify",)):
        result = run(root, *words)
        assert result.exit_code == 2
        assert "no table [audit]" in str(result.exception)


def test_sealing_publishes_a_checkpoint_on_stderr_and_as_a_file(site: Path):
    result = run(site, "seal")
    assert (result.exit_code, result.stdout) == (0, "sealed 46 records; the log has 46\n")
    told = json.loads(result.stderr)
    checkpoint = open_checkpoint(told["note"], [PublicKey.parse(key_of(site))])
    assert (checkpoint.origin, checkpoint.size) == ("sshfacts.example/cli", 46)
    assert (site / "seal" / "checkpoints" / "latest").read_text() == told["note"]
    assert run(site, "checkpoint").stdout == told["note"]


def test_an_empty_record_is_not_sealed(tmp_path: Path):
    root = SiteFiles(tmp_path, settings=SETTINGS + AUDIT).write()
    assert run(root, "seal").exit_code == 2
    run(root, "keys", "add")
    with sqlite(root).unguarded() as connection:
        connection.exec_driver_sql("DELETE FROM audit_entry")
    result = run(root, "seal")
    assert (result.exit_code, result.stdout) == (0, "the record is empty\n")
    assert run(root, "checkpoint").exit_code == 2


def test_a_gap_ends_with_1(site: Path):
    rows = rows_of_calls(5, writers=1, first=100)
    sqlite(site).append([*rows[:3], *rows[4:]])
    result = run(site, "seal")
    assert result.exit_code == 1
    assert "gap: what comes before record 4 of writer" in result.stderr


def test_a_sealer_that_lost_its_state_takes_a_checkpoint(sealed: Path):
    kept = sealed / "kept"
    kept.write_text(run(sealed, "checkpoint").stdout)
    (sealed / "seal" / "state").unlink()
    result = run(sealed, "seal")
    assert result.exit_code == 2
    assert "--trusted FILE" in str(result.exception)
    assert run(sealed, "seal", "--trusted", str(kept)).exit_code == 0
    assert run(sealed, "seal", "--trusted", str(kept)).exit_code == 2


def test_verify_takes_keys_and_checkpoint_of_this_host(sealed: Path):
    result = run(sealed, "verify")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1] == "the record is what was written"
    assert "warning" not in result.stdout
    report = json.loads(run(sealed, "verify", "--json").stdout)
    assert (report["ok"], report["tree_size"], report["unsealed"]) == (True, 46, 0)


def test_verify_with_a_pinned_key_trusts_nothing_of_this_host(sealed: Path):
    result = run(sealed, "verify", "--key", key_of(sealed))
    assert result.exit_code == 0
    assert "no trusted checkpoint was given" in result.stdout
    trusted = str(sealed / "seal" / "checkpoints" / "latest")
    result = run(sealed, "verify", "--key", str(sealed / "seal" / "key.pub"), "--trusted", trusted)
    assert result.exit_code == 0
    assert "warning" not in result.stdout


def test_verify_ends_with_1_on_a_violation(sealed: Path):
    with sqlite(sealed).unguarded() as connection:
        connection.exec_driver_sql("UPDATE audit_entry SET host = 'other' WHERE id = 10")
    result = run(sealed, "verify")
    assert result.exit_code == 1
    assert "violation: leaf 9: column host of entry 10 is not what its body says" in result.stdout
    assert result.stdout.splitlines()[-1] == "the record cannot be trusted: 1 violation"
    assert json.loads(run(sealed, "verify", "--json").stdout)["ok"] is False


@pytest.mark.parametrize(
    "words",
    [
        ("verify", "--key", "no key"),
        ("verify", "--key", "/nowhere/at/all"),
        ("verify", "--trusted", "/nowhere/at/all"),
        ("verify", "--trusted", "sshfacts.toml"),
        ("verify", "--url", "sqlite:////nowhere/at/all.db"),
        ("verify", "sshfacts.toml"),
        ("verify", "nowhere.jsonl", "--key", "KEY"),
        ("export", "--since", "yesterday"),
        ("export", "--output", "/nowhere/at/all"),
        ("export", "--trusted", "sshfacts.toml"),
        ("export", "--format", "pdf"),
        ("keys", "retire", "00000000"),
        ("seal", "--trusted", "/nowhere/at/all"),
    ],
)
def test_what_cannot_be_checked_ends_with_2(sealed: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]):
    monkeypatch.chdir(sealed)
    assert run(sealed, *(key_of(sealed) if word == "KEY" else word for word in words)).exit_code == 2


def test_a_file_of_a_later_version_ends_with_2(sealed: Path):
    file = sealed / "e.jsonl"
    run(sealed, "export", "--output", str(file))
    file.write_text(file.read_text().replace('"version":1', '"version":2', 1))
    result = run(sealed, "verify", str(file), "--key", key_of(sealed))
    assert result.exit_code == 2
    assert result.stdout.splitlines()[-1] == "a newer version of sshfacts is needed to verify this"


def test_an_export_verifies_anywhere(sealed: Path, tmp_path: Path):
    file = tmp_path / "export.jsonl"
    result = run(sealed, "export", "--output", str(file), "--since", "2026-11-30T10:00:05Z", "--until", "2026-12-31")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    assert file.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("export")] == ["export.jsonl"]
    result = run(sealed, "verify", str(file), "--key", key_of(sealed))
    assert result.exit_code == 0
    assert "log sshfacts.example/cli, 46 records" in result.stdout
    file.write_bytes(file.read_bytes().replace(b'"helper"', b'"nobody"', 1))
    assert run(sealed, "verify", str(file), "--key", key_of(sealed)).exit_code == 1


def test_an_export_goes_to_stdout_too(sealed: Path):
    lines = run(sealed, "export").stdout_bytes.splitlines()
    assert json.loads(lines[0])["format"] == "sshfacts-audit-export"
    assert json.loads(lines[-1]) == {"records": 46}


def test_an_export_without_its_newest_records_ends_with_1(sealed: Path):
    append(sealed, 100)
    result = run(sealed, "export", "--until", "2026-11-30T11:00:00Z")
    assert result.exit_code == 1
    assert "records of the period are not sealed yet" in result.stderr


def test_an_export_that_would_not_verify_leaves_no_file(sealed: Path, tmp_path: Path):
    with sqlite(sealed).unguarded() as connection:
        connection.exec_driver_sql("UPDATE audit_entry SET body = replace(body, 'helper', 'other')")
    before = set(tmp_path.iterdir())
    assert run(sealed, "export", "--output", str(tmp_path / "export.jsonl")).exit_code == 2
    assert set(tmp_path.iterdir()) == before


def test_a_table_for_people(sealed: Path, tmp_path: Path):
    file = tmp_path / "export.csv"
    result = run(sealed, "export", "--format", "csv", "--output", str(file))
    assert result.exit_code == 0
    assert "no evidence" in result.stderr
    rows = list(csv.reader(io.StringIO(file.read_text())))
    assert len(rows) == 21
    assert run(sealed, "export", "--format", "csv").stdout == file.read_text()


def test_keys_are_listed_and_replaced(sealed: Path):
    old = key_of(sealed)
    assert run(sealed, "keys", "list").stdout == f"{old}\n"
    new = run(sealed, "keys", "add").stdout.strip()
    assert run(sealed, "keys", "list").stdout == f"{old}\n{new}\n"
    identity = old.split("+")[1]
    assert run(sealed, "keys", "retire", identity).exit_code == 2
    assert run(sealed, "seal").exit_code == 0
    assert run(sealed, "keys", "retire", identity).exit_code == 0
    assert run(sealed, "keys", "list").stdout == f"{new}\n"
    assert run(sealed, "seal").exit_code == 0
    assert run(sealed, "verify").exit_code == 0
    assert run(sealed, "verify", "--key", old).exit_code == 1
