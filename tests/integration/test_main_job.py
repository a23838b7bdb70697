"""The main job on a real sshd: a named operation, from the command line to recorded facts."""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.command_line import RUN, envelope_of, sshfacts
from tests.support.sites import CONTRACTS, DISK
from tests.support.sshd import Sshd, keygen, needs_sshd, public_line

pytestmark = needs_sshd

SETTINGS = """\
version = 1
[service]
name = "test"
[credentials.key]
key_file = "key"
[hosts.web-1]
address = "127.0.0.1"
port = {port}
user = "{user}"
credential = "key"
host_keys = ["{host_key}"]
groups = ["linux"]
[callers.agent]
grants = ["host.read", "disk.read"]
host_groups = ["linux"]
"""


@dataclass(frozen=True)
class LiveSite:
    """A site folder whose one host is a real sshd, and a token of its agent."""

    root: Path
    token: str

    def call(self, *words: str) -> "subprocess.CompletedProcess[str]":
        return sshfacts("call", *words, "--host", "web-1", "--site", str(self.root), token=self.token)

    def listed(self) -> list[dict[str, object]]:
        done = sshfacts("audit", "list", "--json", "--site", str(self.root))
        return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveSite]:
    root = tmp_path_factory.mktemp("site")
    key = keygen(root / "key")
    with Sshd(tmp_path_factory.mktemp("sshd"), public_line(key) + "\n") as sshd:
        (root / "commands").mkdir()
        (root / "commands" / "site.toml").write_text('name = "test"\nformat = 1\nbuiltin = "all"\n')
        (root / "commands" / "hang.yaml").write_text(
            DISK.replace("[print-disks]", '[sleep, "30"]').replace("seconds: 5", "seconds: 60")
        )
        for name in ("disk/document.v1", "disk/facts.v1"):
            path = root / "schemas" / f"{name}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(CONTRACTS[name]))
        settings = SETTINGS.format(port=sshd.port, user=sshd.user, host_key=public_line(sshd.host_key))
        (root / "sshfacts.toml").write_text(settings)
        token = sshfacts("tokens", "add", "agent", "--site", str(root)).stdout.strip()
        yield LiveSite(root, token)


def _has_file_systems() -> bool:
    if shutil.which("findmnt") is None:
        return False
    return subprocess.run(["findmnt", "--real"], capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not _has_file_systems(), reason="findmnt finds no file system on this machine, as in a container")
def test_disk_usage_returns_the_true_numbers(live: LiveSite):
    done = live.call("disk_usage")

    assert (done.returncode, done.stderr) == (0, "")
    data = envelope_of(done)["data"]
    assert data["filesystems"]
    for row in data["filesystems"]:
        truth = os.statvfs(row["mount"])
        assert row["size_bytes"] == truth.f_blocks * truth.f_frsize
        # Other processes write to these file systems while the test runs.
        tolerance = max(64 * 1024 * 1024, row["size_bytes"] // 100)
        assert abs(row["available_bytes"] - truth.f_bavail * truth.f_frsize) <= tolerance
        assert abs(row["used_bytes"] - (truth.f_blocks - truth.f_bfree) * truth.f_frsize) <= tolerance


def test_memory_usage_returns_the_true_total(live: LiveSite):
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")

    assert envelope_of(live.call("memory_usage"))["data"]["total_bytes"] == total


def test_every_call_is_in_the_record_with_both_keys(live: LiveSite):
    envelope = envelope_of(live.call("host_os"))

    shown = sshfacts("audit", "show", str(envelope["request_id"]), "--json", "--site", str(live.root))
    intent, outcome = map(json.loads, shown.stdout.splitlines())
    assert intent["command"].endswith("cat /etc/os-release")
    assert outcome["stdout"]["bytes"] == Path("/etc/os-release").stat().st_size
    assert outcome["host_key"].startswith("SHA256:")
    assert outcome["key_fingerprint"].startswith("SHA256:")
    assert outcome["host_key"] != outcome["key_fingerprint"]
    row = next(row for row in live.listed() if row["request_id"] == envelope["request_id"])
    assert (row["caller"], row["operation"], row["host"], row["state"]) == ("agent", "host_os", "web-1", "success")


def test_a_call_without_the_grant_is_denied_and_not_run(live: LiveSite):
    done = live.call("net_addresses")

    assert done.returncode == 1
    assert envelope_of(done)["error"] == {"code": "DENIED", "retryable": False}


def test_a_service_that_is_killed_leaves_an_open_intent(live: LiveSite):
    words = ("call", "hang", "--host", "web-1", "--site", str(live.root))
    environment = {**os.environ, "SSHFACTS_TOKEN": live.token}
    process = subprocess.Popen([*RUN, *words], env=environment, stdout=subprocess.PIPE, start_new_session=True)
    deadline = time.monotonic() + 30
    while not any(row["operation"] == "hang" for row in live.listed()):
        assert time.monotonic() < deadline, "no intent was recorded"
    process.send_signal(signal.SIGKILL)
    process.communicate()

    row = next(row for row in live.listed() if row["operation"] == "hang")
    assert row["state"] == "may have run"
    table = sshfacts("audit", "list", "--site", str(live.root)).stdout
    assert "may have run" in table


def test_a_wrong_token_is_refused_and_shown_nowhere(live: LiveSite):
    wrong = "sf_AAAAAAAAAAAA_" + "x" * 43

    done = sshfacts("call", "host_os", "--host", "web-1", "--site", str(live.root), token=wrong)

    assert (done.returncode, done.stdout) == (2, "")
    assert "not valid" in done.stderr
    assert wrong not in done.stderr


def test_a_revoked_token_is_refused_at_once(live: LiveSite):
    token = sshfacts("tokens", "add", "agent", "--site", str(live.root)).stdout.strip()
    assert sshfacts("tokens", "revoke", token.split("_")[1], "--site", str(live.root)).returncode == 0

    done = sshfacts("call", "host_os", "--host", "web-1", "--site", str(live.root), token=token)

    assert (done.returncode, done.stdout) == (2, "")


def _mounts(live: LiveSite, *, full: bool, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Call with the database on a file system of its own that takes no more bytes."""
    site = folder / "site"
    shutil.copytree(live.root, site, ignore=shutil.ignore_patterns("audit.db*"))
    disk = folder / "disk"
    disk.mkdir()
    settings = site / "sshfacts.toml"
    settings.write_text(settings.read_text() + f'\n[database]\nurl = "sqlite:///{disk}/audit.db"\n')
    script = f"""
    mount -t tmpfs -o size=256k tmpfs {disk} || exit 77
    cp {live.root}/audit.db {disk}/audit.db 2>/dev/null
    {"cat /dev/zero > " + str(disk) + "/fill 2>/dev/null" if full else f"mount -o remount,ro {disk}"}
    exec "$@"
    """
    words = ("call", "host_os", "--host", "web-1", "--site", str(site))
    return subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, "sh", *RUN, *words],
        env={**os.environ, "SSHFACTS_TOKEN": live.token},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def _can_mount() -> bool:
    return os.getuid() == 0 and subprocess.run(["unshare", "--mount", "true"], check=False).returncode == 0


@pytest.mark.skipif(not _can_mount(), reason="only root can mount a file system, and not in every sandbox")
@pytest.mark.parametrize("full", [True, False], ids=["full", "read-only"])
def test_with_a_database_that_cannot_be_written_nothing_is_run(live: LiveSite, tmp_path: Path, full: bool):
    done = _mounts(live, full=full, folder=tmp_path)

    if done.returncode == 77:
        pytest.skip("this sandbox lets nobody mount a file system")
    assert done.returncode == 1, done.stderr
    assert envelope_of(done)["error"] == {"code": "AUDIT_UNAVAILABLE", "retryable": True}
