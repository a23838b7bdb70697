"""What a verification found."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from sshfacts.values import JsonObject, JsonValue

SHOWN = 100
"""Findings of each sort that are kept in words; the others are counted."""

Progress: TypeAlias = Callable[[int, int], None]
"""Is told now and then how many records are verified, and of how many."""

_PLAIN = re.compile(r"[A-Za-z0-9._-]{1,64}")


class Findings:
    """Findings of one sort, in words."""

    def __init__(self) -> None:
        self.count = 0
        self.shown: list[str] = []

    def add(self, text: str) -> None:
        """Count a finding, and keep its words while there are few."""
        self.count += 1
        if len(self.shown) < SHOWN:
            self.shown.append(text)


@dataclass(slots=True)
class Report:
    """The result, filled while the verification runs."""

    violations: Findings = field(default_factory=Findings)
    """What shows that the record is not what was written, or that the service broke its own rules."""
    unjudged: Findings = field(default_factory=Findings)
    """What a newer version wrote, and this one cannot judge."""
    warnings: Findings = field(default_factory=Findings)
    """What a person should know, and what does not make the record wrong."""
    origin: str | None = None
    tree_size: int | None = None
    """Of the checkpoint that the records were verified against."""
    root_hash: str | None = None
    since: str | None = None
    until: str | None = None
    """The period that an export states; `None` for an end that it does not."""
    begin: int = 0
    end: int = 0
    """The leaves that were verified, from `begin` to before `end`."""
    first_at: str | None = None
    last_at: str | None = None
    """The earliest and the latest instant that a verified record states."""
    kinds: Counter[str] = field(default_factory=Counter)
    """How many records of each kind."""
    open_calls: int = 0
    """Calls without an outcome: they may have run."""
    orphaned_calls: int = 0
    """Those of them that an `orphan` record closes."""
    unsealed: int = 0
    """Records that no checkpoint covers yet."""

    @property
    def ok(self) -> bool:
        """Whether everything was judged and nothing is wrong."""
        return not self.violations.count and not self.unjudged.count

    def as_json(self) -> JsonObject:
        """Return the report for programs."""
        kinds: dict[str, JsonValue] = {kind: self.kinds[kind] for kind in sorted(self.kinds)}
        return {
            "ok": self.ok,
            "origin": self.origin,
            "tree_size": self.tree_size,
            "root_hash": self.root_hash,
            "since": self.since,
            "until": self.until,
            "begin": self.begin,
            "end": self.end,
            "first_at": self.first_at,
            "last_at": self.last_at,
            "kinds": kinds,
            "open_calls": self.open_calls,
            "orphaned_calls": self.orphaned_calls,
            "unsealed": self.unsealed,
            **_findings("violations", self.violations),
            **_findings("unjudged", self.unjudged),
            **_findings("warnings", self.warnings),
        }


def unseen(done: int, total: int) -> None:
    """Show no progress."""


def plain(value: object) -> str:
    """Return a name out of a record as it may be shown: an altered record may hold anything."""
    return value if isinstance(value, str) and _PLAIN.fullmatch(value) else "?"


def _findings(name: str, findings: Findings) -> JsonObject:
    texts: list[JsonValue] = list(findings.shown)
    return {name: texts, f"{name}_count": findings.count}
