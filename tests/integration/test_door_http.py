"""The HTTP door as curl and schemathesis see it, on a served site with a real sshd."""

import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.live import LiveDoors
from tests.support.sshd import needs_sshd

pytestmark = needs_sshd

CURL = shutil.which("curl")
SECONDS = 240


def curl(doors: LiveDoors, path: str, *words: str, token: str | None = None) -> tuple[int, str]:
    """Return status and body of one request."""
    if CURL is None:
        pytest.skip("curl is not installed")
    headers = ["--header", f"Authorization: Bearer {token}"] if token else []
    argv = [CURL, "--silent", "--write-out", "\n%{http_code}", *headers, *words, f"{doors.serving.url}{path}"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=SECONDS)
    body, _, status = done.stdout.rpartition("\n")
    return int(status), body


def test_a_call_by_curl(doors: LiveDoors):
    body = '{"host": "web-1"}'

    status, text = curl(doors, "/v1/operations/memory_usage", "--json", body, token=doors.tokens["agent"])

    envelope = json.loads(text)
    assert status == 200
    assert envelope["data"]["total_bytes"] == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    row = doors.rows()[0]
    assert (row.request_id, row.caller, row.operation, row.host) == (
        envelope["request_id"],
        "agent",
        "memory_usage",
        "web-1",
    )


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ('{"host": "web-1", "host": "web-2"}', 400, "BODY_DUPLICATE_NAME"),
        ('{"host": NaN}', 400, "BODY_NOT_JSON"),
        ('{"host": ' + "[" * 100 + "]" * 100 + "}", 400, "BODY_TOO_DEEP"),
        ('{"host": "' + "x" * 70_000 + '"}', 413, "BODY_TOO_LARGE"),
        ('{"host": "nowhere"}', 404, "DENIED"),
        ('{"host": "web-1", "port": 22}', 422, "INVALID_ARGUMENTS"),
    ],
    ids=["duplicate", "NaN", "deep", "large", "unknown host", "unknown argument"],
)
def test_each_flaw_has_its_code(doors: LiveDoors, body: str, status: int, code: str):
    found, text = curl(doors, "/v1/operations/host_os", "--json", body, token=doors.tokens["agent"])
    assert (found, json.loads(text)["error"]["code"]) == (status, code)


def test_without_a_token_there_is_a_challenge(doors: LiveDoors):
    status, text = curl(doors, "/v1/operations/host_os", "--json", "{}", "--include")
    assert status == 401
    assert "www-authenticate: Bearer" in text


@pytest.mark.parametrize("header", ["Host: evil.example", "Origin: https://evil.example"])
def test_a_web_page_cannot_call(doors: LiveDoors, header: str):
    status, text = curl(
        doors, "/v1/operations/host_os", "--header", header, "--json", '{"host": "web-1"}', token=doors.tokens["agent"]
    )
    assert (status, json.loads(text)["error"]["code"]) in [(421, "HOST_REFUSED"), (403, "ORIGIN_REFUSED")]


def test_schemathesis_finds_nothing(doors: LiveDoors, tmp_path: Path):
    argv = [
        str(Path(sys.executable).with_name("schemathesis")),
        "run",
        f"{doors.serving.url}/v1/openapi.json",
        *("--header", f"Authorization: Bearer {doors.tokens['agent']}"),
        *("--checks", "all", "--max-examples", "25", "--seed", "1"),
        # Those that answer on any machine: what a missing tool or a missing systemd gives is rightly a server error.
        *(word for name in ("host_os", "host_load", "memory_usage") for word in ("--include-operation-id", name)),
    ]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=SECONDS)
    assert done.returncode == 0, done.stdout
    assert "Tested: 3" in done.stdout


def test_the_answer_is_about_this_machine(doors: LiveDoors):
    _, text = curl(doors, "/v1/operations/host_os", "--json", '{"host": "web-1"}', token=doors.tokens["agent"])
    release = platform.freedesktop_os_release()
    assert json.loads(text)["data"]["id"] == release["ID"]
