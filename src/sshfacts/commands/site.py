"""Loads a site: its marker, its settings and every operation that it serves."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from sshfacts.builtin import builtin_site
from sshfacts.commands.compile import Workbench, compile_operation
from sshfacts.commands.contracts import Contracts
from sshfacts.commands.digest import catalogue_digest
from sshfacts.commands.findings import Findings, Place, suggestion
from sshfacts.commands.operation import Operation, Status
from sshfacts.commands.settings import Settings
from sshfacts.commands.settings_file import FILE, read_settings
from sshfacts.commands.site_file import ALL, Marker, read_marker
from sshfacts.commands.source import Source
from sshfacts.errors import SiteError, UsageError
from sshfacts.limits import CEILINGS, ReadLimits

_NOT_OPERATIONS = frozenset({"site.toml", "README.md"})
"""What may stand in `commands/` beside the command files. Names that start with a dot are ignored, too."""


@dataclass(frozen=True, slots=True)
class Site:
    """A site that was loaded without a finding."""

    root: Path
    name: str
    operations: Mapping[str, Operation]
    """What is served, by name; the built-in ones that the marker asks for among them."""
    drafts: Mapping[str, Operation]
    """Loaded and checked, but never served."""
    settings: Settings | None
    """None only when the site was loaded for its content alone."""
    digest: str
    """SHA-256 (hex) over names and digests of everything served."""

    def require_settings(self) -> Settings:
        """Return the settings.

        Raises:
            UsageError: the site has no `sshfacts.toml`, so nothing can be run on it.
        """
        if self.settings is None:
            raise UsageError(f"{self.root} has no {FILE}, so it has no hosts and no callers")
        return self.settings


def load_site(root: Path, *, need_settings: bool) -> Site:
    """Load the site at `root`.

    Args:
        need_settings: whether a missing `sshfacts.toml` is an error; one that is there is always read.

    Raises:
        SiteError: with every finding of the run.
    """
    findings = Findings()
    marked = read_marker(root, findings)
    settings = read_settings(root, findings) if need_settings or (root / FILE).exists() else None
    ceilings = settings.ceilings if settings is not None else CEILINGS
    loaded = _load_operations(root, ceilings, findings)
    if marked is not None:
        _add_builtin(loaded, *marked, ceilings, findings)
    if not findings:
        _check_replacements(loaded, findings)
    if findings or marked is None:
        raise SiteError(findings.sorted())
    served = {name: one for name, one in sorted(loaded.items()) if one.status is not Status.DRAFT}
    drafts = {name: one for name, one in sorted(loaded.items()) if one.status is Status.DRAFT}
    digest = catalogue_digest((name, one.digest) for name, one in served.items())
    return Site(root, marked[0].name, MappingProxyType(served), MappingProxyType(drafts), settings, digest)


def command_files(root: Path) -> list[Path]:
    """Return the command files of a site, sorted by name."""
    return sorted(path for path in (root / "commands").glob("*.yaml") if not path.name.startswith("."))


def _load_operations(root: Path, ceilings: ReadLimits, findings: Findings) -> dict[str, Operation]:
    files = command_files(root)
    _refuse_strays(root / "commands", files, findings)
    bench = Workbench(root, ceilings, Contracts(root, findings), findings)
    compiled = [compile_operation(path, bench) for path in files]
    return {operation.name: operation for operation in compiled if operation is not None}


def _refuse_strays(folder: Path, files: list[Path], findings: Findings) -> None:
    """A file that is passed over in silence, such as NAME.yml, would look as if it were served."""
    if not folder.is_dir():
        return
    for path in folder.iterdir():
        if path not in files and path.name not in _NOT_OPERATIONS and not path.name.startswith("."):
            fix = "name it NAME.yaml, or move it out of `commands/`"
            findings.add("site.stray_file", Place(str(path)), "this is no command file", fix)


def _add_builtin(
    own: dict[str, Operation], marker: Marker, source: Source, ceilings: ReadLimits, findings: Findings
) -> None:
    """Add the built-in operations that the marker asks for."""
    if not marker.builtin:
        return
    root = builtin_site()
    files = {path.stem: path for path in command_files(root)}
    wanted = list(files) if marker.builtin == ALL else list(marker.builtin)
    bench = Workbench(root, ceilings, Contracts(root, findings), findings)
    for index, name in enumerate(wanted):
        place = source.place(("builtin", str(index)) if marker.builtin != ALL else ("builtin",))
        if name not in files:
            fix = suggestion(name, files, "see `sshfacts operations` for the names")
            findings.add("site.unknown_builtin", place, f"there is no built-in operation {name!r}", fix)
        elif name in own:
            fix = f"rename {own[name].path.name}, or list the built-in operations without it"
            findings.add("site.name_clash", place, f"{name!r} is both built in and the site's own", fix)
        else:
            operation = compile_operation(files[name], bench)
            if operation is not None:
                own[name] = operation


def _check_replacements(loaded: Mapping[str, Operation], findings: Findings) -> None:
    """What a deprecated operation names must be there for agents to call."""
    served = {name for name, one in loaded.items() if one.status is Status.STABLE}
    for operation in loaded.values():
        if operation.use_instead is not None and operation.use_instead not in served:
            fix = suggestion(operation.use_instead, served, "name a stable operation of this site")
            what = f"there is no stable operation {operation.use_instead!r}"
            findings.add("status.use_instead", Place(str(operation.path)), what, fix)
