"""Every step of `docker-compose.yml`, run outside a container: the files it mounts, its commands, its health checks."""

import getpass
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.command_line import sshfacts
from tests.support.containers import ROOT, compose, words
from tests.support.postgresql import ACCOUNT, Cluster, needs_postgresql
from tests.support.serving import Serving
from tests.support.sshd import SSHD, needs_sshd

pytestmark = [needs_postgresql, needs_sshd]

SERVICES = compose()["services"]
SECONDS = 30


@dataclass(frozen=True)
class Place:
    """Where the parts of the Compose file are in this test."""

    folder: Path
    database: Cluster
    target_port: int

    @property
    def secrets(self) -> Path:
        return self.folder / "deploy" / "run" / "secrets"

    @property
    def site(self) -> Path:
        return self.folder / "deploy" / "run" / "site"

    def here(self, text: str) -> str:
        """Return a text of the Compose file or of a mounted file, with the addresses and paths of this test."""
        for there, here in (
            ("/run/secrets", str(self.secrets)),
            ("@database/", f"@127.0.0.1:{self.database.port}/"),
            ("0.0.0.0:8722", "127.0.0.1:0"),
            ('"target"', '"127.0.0.1"'),
            ("2222", str(self.target_port)),
            ('"facts"', f'"{getpass.getuser()}"'),
        ):
            text = text.replace(there, here)
        return str(self.site) if text == "/site" else text

    def command_of(self, name: str) -> list[str]:
        return [self.here(word) for word in words(SERVICES[name]["command"])]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """The mounted files as the script makes them, and an empty server whose entry point has run."""
    folder = tmp_path_factory.mktemp("compose")
    subprocess.run([ROOT / "scripts" / "compose-files", folder], check=True, timeout=SECONDS, capture_output=True)
    with Cluster() as database, socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        made = Place(folder, database, probe.getsockname()[1])
        probe.close()
        for path in (folder / "deploy" / "run").rglob("*"):
            os.chown(path, os.getuid(), os.getgid())  # root gave them to the user of the containers
        settings = made.site / "sshfacts.toml"
        settings.write_text(made.here(settings.read_text()))
        _enter(made)
        yield made


def _enter(place: Place) -> None:
    """Do what the entry point of PostgreSQL's image does: make the database, and run the mounted files by name."""
    given = SERVICES["database"]["environment"]
    with place.database.connect() as connection:
        connection.execute(f"CREATE DATABASE {given['POSTGRES_DB']} TEMPLATE template0 ENCODING 'UTF8'".encode())
    server = {"PGHOST": str(place.database.folder), "PGPORT": str(place.database.port)}
    environment = {**os.environ, **server, "SECRETS": str(place.secrets), "POSTGRES_USER": ACCOUNT}
    environment["POSTGRES_DB"] = given["POSTGRES_DB"]
    mounts = [volume.split(":")[:2] for volume in SERVICES["database"]["volumes"]]
    scripts = sorted((target, source) for source, target in mounts if "initdb.d" in target)
    for target, source in scripts:
        file = str(ROOT / source)
        psql = [
            "psql",
            "--set=ON_ERROR_STOP=1",
            "--username",
            ACCOUNT,
            "--dbname",
            given["POSTGRES_DB"],
            "--file",
            file,
        ]
        argv = [file] if target.endswith(".sh") else psql
        subprocess.run(argv, env=environment, check=True, timeout=SECONDS, capture_output=True)


@contextmanager
def _target(place: Place) -> Iterator[None]:
    """Run sshd with the configuration of the image, for the user who runs the tests."""
    text = place.here((ROOT / "deploy" / "target" / "sshd_config").read_text(encoding="utf-8"))
    text = text.replace("AllowUsers facts", f"AllowUsers {getpass.getuser()}")
    if os.getuid() == 0:
        text = text.replace("PermitRootLogin no", "PermitRootLogin prohibit-password")
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    config = place.folder / "sshd_config"
    config.write_text(f"ListenAddress 127.0.0.1\nStrictModes no\n{text}")
    with (place.folder / "sshd.log").open("ab") as log:
        process = subprocess.Popen([str(SSHD), "-D", "-e", "-f", str(config)], stderr=log)
    try:
        end = time.monotonic() + SECONDS
        while _check("target", place).returncode != 0:
            assert process.poll() is None, (place.folder / "sshd.log").read_text()
            assert time.monotonic() < end
        yield
    finally:
        process.terminate()
        process.wait(SECONDS)


def _check(name: str, place: Place, url: str = "http://127.0.0.1:9") -> subprocess.CompletedProcess[bytes]:
    """Run the health check of a service."""
    argv = [
        place.here(word).replace("http://127.0.0.1:8722", url) for word in words(SERVICES[name]["healthcheck"]["test"])
    ]
    argv[0] = sys.executable if argv[0] == "python" else argv[0]
    return subprocess.run(argv, check=False, capture_output=True, timeout=SECONDS)


def _call(url: str, token: str, operation: str) -> dict[str, object]:
    request = urllib.request.Request(  # noqa: S310 - an address of ours
        f"{url}/v1/operations/{operation}",
        data=json.dumps({"host": "target"}).encode(),
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=SECONDS) as response:  # noqa: S310 - an address of ours
        answer: dict[str, object] = json.load(response)
    return answer


def test_the_files_are_made_once_and_are_open_to_nobody_else(tmp_path: Path):
    script = ROOT / "scripts" / "compose-files"
    subprocess.run([script, tmp_path], check=True, timeout=SECONDS, capture_output=True)
    again = subprocess.run([script, tmp_path], check=False, timeout=SECONDS, capture_output=True)
    assert again.returncode == 1
    owner = dict(line.split("=") for line in (tmp_path / ".env").read_text().splitlines())
    assert owner["SSHFACTS_UID"] != "0"
    run = tmp_path / "deploy" / "run"
    assert {path.stat().st_uid for path in run.rglob("*")} == {int(owner["SSHFACTS_UID"])}
    modes = {path.name: path.stat().st_mode & 0o777 for path in (run / "secrets").iterdir()}
    assert {mode for name, mode in modes.items() if name.endswith(".password")} == {0o640}
    assert {mode for name, mode in modes.items() if not name.endswith(".password")} == {0o600}
    assert compose()["secrets"].keys() <= modes.keys()


def test_the_configuration_of_the_target_is_one(place: Place):
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    config = place.folder / "tried_sshd_config"
    config.write_text(place.here((ROOT / "deploy" / "target" / "sshd_config").read_text(encoding="utf-8")))
    tried = subprocess.run([str(SSHD), "-t", "-f", str(config)], check=False, capture_output=True, timeout=SECONDS)
    assert (tried.returncode, tried.stderr) == (0, b"")


def test_from_nothing_to_facts_over_http(place: Place):
    migrated = sshfacts(*place.command_of("migrate"))
    assert migrated.returncode == 0, migrated.stderr
    site = str(place.site)
    assert sshfacts("audit", "doctor", "--site", site).returncode == 0
    token = sshfacts("tokens", "add", "demo", "--site", site).stdout.strip()
    assert token
    assert place.command_of("service") == ["serve", "--site", site]
    assert _check("service", place).returncode != 0

    with _target(place), Serving(place.site) as serving:
        end = time.monotonic() + SECONDS
        while _check("service", place, serving.url).returncode != 0:
            assert time.monotonic() < end, serving.log
        envelope = _call(serving.url, token, "host_os")
        assert envelope["outcome"] == "success", (envelope, (place.folder / "sshd.log").read_text())
        assert serving.end() == 0

    purged = sshfacts(*place.command_of("purge"))
    assert (purged.returncode, purged.stderr) == (0, "0 copies were removed\n")
    password = str(place.secrets / "database-auditor.password")
    auditor = place.here("postgresql://facts_auditor@database/audit")
    shown = sshfacts("audit", "show", str(envelope["request_id"]), "--url", auditor, "--password-file", password)
    assert "facts     ok" in shown.stdout


def test_the_programs_of_the_health_checks_are_there():
    assert shutil.which("ssh-keyscan")
    assert words(SERVICES["database"]["healthcheck"]["test"])[0] == "pg_isready"
