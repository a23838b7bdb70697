"""A key that is exchanged while `sshfacts serve` runs."""

import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from sshfacts.storage.engine import open_for_reading
from sshfacts.storage.queries import story
from tests.support.live import LiveDoors, live_doors
from tests.support.sshd import fingerprint, keygen, needs_sshd, public_line

pytestmark = needs_sshd


@pytest.fixture
def doors(tmp_path: Path) -> Iterator[LiveDoors]:
    """Doors of one test, whose key it exchanges."""
    with live_doors(tmp_path) as doors:
        yield doors


def _key_of_a_call(doors: LiveDoors) -> str:
    """Make a call, and return the fingerprint of the key that it was made with."""
    headers = {"Authorization": f"Bearer {doors.tokens['agent']}"}
    answer = httpx2.post(
        f"{doors.serving.url}/v1/operations/host_os", json={"host": "web-1"}, headers=headers, timeout=60
    )
    assert answer.json()["outcome"] == "success"
    outcome = story(open_for_reading(doors.database_url), answer.json()["request_id"])[-1]
    return str(outcome["key_fingerprint"])


def _hang_up(doors: LiveDoors) -> str:
    """Send SIGHUP, and return what the service says to it."""
    before = len(doors.serving.log)
    doors.serving.process.send_signal(signal.SIGHUP)
    end = time.monotonic() + 30
    while not any("credentials" in line for line in doors.serving.log[before:]):
        assert time.monotonic() < end
        time.sleep(0.02)
    return next(line for line in doors.serving.log[before:] if "credentials" in line)


def test_a_new_key_is_used_after_a_hangup_and_a_bad_one_is_not(doors: LiveDoors, tmp_path: Path):
    old, new = doors.root / "key", keygen(tmp_path / "new")
    assert _key_of_a_call(doors) in fingerprint(old)

    (tmp_path / "sshd" / "authorized_keys").write_text(f"{public_line(new)}\n")
    for suffix in ("", ".pub"):
        shutil.copy(f"{new}{suffix}", f"{old}{suffix}")
    old.chmod(0o644)
    assert "credentials stay as they were: credential key: " in _hang_up(doors)

    old.chmod(0o600)
    assert "credentials read anew; changed: key" in _hang_up(doors)
    assert _key_of_a_call(doors) in fingerprint(new)
    assert doors.serving.end() == 0
