"""Raw copies at the command line: keys, reading, judging again, removing."""

import asyncio
from pathlib import Path

import pytest

from sshfacts.call import Pipeline
from sshfacts.commands.site import load_site
from sshfacts.permission.request import Request
from sshfacts.storage import tokens
from sshfacts.storage.engine import open_for_reading, open_for_writing
from sshfacts.storage.ledger import Actor
from sshfacts.storage.queries import story
from sshfacts.storage.recorder import open_recorder
from tests.support.command_line import inside, sshfacts
from tests.support.sites import DISK, SETTINGS, SiteFiles
from tests.support.transports import CannedTransport

HOSTILE = b'{"mounts": [], "zz": "\x1b[2J\xff"}\n'
PEOPLE = '[people.rita]\nroles = ["raw_reader"]\n[people.otto]\nroles = ["auditor", "operator", "approver"]\n'
RAW = '[raw]\nkey_files = ["raw-1.key"]\n'


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site whose key was made at the command line."""
    root = SiteFiles(tmp_path_factory.mktemp("site"), {"disk": DISK}, settings=SETTINGS + PEOPLE + RAW).write()
    made = inside("audit", "raw-keys", "new", str(root / "raw-1.key"))
    assert made.returncode == 0
    assert "raw-1" in made.stderr
    return root


@pytest.fixture(scope="module")
def request_id(root: Path) -> str:
    """A call whose output was refused."""

    async def call() -> str:
        site = load_site(root, need_settings=True)
        settings = site.require_settings()
        async with open_recorder(settings.database_url) as recorder:
            pipeline = Pipeline(site, CannedTransport(HOSTILE), recorder)
            request = Request("disk", "web-1", {})
            envelope = await pipeline.call(settings.callers["agent"], request, "test")
            await pipeline.close()
            return str(envelope["request_id"])

    return asyncio.run(call())


def token_of(root: Path, person: str) -> str:
    return tokens.add_for_person(open_for_writing(f"sqlite:///{root}/audit.db"), person, Actor(None, "test"))


def reasons(root: Path, request_id: str) -> list[object]:
    bodies = story(open_for_reading(f"sqlite:///{root}/audit.db"), request_id)
    return [(body["person"], body["reason"]) for body in bodies if body["kind"] == "raw_read"]


def test_a_copy_is_given_to_a_raw_reader_byte_for_byte(root: Path, request_id: str, tmp_path: Path):
    token, file = token_of(root, "rita"), tmp_path / "kept.out"
    done = sshfacts("audit", "raw", request_id, "--site", str(root), "--output", str(file), token=token)

    assert (done.returncode, done.stdout) == (0, "")
    assert file.read_bytes() == HOSTILE
    assert file.stat().st_mode & 0o777 == 0o600
    assert ("rita", "read") in reasons(root, request_id)
    again = inside("audit", "raw", request_id, "--site", str(root), "--output", str(file), token=token)
    assert (again.returncode, len(reasons(root, request_id))) == (2, 1)


def test_stdout_gets_the_bytes_only_when_it_is_asked_for(root: Path, request_id: str):
    before = len(reasons(root, request_id))
    done = inside("audit", "raw", request_id, "--site", str(root), token=token_of(root, "rita"))
    assert (done.returncode, done.stdout) == (2, "")
    assert "--stdout" in done.stderr
    assert len(reasons(root, request_id)) == before


@pytest.mark.parametrize("person", ["otto", None])
def test_nobody_else_gets_a_byte_and_there_is_nothing_to_record(root: Path, request_id: str, person: str | None):
    before = reasons(root, request_id)
    token = token_of(root, person) if person is not None else "sft_unknown_token"
    done = inside("audit", "raw", request_id, "--site", str(root), "--stdout", token=token)
    assert (done.returncode, done.stdout) == (2, "")
    assert reasons(root, request_id) == before


def test_a_call_is_judged_again_and_comes_to_the_same_end(root: Path, request_id: str):
    done = inside("audit", "replay", request_id, "--site", str(root), token=token_of(root, "rita"))
    assert done.returncode == 0, done.stderr
    assert "the same again: output.encoding" in done.stdout
    assert ("rita", "replay") in reasons(root, request_id)


def test_a_folder_without_the_operation_of_that_time_is_told_so(root: Path, request_id: str, tmp_path: Path):
    now = SiteFiles(tmp_path / "now", {"disk": DISK.replace("8KiB", "9KiB")}).write()
    words = ("audit", "replay", request_id, "--site", str(root), "--operations", str(now))
    done = inside(*words, token=token_of(root, "rita"))
    assert done.returncode == 2
    assert load_site(root, need_settings=False).operations["disk"].digest in done.stderr


def test_keys_are_listed_and_replaced(root: Path, request_id: str, tmp_path: Path):
    assert request_id
    new = tmp_path / "raw-2.key"
    assert inside("audit", "raw-keys", "new", str(new)).returncode == 0
    other = SiteFiles(tmp_path / "site", {"disk": DISK}).write()
    database = f'[database]\nurl = "sqlite:///{root}/audit.db"\n'
    settings = SETTINGS + database + f'[raw]\nkey_files = ["{new}", "{root}/raw-1.key"]\n'
    (other / "sshfacts.toml").write_text(settings)

    assert "raw-1" in inside("audit", "raw-keys", "list", "--site", str(other)).stdout
    done = inside("audit", "raw-keys", "rewrap", "--site", str(other))
    assert "1 copies are wrapped by raw-2 now" in done.stderr
    assert inside("audit", "raw-keys", "list", "--site", str(root)).stdout.count("not in raw.key_files") == 1
    lacking = inside("audit", "raw-keys", "rewrap", "--site", str(root))
    assert lacking.returncode == 2
    assert "raw-2" in lacking.stderr
    (other / "sshfacts.toml").write_text(SETTINGS + database + f'[raw]\nkey_files = ["{root}/raw-1.key", "{new}"]\n')
    assert "wrapped by raw-1 now" in inside("audit", "raw-keys", "rewrap", "--site", str(other)).stderr


def test_purge_removes_nothing_before_its_time(root: Path, request_id: str):
    assert request_id
    assert request_id not in inside("audit", "purge", "--dry-run", "--site", str(root)).stdout
    done = inside("audit", "purge", "--site", str(root))
    assert (done.returncode, done.stderr) == (0, "0 copies were removed\n")


def test_doctor_says_when_nothing_is_kept_and_when_a_key_is_missing(root: Path, tmp_path: Path):
    without = SiteFiles(tmp_path / "site", {"disk": DISK}).write()
    (without / "sshfacts.toml").write_text(f'{SETTINGS}[database]\nurl = "sqlite:///{root}/audit.db"\n')
    told = inside("audit", "doctor", "--site", str(without))
    assert told.returncode == 0
    assert "refused outputs are not kept" in told.stdout
    (without / "sshfacts.toml").write_text(f'{SETTINGS}[database]\nurl = "sqlite:///{root}/audit.db"\n{RAW}')
    told = inside("audit", "doctor", "--site", str(without))
    assert told.returncode == 1
    assert "ENOENT" in told.stdout
