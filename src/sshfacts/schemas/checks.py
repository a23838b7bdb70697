"""Checks: semantic rules in CEL that tie a document to the request, the host and the clock.

The package `cel` (common-expression-language 0.10) needs 0.4 s to import, so it is imported where a rule is compiled.
Turning a document into CEL's values is what costs (1.2 ms for 200 rows of six members), so it is done once for a call.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from sshfacts.errors import Refusal
from sshfacts.schemas.cel_source import Source, read_source
from sshfacts.schemas.problems import Problem
from sshfacts.values import JsonObject, JsonValue

if TYPE_CHECKING:
    import cel

LENGTH = 1_000
"""Characters of one rule."""

REQUEST_NAMES = frozenset({"arguments", "host"})
"""What a rule about the request alone may mention, such as `ask_when`."""
ANSWER_NAMES = REQUEST_NAMES | {"collected_at", "document", "now"}
"""What a rule about the answer may mention."""

_CLOCK_NAMES = frozenset({"collected_at", "now"})
_FUNCTIONS = frozenset(
    {"contains", "double", "duration", "endsWith", "int", "size", "startsWith", "string", "timestamp"}
)
"""Functions of CEL's standard whose result is exact. `matches` is left out: a document could bring its own pattern."""
_OPERATORS = frozenset({"!_", "-_", "@in", "@not_strictly_false", "_?_:_", "_[_]"}).union(
    f"_{sign}_" for sign in ("==", "!=", "<", "<=", ">", ">=", "&&", "||", "+", "-", "*", "/", "%")
)
_QUADRATIC = frozenset({"filter", "map"})


class CheckKind(StrEnum):
    """What a check ties the document to: the question, the clock, or the document's own parts."""

    BINDING = "binding"
    FRESHNESS = "freshness"
    CONSISTENCY = "consistency"


@dataclass(frozen=True, slots=True)
class Rule:
    """One compiled CEL expression that gives true or false.

    Args:
        source: the expression.
        names: what it may mention, `REQUEST_NAMES` or `ANSWER_NAMES`.

    Raises:
        ValueError: `rule_problems()` finds a problem.
    """

    source: str
    names: frozenset[str] = ANSWER_NAMES
    program: "cel.Program" = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        problems = rule_problems(self.source, self.names, None)
        if problems:
            raise ValueError("; ".join(problem.what for problem in problems))
        object.__setattr__(self, "program", _compile(self.source))


@dataclass(frozen=True, slots=True)
class Check:
    """A rule that an answer must keep to."""

    name: str
    kind: CheckKind
    rule: Rule


def _compile(source: str) -> "cel.Program":
    import cel  # noqa: PLC0415  # 0.4 s, and only needed where there is a rule

    return cel.compile(source)


def rule_problems(source: str, names: frozenset[str], kind: CheckKind | None) -> list[Problem]:
    """Return everything that is wrong with a rule, in one run.

    Args:
        names: what the rule may mention.
        kind: of the check; `None` for a rule that is no check, such as `not_found` and `ask_when`.
    """
    if len(source) > LENGTH:
        what = f"the rule has more than {LENGTH} characters"
        return [Problem("check.length", "", what, "split it into several checks")]
    try:
        program = _compile(source)
    except ValueError as error:
        return [Problem("check.syntax", "", f"the rule is not well-formed CEL{_place_of(error)}", "correct it")]
    references = program.references()
    read = read_source(source)
    return [
        *_name_problems(set(references["variables"]), read, names),
        *_function_problems(set(references["functions"])),
        *_cost_problems(read),
        *_kind_problems(read, kind),
    ]


def _place_of(error: ValueError) -> str:
    """Return where the parser stopped; its text is left out because it repeats the whole expression."""
    found = re.search(r"<input>:([0-9]+):([0-9]+)", str(error))
    return f" at line {found[1]}, column {found[2]}" if found is not None else ""


def _name_problems(variables: set[str], read: Source, names: frozenset[str]) -> Iterator[Problem]:
    """Find names that are not there, and macros that hide one that is."""
    known = "write one of " + ", ".join(sorted(names))
    unknown = {mention.name for mention in read.mentions if mention.name not in names | mention.bound}
    # The package and the tokens must see the same names; what only one of them sees is not vetted.
    unknown |= variables ^ {mention.name for mention in read.mentions}
    for name in sorted(unknown):
        yield Problem("check.unknown_name", "", f"the rule mentions {name!r}, which is not there", known)
    # The package keeps the running result of a macro under a name that begins with an underscore.
    for name in sorted(name for name in read.bound if name in ANSWER_NAMES or name.startswith("_")):
        yield Problem(
            "check.unknown_name", "", f"a macro gives {name!r} another meaning", "use another name in the macro"
        )


def _function_problems(functions: set[str]) -> Iterator[Problem]:
    for name in sorted(functions - _FUNCTIONS - _OPERATORS):
        fix = "use one of " + ", ".join(sorted(_FUNCTIONS))
        yield Problem("check.unknown_function", "", f"the rule calls {name!r}", fix)


def _cost_problems(read: Source) -> Iterator[Problem]:
    for name in sorted(_QUADRATIC.intersection(read.macros)):
        what = f"the macro {name!r} builds a list item by item"
        yield Problem("check.quadratic", "", what, "use all, exists or exists_one")
    if any(mention.bound and mention.name == "document" for mention in read.mentions):
        what = "'document' is mentioned inside a macro, so that it is read again for each row"
        yield Problem("check.quadratic", "", what, "compare members of the same row, or arguments")


def _kind_problems(read: Source, kind: CheckKind | None) -> Iterator[Problem]:
    mentioned = {mention.name for mention in read.mentions}
    if kind in (CheckKind.BINDING, CheckKind.FRESHNESS) and read.has_alternative:
        yield Problem("check.alternative", "", f"a {kind} check uses '||'", "write one check for each condition")
    if kind is CheckKind.BINDING and not (mentioned & REQUEST_NAMES and "document" in mentioned):
        what = "a binding check does not mention both 'document' and one of 'arguments' and 'host'"
        yield Problem("check.untied", "", what, "compare the document with what was asked")
    if kind is CheckKind.FRESHNESS and not mentioned & _CLOCK_NAMES:
        what = "a freshness check mentions neither 'now' nor 'collected_at'"
        yield Problem("check.untied", "", what, "compare a time of the document with the clock")


class Judgement:
    """One call's answer, held against rules.

    Args:
        arguments, host: what was asked.
        document: the answer; left out where there is none yet.
        collected_at: the instant before the command was started, aware.
        now: the moment of answering, aware.
    """

    def __init__(
        self,
        *,
        arguments: JsonObject,
        host: str,
        document: JsonValue = None,
        collected_at: datetime | None = None,
        now: datetime | None = None,
    ) -> None:
        values = {"document": document, "collected_at": collected_at, "now": now}
        present = {name: value for name, value in values.items() if value is not None}
        self._variables = {"arguments": arguments, "host": host, **present}
        self._context: cel.Context | None = None

    def holds(self, rule: Rule, name: str = "rule") -> bool:
        """Tell whether the rule gives true.

        Args:
            name: of the check, for the operator.

        Raises:
            Refusal: `check.error`, if the rule gives neither true nor false, or cannot be computed.
        """
        try:
            result = rule.program.execute(self._cel_context())
        except Exception as error:  # noqa: BLE001  # cel raises eight builtin classes, with texts that quote the document
            raise Refusal("check.error", f"{name}: {_REASONS.get(type(error), 'it cannot be computed')}") from None
        if not isinstance(result, bool):
            raise Refusal("check.error", f"{name}: it gives neither true nor false")
        return result

    def require(self, check: Check) -> None:
        """Accept an answer that keeps to the check.

        Raises:
            Refusal: `check.binding`, `check.freshness` or `check.consistency` if it does not; `check.error` as `holds`.
        """
        if not self.holds(check.rule, check.name):
            raise Refusal(f"check.{check.kind}", check.name)

    def _cel_context(self) -> "cel.Context":
        if self._context is None:
            import cel  # noqa: PLC0415  # as in `_compile`; it is loaded by now, because a rule was compiled

            self._context = cel.Context(variables=self._variables)
        return self._context


_REASONS: dict[type[Exception], str] = {
    IndexError: "it asks for an item that is not there",
    KeyError: "it asks for a member that is not there",
    OverflowError: "a number in it becomes too large",
    TypeError: "it compares or combines values of different types",
    ZeroDivisionError: "it divides by zero",
}
