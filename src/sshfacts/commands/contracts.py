"""Finds, reads and lints the contract files that command files name."""

from dataclasses import dataclass
from pathlib import Path

from sshfacts.commands.findings import Findings, Place, Unreadable
from sshfacts.commands.json_source import read_json
from sshfacts.commands.names import DOCUMENT_CONTRACT, FACTS_CONTRACT
from sshfacts.commands.source import Source, require_inside, steps
from sshfacts.limits import CONTRACT_BYTES
from sshfacts.schemas.contract import Contract
from sshfacts.schemas.profile import Kind, lint

_FORMS = {Kind.DOCUMENT: DOCUMENT_CONTRACT, Kind.FACTS: FACTS_CONTRACT}


@dataclass(frozen=True, slots=True)
class LoadedContract:
    """A compiled contract with the file it came from."""

    source: Source
    contract: Contract


class Contracts:
    """The contracts of one site. Two operations may share one; it is read and judged once."""

    def __init__(self, root: Path, findings: Findings) -> None:
        self._root = root
        self._findings = findings
        self._loaded: dict[str, LoadedContract | None] = {}

    def load(self, name: str, kind: Kind, named_at: Place) -> LoadedContract | None:
        """Return a contract by name, such as `disk_usage/document.v1`; None when the findings say why not.

        Args:
            name: its form was checked with the field; one of another form is never looked for.
            named_at: where the command file names it, for the finding that it does not exist.
        """
        if not _FORMS[kind].accepts(name):
            return None
        if name not in self._loaded:
            path = self._root / "schemas" / f"{name}.json"
            if not path.exists():
                self._findings.add(
                    "source.missing", named_at, f"there is no file {path}", "write the contract, or correct the name"
                )
                return None  # not remembered: every file that names it gets its own finding
            self._loaded[name] = self._read(path, kind)
        return self._loaded[name]

    def _read(self, path: Path, kind: Kind) -> LoadedContract | None:
        try:
            require_inside(self._root, path, self._findings)
            source = read_json(path, CONTRACT_BYTES, self._findings)
        except Unreadable:
            return None
        problems = lint(source.value, kind)
        for problem in problems:
            self._findings.add_problem(problem, source.place(steps(problem.pointer)))
        if problems or not isinstance(source.value, dict):
            return None
        return LoadedContract(source, Contract(source.value, kind))
