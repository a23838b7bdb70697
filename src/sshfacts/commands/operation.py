"""One operation as the service runs it: compiled, cross-checked and frozen."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from sshfacts.adapters.formats import Format
from sshfacts.errors import Code
from sshfacts.limits import ReadLimits
from sshfacts.schemas.checks import Check, Rule
from sshfacts.schemas.contract import Contract
from sshfacts.schemas.envelope import EnvelopeContract
from sshfacts.schemas.selection import Selection
from sshfacts.values import JsonObject, JsonValue


class Status(StrEnum):
    """Where an operation stands in its life. A draft is loaded and checked but never served."""

    STABLE = "stable"
    DRAFT = "draft"
    DEPRECATED = "deprecated"


class Effect(StrEnum):
    """Whether a command only looks, or leaves the host changed."""

    READ = "read"
    CHANGE = "change"


RETRIED = frozenset({Code.UPSTREAM_UNAVAILABLE, Code.TIMEOUT, Code.BUSY, Code.COMMAND_FAILED})
"""After these a run may be tried again. Not after INVALID_RESPONSE and UPSTREAM_REFUSED: what was
refused for a reason must not be asked for until it fits."""


class ExitMeaning(StrEnum):
    """What an exit status that the command file lists stands for; any other status is a failure."""

    DOCUMENT = "document"
    NOT_FOUND = "not_found"


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument an agent passes; all arguments of an operation are required."""

    name: str
    description: str
    schema: JsonObject
    good: tuple[JsonValue, ...]
    """Values the author says are fine; each was tried against the schema at load."""
    bad: tuple[JsonValue, ...]
    """Values the author says must be refused; each was tried against the schema at load."""


@dataclass(frozen=True, slots=True)
class Run:
    """The vetted command."""

    argv: tuple[str, ...]
    """Literal words and whole-word placeholders such as `{unit}`."""
    exit: Mapping[int, ExitMeaning]
    seconds: int
    """Deadline on the host; ours is one second later."""
    sudo: bool
    env: Mapping[str, str]
    """Constants beside LC_ALL and PATH, which are the engine's."""


@dataclass(frozen=True, slots=True)
class Retry:
    """When the service itself tries again; only ever for `Effect.READ`."""

    attempts: int
    """Runs in total, so 1 means no retry."""
    seconds: int
    """Time over all attempts together."""
    codes: frozenset[Code]


@dataclass(frozen=True, slots=True)
class Output:
    """How stdout becomes one document."""

    format: Format
    limits: ReadLimits
    empty: JsonValue
    """The document that zero bytes stand for; without meaning when `rejects_empty`."""
    rejects_empty: bool
    contract_name: str
    """Such as `disk_usage/document.v1`."""
    contract: Contract


@dataclass(frozen=True, slots=True)
class Needs:
    """What must be on the host; for documentation and preflight, never checked on a call."""

    os: str | None = None
    program: str | None = None
    at_least: str | None = None


@dataclass(frozen=True, slots=True)
class Raw:
    """For how many days captured stdout is kept, encrypted."""

    keep: int = 0
    """Days for answers that became facts; 0 keeps nothing."""
    keep_refused: int = 7
    """Days for answers that were refused."""


@dataclass(frozen=True, slots=True)
class Operation:
    """What an agent can ask for by name: one command, one contract and the rules of access."""

    name: str
    title: str
    use_when: str
    owner: str
    status: Status
    use_instead: str | None
    effect: Effect
    grants: frozenset[str]
    """A caller needs all of them."""
    asks: bool
    """A person must approve every call."""
    ask_when: Rule | None
    """CEL over `arguments` and `host`: when it holds, a person must approve this call."""
    host_groups: frozenset[str]
    needs: Needs
    arguments: Mapping[str, Argument]
    arguments_contract: Contract
    """Closed object with every argument required."""
    run: Run
    output: Output
    not_found: Rule | None
    """CEL over `document`, `arguments` and `host`."""
    checks: tuple[Check, ...]
    unbound_because: str | None
    facts_contract_name: str
    facts_contract: Contract
    selection: Selection
    envelope: EnvelopeContract
    retry: Retry | None
    raw: Raw
    digest: str
    """SHA-256 (hex) over all that was vetted: command file, contracts and adapter; see `commands.digest`."""
    path: Path
    """The command file."""
