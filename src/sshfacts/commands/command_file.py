"""The command file as its author writes it, as frozen values.

`commands.command_fields` gives each field its shape and meaning; `commands.compile` compares fields
with one another and with the files they name.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from sshfacts.adapters.formats import Format
from sshfacts.commands.operation import Effect, ExitMeaning, Needs, Raw, Retry, Status
from sshfacts.schemas.checks import CheckKind
from sshfacts.values import JsonObject, JsonValue


class Decision(StrEnum):
    """What the command file says about calls that are otherwise in order."""

    ALLOW = "allow"
    ASK = "ask"


class Privilege(StrEnum):
    """With whose rights the command runs."""

    NONE = "none"
    SUDO = "sudo"


class ArgumentType(StrEnum):
    """The types an argument can have."""

    STRING = "string"
    INTEGER = "integer"
    BOOLEAN = "boolean"


class Ignored(StrEnum):
    """Lines that a key_value format may pass over."""

    BLANK = "blank"
    COMMENT = "comment"


class Separator(StrEnum):
    """What stands between two fields of a line."""

    TAB = "tab"
    COLON = "colon"
    NUL = "nul"
    BLANKS = "blanks"
    SPACE = "space"


@dataclass(frozen=True, slots=True)
class Examples:
    """Values for one argument that must be accepted, and values that must be refused."""

    good: tuple[JsonValue, ...]
    bad: tuple[JsonValue, ...]


@dataclass(frozen=True, slots=True)
class ArgumentFile:
    """One entry of `arguments`."""

    description: str
    schema: JsonObject
    examples: Examples


@dataclass(frozen=True, slots=True)
class RunFile:
    """The field `run`."""

    argv: tuple[str, ...]
    exit: Mapping[str, ExitMeaning]
    seconds: int
    privilege: Privilege = Privilege.NONE
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OutputFile:
    """The field `output`. A limit that is absent keeps the default of the service."""

    format: Format
    bytes: int
    empty: JsonValue
    document: str
    depth: int | None = None
    values: int | None = None
    items: int | None = None
    members: int | None = None
    name: int | None = None
    string: int | None = None
    number: int | None = None


@dataclass(frozen=True, slots=True)
class CheckFile:
    """One entry of `checks`."""

    name: str
    kind: CheckKind
    rule: str


@dataclass(frozen=True, slots=True)
class FactsFile:
    """The field `facts`."""

    contract: str
    select: str


@dataclass(frozen=True, slots=True)
class CommandFile:
    """A command file, each field in itself correct."""

    version: int
    title: str
    use_when: str
    owner: str
    effect: Effect
    grants: frozenset[str]
    hosts: frozenset[str]
    run: RunFile
    output: OutputFile
    checks: tuple[CheckFile, ...]
    facts: FactsFile
    status: Status = Status.STABLE
    use_instead: str | None = None
    decision: Decision | None = None
    ask_when: str | None = None
    needs: Needs = field(default_factory=Needs)
    arguments: Mapping[str, ArgumentFile] = field(default_factory=dict)
    not_found: str | None = None
    unbound_because: str | None = None
    retry: Retry | None = None
    raw: Raw = field(default_factory=Raw)
