"""`sshfacts serve` and `sshfacts mcp`: what stops them before they serve anybody."""

from pathlib import Path

import pytest

from sshfacts.ssh.embedded import new_key
from sshfacts.storage.engine import open_for_writing, prepare
from tests.support.command_line import sshfacts
from tests.support.sites import SETTINGS, SiteFiles

WRONG = "sf_AAAAAAAAAAAA_" + "x" * 43


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = SiteFiles(tmp_path / "site").write()
    new_key(folder / "key")
    prepare(open_for_writing(f"sqlite:///{folder}/audit.db"))
    return folder


def test_mcp_needs_a_token(root: Path):
    done = sshfacts("mcp", "--site", str(root))
    assert (done.returncode, done.stdout) == (2, "")
    assert "SSHFACTS_TOKEN" in done.stderr


def test_mcp_refuses_a_token_that_is_not_valid_and_does_not_show_it(root: Path):
    done = sshfacts("mcp", "--site", str(root), token=WRONG)
    assert (done.returncode, done.stdout) == (2, "")
    assert "the token is not valid" in done.stderr
    assert "xxxx" not in done.stderr


@pytest.mark.parametrize("command", ["serve", "mcp"])
def test_a_site_with_a_finding_is_not_served(root: Path, command: str):
    (root / "sshfacts.toml").write_text(SETTINGS.replace('name = "test"', 'name = "test"\nlisten = "0.0.0.0:80"'))
    done = sshfacts(command, "--site", str(root), token=WRONG)
    assert (done.returncode, done.stdout) == (2, "")
    assert "error[settings.allowed_hosts]" in done.stderr


@pytest.mark.parametrize("command", ["serve", "mcp"])
def test_without_its_key_nothing_is_served(root: Path, command: str):
    (root / "key").unlink()
    done = sshfacts(command, "--site", str(root), token=WRONG)
    assert (done.returncode, done.stdout) == (2, "")
    assert "error[settings.credential]" in done.stderr


def test_a_database_that_cannot_be_made_stops_the_service(root: Path):
    settings = SETTINGS + '\n[database]\nurl = "sqlite:///nowhere/audit.db"\n'
    (root / "sshfacts.toml").write_text(settings)
    done = sshfacts("serve", "--site", str(root))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr
