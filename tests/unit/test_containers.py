"""The container files, by what can be told without a container engine: their schema, and our own rules.

That their commands work is tried by `tests/integration/test_containers.py`, which runs them outside a container.
"""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.support.containers import ROOT, compose, instructions, words

COMPOSE = compose()
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
SCHEMA = json.loads((ROOT / "tests" / "data" / "compose-spec.json").read_text(encoding="utf-8"))
DOCKERFILES = [ROOT / "Dockerfile", ROOT / "deploy" / "target" / "Dockerfile"]
ONE_SHOT = {"migrate", "purge"}

each_service = pytest.mark.parametrize("name", sorted(SERVICES))
each_dockerfile = pytest.mark.parametrize("file", DOCKERFILES, ids=lambda file: str(file.relative_to(ROOT)))


def test_the_compose_file_is_one():
    jsonschema.Draft202012Validator(SCHEMA).validate(COMPOSE)


def test_the_schema_refuses_what_is_no_compose_file():
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(SCHEMA).validate({**COMPOSE, "services": {"one": {"imag": "x"}}})


@each_service
def test_a_service_can_do_nothing_that_it_need_not(name: str):
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not {"privileged", "cap_add", "devices", "network_mode", "pid", "ipc", "userns_mode"} & service.keys()
    assert str(service["user"]).split(":")[0] not in ("", "0", "root")


@each_service
def test_a_service_that_goes_on_is_looked_after(name: str):
    service = SERVICES[name]
    assert ("healthcheck" in service) == (name not in ONE_SHOT)
    assert service["restart"] == ("no" if name in ONE_SHOT else "unless-stopped")


@each_service
def test_secrets_are_files_and_stand_in_no_variable(name: str):
    variables = SERVICES[name].get("environment", {})
    assert [key for key in variables if re.search("PASSWORD|SECRET|TOKEN|KEY", key) and not key.endswith("_FILE")] == []
    for secret in SERVICES[name].get("secrets", []):
        assert secret in COMPOSE["secrets"]


def test_each_secret_is_made_by_the_script_and_used_by_a_service():
    used = {secret for service in SERVICES.values() for secret in service.get("secrets", [])}
    assert used == COMPOSE["secrets"].keys()
    for name, secret in COMPOSE["secrets"].items():
        assert secret == {"file": f"./deploy/run/secrets/{name}"}


def test_a_service_gets_no_secret_that_another_one_needs():
    assert SERVICES["service"]["secrets"] == ["database-service.password", "agent-key", "raw-1.key"]
    assert SERVICES["migrate"]["secrets"] == ["database-migration.password"]
    assert SERVICES["purge"]["secrets"] == ["database-purger.password"]


@each_service
def test_what_is_mounted_from_the_checkout_is_read_only_and_there(name: str):
    for volume in SERVICES[name].get("volumes", []):
        source, target, *options = volume.split(":")
        if source in COMPOSE["volumes"]:
            continue
        assert options == ["ro"], target
        assert source.startswith("./deploy/run/") or (ROOT / source).exists()


def test_only_this_machine_reaches_the_service_and_nothing_else_is_reached():
    assert {name: service["ports"] for name, service in SERVICES.items() if "ports" in service} == {
        "service": ["127.0.0.1:8722:8722"]
    }
    assert {name for name, network in COMPOSE["networks"].items() if not network.get("internal")} == {"front"}
    assert [name for name, service in SERVICES.items() if "front" in service["networks"]] == ["service"]
    assert not set(SERVICES["target"]["networks"]) & set(SERVICES["database"]["networks"])


def test_nothing_starts_before_what_it_needs():
    assert SERVICES["migrate"]["depends_on"] == {"database": {"condition": "service_healthy"}}
    assert SERVICES["service"]["depends_on"]["migrate"] == {"condition": "service_completed_successfully"}


@each_service
def test_images_of_others_have_a_version(name: str):
    service = SERVICES[name]
    if "build" not in service:
        assert re.search(r":[0-9][^:@]*$", service["image"])


def test_the_health_check_of_the_image_is_that_of_the_service():
    [check] = [rest for word, rest in instructions(ROOT / "Dockerfile") if word == "HEALTHCHECK"]
    assert json.loads(check.partition("CMD ")[2]) == words(SERVICES["service"]["healthcheck"]["test"])


@each_dockerfile
def test_an_image_is_made_of_versions_and_runs_as_nobody_in_particular(file: Path):
    found = instructions(file)
    images = [rest.split()[0] for word, rest in found if word == "FROM"]
    assert all(re.search(r":[a-z0-9]", image) and "latest" not in image for image in images)
    users = [index for index, (word, _) in enumerate(found) if word == "USER"]
    assert found[users[-1]][1] not in ("root", "0")
    assert users[-1] > max(index for index, (word, _) in enumerate(found) if word in ("RUN", "COPY"))
    assert "ADD" not in dict(found)


@each_dockerfile
def test_an_image_starts_its_program_without_a_shell(file: Path):
    for word, rest in instructions(file):
        if word in ("ENTRYPOINT", "CMD"):
            assert isinstance(json.loads(rest), list)
        if word == "HEALTHCHECK":
            assert isinstance(json.loads(rest.partition("CMD ")[2]), list)


@each_dockerfile
def test_what_an_image_installs_is_locked_or_of_its_release(file: Path):
    runs = " ".join(rest for word, rest in instructions(file) if word == "RUN")
    assert runs.count("pip install") == runs.count("--require-hashes") + runs.count("--no-deps --no-build-isolation")
    assert (
        runs.count("apt-get install")
        == runs.count("--no-install-recommends")
        == runs.count("rm -rf /var/lib/apt/lists")
    )
    assert not re.search(r"curl|wget|--break-system-packages|chmod (-R )?777", runs)


def test_the_build_gets_what_it_copies_and_nothing_else():
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    allowed = {line.removeprefix("!") for line in lines if line.startswith("!")}
    assert lines[1] == "*"
    copied = [
        rest.split()[:-1] for word, rest in instructions(ROOT / "Dockerfile") if word == "COPY" and "--from" not in rest
    ]
    assert {source for sources in copied for source in sources} == allowed
    assert [source for source in allowed if not (ROOT / source).exists()] == []


def test_the_image_of_the_target_copies_what_is_there():
    folder = ROOT / "deploy" / "target"
    assert [rest for word, rest in instructions(folder / "Dockerfile") if word == "COPY"] == [
        "sshd_config /etc/ssh/facts_sshd_config"
    ]
    assert (folder / "sshd_config").is_file()


def test_the_login_of_each_role_has_a_password_of_its_own():
    logins = re.findall(
        r"^make_login (\w+) (\w+)$", (ROOT / "deploy" / "database" / "logins.sh").read_text(), re.MULTILINE
    )
    secrets = SERVICES["database"]["secrets"]
    assert sorted([*(f"database-{login}.password" for login, _ in logins), "database-admin.password"]) == sorted(
        secrets
    )
    roles = (ROOT / "storage" / "roles" / "create.sql").read_text(encoding="utf-8")
    assert [role for _, role in logins if f"'{role}'" not in roles] == []
