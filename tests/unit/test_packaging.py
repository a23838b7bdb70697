"""What is built is what is checked: contents of the wheel, and the built-in site wherever the package stands."""

import subprocess
import sys
import sysconfig
import tomllib
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from sshfacts.builtin import builtin_site

ROOT = Path(__file__).parents[2]
CONTENT = ("adapters", "commands", "schemas", "storage")


def build(source: Path, target: str, destination: Path) -> Path:
    """Build with the locked backend of this environment, as an install without isolation does."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(destination)]
    subprocess.run(command, cwd=source, check=True, timeout=120)
    (built,) = destination.iterdir()
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, "wheel", tmp_path_factory.mktemp("wheel"))


def names(wheel: Path) -> set[str]:
    with ZipFile(wheel) as archive:
        return set(archive.namelist())


def content_files() -> set[str]:
    """Every file of the four folders, relative to the checkout."""
    return {
        path.relative_to(ROOT).as_posix()
        for folder in CONTENT
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_the_wheel_has_one_import_name(wheel: Path):
    assert {name.split("/")[0] for name in names(wheel)} == {"sshfacts", "sshfacts-0.1.0.dist-info"}


def test_the_wheel_carries_the_built_in_site_and_nothing_else_in_its_place(wheel: Path):
    carried = {name.removeprefix("sshfacts/_site/") for name in names(wheel) if name.startswith("sshfacts/_site/")}
    assert "commands/site.toml" in carried
    assert carried == content_files()


def test_the_wheel_is_typed(wheel: Path):
    assert "sshfacts/py.typed" in names(wheel)


def test_a_wheel_from_the_source_archive_is_the_same(wheel: Path, tmp_path: Path):
    archive = build(ROOT, "sdist", tmp_path / "archive")
    unpacked = tmp_path / "unpacked"
    unpacked.mkdir()
    subprocess.run(["tar", "-xzf", str(archive), "-C", str(unpacked), "--strip-components=1"], check=True, timeout=60)
    assert names(build(unpacked, "wheel", tmp_path / "wheel")) == names(wheel)


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment that holds the wheel and sees the dependencies of this one. Returns its Python."""
    folder = tmp_path_factory.mktemp("fresh")
    venv.create(folder)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-index", "--no-deps", str(wheel)]
    subprocess.run(pip, check=True, timeout=120)
    (site_packages,) = folder.glob("lib/python*/site-packages")
    # Only the folder itself is added, so an editable sshfacts in it has no effect here.
    (site_packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return python


def test_an_installed_wheel_serves_the_site_that_it_carries(installed: Path):
    code = "import sshfacts.builtin as found; print(found.__file__); print(found.builtin_site())"
    run = subprocess.run([installed, "-I", "-c", code], check=True, capture_output=True, text=True, timeout=60)
    module, site = map(Path, run.stdout.splitlines())
    assert module.is_relative_to(installed.parents[1])
    assert site == module.parent / "_site"


def test_an_installed_wheel_has_the_command(installed: Path):
    run = subprocess.run([installed.with_name("sshfacts"), "--help"], check=True, capture_output=True, timeout=60)
    assert b"demo" in run.stdout


def test_a_checkout_serves_its_own_folders():
    assert builtin_site() == ROOT


def test_every_dependency_is_locked():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    groups = project["dependency-groups"]
    for lock, needed in (
        ("requirements.lock", [*project["project"]["dependencies"], *groups["build"]]),
        ("requirements-dev.lock", [*project["project"]["dependencies"], *groups["build"], *groups["dev"]]),
    ):
        assert {canonicalize_name(Requirement(text).name) for text in needed} <= set(_locked(lock)), lock


def test_both_locks_hold_the_same_versions():
    assert _locked("requirements.lock").items() <= _locked("requirements-dev.lock").items()


def _locked(lock: str) -> dict[str, str]:
    """Package names and versions of a lock; the lines in between hold the hashes."""
    lines = (ROOT / lock).read_text(encoding="utf-8").splitlines()
    return dict(line.split()[0].split("==") for line in lines if not line.startswith(" "))
