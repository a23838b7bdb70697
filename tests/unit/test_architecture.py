"""The promises that no type checker keeps: who may import whom, how long things may be, what must not be written."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
PACKAGE = SOURCE / "sshfacts"

# From the doors down to the leaves. A module imports from its own level, or from one below; leaves import nothing.
ORDER = ("cli", "service", "call", "record", "permission", "ssh", "commands", "adapters", "schemas", "storage")
LEAVES = frozenset({"errors", "limits", "values", "builtin"})

# One home for each package of somebody else: where to look when it changes, and what to replace if it dies.
HOMES = {
    "alembic": {"storage"},
    "asyncssh": {"ssh"},
    "cel": {"schemas"},
    "cryptography": {"ssh", "storage"},
    "httpx2": {"service"},
    "ijson": {"adapters"},
    "jmespath": {"schemas"},
    "jsonschema": {"schemas"},
    "jwt": {"service"},
    "mcp": {"service"},
    "re2": {"schemas"},
    "referencing": {"schemas"},
    "rich": {"cli"},
    "ruamel": {"commands"},
    "sqlalchemy": {
        "storage",
        "permission",
        "service",
        "cli",
    },  # all but the first pass its Engine on and ask it nothing
    "starlette": {"service"},
    "typer": {"cli"},
    "uvicorn": {"service"},
}

# Each takes 100 to 400 ms to import, and `sshfacts --help` needs none of them.
SLOW = ("asyncssh", "cel", "jsonschema", "mcp", "sqlalchemy", "uvicorn")

MODULE_LINES = 500
FUNCTION_LINES = 80


@cache
def modules() -> dict[str, ast.Module]:
    """Every module of the package by its dotted name; a package has the name of its folder."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    return found


def imported(tree: ast.Module) -> Iterator[str]:
    """Every name that a module imports: at its top, inside functions, or for types only."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: relative import"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole in modules() else str(node.module)


def own_imports(tree: ast.Module) -> set[str]:
    return {name for name in imported(tree) if name.split(".")[0] == "sshfacts"}


def room(module: str) -> str:
    return module.split(".")[1]


def in_rooms() -> dict[str, ast.Module]:
    return {name: tree for name, tree in modules().items() if name != "sshfacts"}


def test_every_module_is_in_a_known_room():
    assert {room(name) for name in in_rooms()} <= {*ORDER, *LEAVES}


@pytest.mark.parametrize("module", sorted(in_rooms()))
def test_imports_point_down(module: str):
    used = own_imports(modules()[module])
    if room(module) in LEAVES:
        assert used == set()
        return
    below = {*ORDER[ORDER.index(room(module)) :], *LEAVES}
    assert {name for name in used if name == "sshfacts" or room(name) not in below} == set()


def test_no_module_imports_itself_by_a_detour():
    graph = {name: own_imports(tree) - {name} for name, tree in modules().items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


@pytest.mark.parametrize("module", sorted(in_rooms()))
def test_packages_of_others_are_used_in_their_home_only(module: str):
    foreign = {name.split(".")[0] for name in imported(modules()[module])} - sys.stdlib_module_names - {"sshfacts"}
    assert {name for name in foreign if room(module) not in HOMES.get(name, set())} == set()


def test_package_files_hold_a_docstring_and_nothing_else():
    for path in PACKAGE.rglob("__init__.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assert len(tree.body) == 1, path
        assert ast.get_docstring(tree), path


def test_modules_are_short():
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in PACKAGE.rglob("*.py")}
    assert {path: length for path, length in lengths.items() if length > MODULE_LINES} == {}


def test_functions_fit_a_screen():
    lengths = {
        f"{name}:{node.lineno} {node.name}": (node.end_lineno or node.lineno) - node.lineno + 1
        for name, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert {place: length for place, length in lengths.items() if length > FUNCTION_LINES} == {}


def test_the_command_line_starts_without_the_slow_packages():
    code = f"import sys, sshfacts.cli.main; print([name for name in {SLOW!r} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60)
    assert run.stdout.strip() == "[]"


def project_files() -> Iterator[Path]:
    """What is tracked, told by its place: tests also run where there is no git."""
    folders = (
        ".ci",
        "adapters",
        "benchmarks",
        "commands",
        "deploy",
        "docs",
        "schemas",
        "scripts",
        "src",
        "storage",
        "tests",
    )
    for folder in folders:
        yield from (path for path in (ROOT / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    yield from (path for path in ROOT.iterdir() if path.is_file() and path.suffix in {".md", ".toml", ".lock", ".yml"})


# Joined here, so that this file does not hold what it forbids.
FORBIDDEN = tuple(
    "".join(parts).encode()
    for parts in (
        ("/wo", "rk/"),
        ("/ro", "ot/"),
        ("/fa", "rm/"),
        ("/tm", "p/venv"),
        ("pypi", ".org"),
        ("python", "hosted"),
        ("npm", "js."),
        ("deb.", "debian."),
    )
)


@pytest.mark.parametrize("forbidden", FORBIDDEN, ids=lambda text: text.decode())
def test_no_file_names_a_machine_path_or_a_registry(forbidden: bytes):
    assert [str(path.relative_to(ROOT)) for path in project_files() if forbidden in path.read_bytes()] == []
