"""Clients from npm against a served site with a real sshd: JS SDK v1, JS client v2 and the MCP inspector."""

import json
import os
import re
import shutil
import subprocess
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from sshfacts.commands.site import load_site
from sshfacts.values import JsonObject
from tests.support.client_story import CALLS, check
from tests.support.live import LiveDoors
from tests.support.sshd import needs_sshd

pytestmark = needs_sshd

CLIENTS = Path(__file__).parent / "clients"
NODE, NPM = shutil.which("node"), shutil.which("npm")
SECONDS = 120
MODERN = "2026-07-28"
INSTALL = ("--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1", "--omit-lockfile-registry-resolved=true")
UNREACHABLE = re.compile(r"ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|ENOTCACHED")


def run(argv: list[str], **options: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=SECONDS, **options)  # type: ignore[call-overload]


@pytest.fixture(scope="session")
def clients(request: pytest.FixtureRequest) -> Path:
    """A folder with the locked packages and our scripts; installed once for each lock."""
    if NODE is None or NPM is None:
        pytest.skip("Node.js is not installed")
    version = run([NODE, "--version"]).stdout
    if int(version.removeprefix("v").split(".")[0]) < 20:
        pytest.skip(f"Node.js is {version.strip()}, and the clients need 20")
    assert request.config.cache is not None
    lock = sha256((CLIENTS / "package-lock.json").read_bytes()).hexdigest()[:16]
    folder = request.config.cache.mkdir(f"clients-{lock}")
    shutil.copytree(CLIENTS, folder, dirs_exist_ok=True)
    if not (folder / "installed").exists():
        # Not `npm ci`: it takes the lock for incomplete, because an optional package of the inspector's is nowhere.
        done = run([NPM, "install", "--omit=optional", *INSTALL], cwd=folder)
        if done.returncode != 0 and UNREACHABLE.search(done.stderr):
            pytest.skip("no npm registry can be reached")
        assert done.returncode == 0, done.stderr
        assert (folder / "package-lock.json").read_text() == (CLIENTS / "package-lock.json").read_text()
        (folder / "installed").touch()
    return folder


def test_the_lock_names_no_registry_and_has_every_hash():
    lock = json.loads((CLIENTS / "package-lock.json").read_text())
    packages = {name: package for name, package in lock["packages"].items() if name}
    assert len(packages) > 3
    assert [name for name, package in packages.items() if "resolved" in package] == []
    assert [name for name, package in packages.items() if "integrity" not in package] == []
    wanted = json.loads((CLIENTS / "package.json").read_text())["dependencies"]
    assert {name: packages[f"node_modules/{name}"]["version"] for name in wanted} == wanted


def tell(clients: Path, script: str, **given: object) -> JsonObject:
    done = run([str(NODE), script, json.dumps({"calls": CALLS, **given})], cwd=clients)
    assert done.returncode == 0, done.stderr
    told: JsonObject = json.loads(done.stdout)
    return told


def reached(doors: LiveDoors, door: str) -> dict[str, object]:
    if door == "http":
        return {"url": doors.mcp_url, "headers": {"Authorization": f"Bearer {doors.tokens['agent']}"}}
    return {"command": doors.stdio(), "env": doors.environment("agent")}


@pytest.fixture(scope="session")
def offered(doors: LiveDoors) -> list[str]:
    site = load_site(doors.root, need_settings=True)
    grants = site.require_settings().callers["agent"].grants
    return [name for name, operation in site.operations.items() if operation.grants <= grants]


@pytest.mark.parametrize("door", ["http", "stdio"])
def test_the_javascript_sdk_v1(clients: Path, doors: LiveDoors, offered: list[str], door: str):
    check(tell(clients, "sdk_v1.mjs", **reached(doors, door)), offered)


@pytest.mark.parametrize("door", ["http", "stdio"])
@pytest.mark.parametrize("negotiation", [None, "auto", {"pin": MODERN}], ids=str)
def test_the_javascript_client_v2(clients: Path, doors: LiveDoors, offered: list[str], door: str, negotiation: object):
    told = tell(clients, "client_v2.mjs", negotiation=negotiation, **reached(doors, door))
    check(told, offered)
    assert (told["protocol"] == MODERN) is (negotiation is not None)


INSPECTOR_FAILED, INSPECTOR_UNAUTHORIZED = 5, 3


def inspect(clients: Path, target: list[str], *words: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run the inspector with a home of its own: it writes its state there."""
    argv = [
        str(clients / "node_modules" / ".bin" / "mcp-inspector"),
        "--cli",
        *target,
        *words,
        "--format",
        "json",
        "-q",
    ]
    return run(argv, cwd=clients, env={**os.environ, "HOME": str(clients), **environment})


def result_in(done: "subprocess.CompletedProcess[str]") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(done.stdout)["result"]
    return found


def target_of(doors: LiveDoors, door: str, token: str) -> list[str]:
    if door == "http":
        return [doors.mcp_url, "--transport", "http", "--header", f"Authorization: Bearer {token}"]
    environment = {**doors.environment("agent"), "SSHFACTS_TOKEN": token}
    pairs = [word for name, value in environment.items() for word in ("-e", f"{name}={value}")]
    return [*pairs, *doors.stdio()]


@pytest.mark.parametrize("door", ["http", "stdio"])
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector(clients: Path, doors: LiveDoors, offered: list[str], door: str, era: str):
    target = [*target_of(doors, door, doors.tokens["agent"]), "--protocol-era", era]

    listed = inspect(clients, target, "--method", "tools/list", "--strict")
    called = inspect(clients, target, "--method", "tools/call", "--tool-name", "host_os", "--tool-arg", "host=web-1")
    denied = inspect(clients, target, "--method", "tools/call", "--tool-name", "host_os", "--tool-arg", "host=nowhere")

    assert listed.returncode == 0, listed.stderr
    assert "Warning" not in listed.stderr
    assert [tool["name"] for tool in result_in(listed)["tools"]] == sorted(offered)
    assert called.returncode == 0, called.stderr
    assert result_in(called)["structuredContent"]["outcome"] == "success"
    assert denied.returncode == INSPECTOR_FAILED
    assert json.loads(result_in(denied)["content"][0]["text"])["error"]["code"] == "DENIED"


def test_the_inspector_without_a_valid_token(clients: Path, doors: LiveDoors):
    wrong = "sf_AAAAAAAAAAAA_" + "x" * 43
    done = inspect(clients, target_of(doors, "http", wrong), "--method", "tools/list")
    assert done.returncode == INSPECTOR_UNAUTHORIZED
