"""What is wrong with a selection, found in its syntax tree when it is loaded."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import jmespath
from jmespath.exceptions import JMESPathError, ParseError

from sshfacts.schemas.functions import ALLOWED
from sshfacts.schemas.problems import Problem
from sshfacts.schemas.profile import RESERVED

if TYPE_CHECKING:
    from jmespath.parser import ParsedResult
    from jmespath.visitor import _TreeNode as Tree

LENGTH = 4_000
"""Characters of one selection."""
ROOTS = ("arguments", "document", "host")
"""The names at the root of every selection."""


def parsed(source: str) -> "ParsedResult":
    """Return the syntax tree of a selection.

    Raises:
        JMESPathError: it is not well formed.
        PendingDeprecationWarning: it uses the old literals, `word` in backticks, that have been replaced by 'word'.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error", PendingDeprecationWarning)
        return jmespath.compile(source)


def facts_named(tree: "Tree") -> list[str]:
    """Return the names of the facts that a selection makes, as often as they stand there."""
    return [str(pair["value"]) for pair in tree["children"]] if tree["type"] == "multi_select_dict" else []


def selection_problems(source: str) -> list[Problem]:
    """Return everything that is wrong with a selection, in one run."""
    if len(source) > LENGTH:
        what = f"the selection has more than {LENGTH} characters"
        return [Problem("select.length", "", what, "select less, or split the operation")]
    try:
        tree = parsed(source).parsed
    except PendingDeprecationWarning:
        return [Problem("select.syntax", "", "a text stands in backticks", "write 'text' in single quotes")]
    except (JMESPathError, RecursionError) as error:
        return [
            Problem("select.syntax", "", f"the selection is not well-formed JMESPath{_place_of(error)}", "correct it")
        ]
    return [*_root_problems(tree), *_Walk().problems(tree)]


def _place_of(error: Exception) -> str:
    """Return where the parser stopped; its text is left out because it repeats the whole expression."""
    return f" at character {error.lex_position + 1}" if isinstance(error, ParseError) and error.lex_position else ""


def _root_problems(tree: "Tree") -> Iterator[Problem]:
    names = facts_named(tree)
    if not names:
        yield Problem("select.root", "", "the selection is no {name: expression, ...}", "name every fact")
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield Problem("select.root", "", f"{name!r} is selected twice", "leave one of them out")
    for name in sorted(RESERVED.intersection(names)):
        yield Problem("select.reserved_name", "", f"{name!r} is the engine's own fact", "leave it out, or rename it")


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a part of the expression is evaluated."""

    at_root: bool = True
    """Whether names there are those of `ROOTS`, and not members of some element."""
    is_head: bool = True
    """Whether the part begins an expression, and is not what follows a dot."""


_ROOT, _HEAD, _TAIL = _Place(), _Place(at_root=False), _Place(at_root=False, is_head=False)


class _Walk:
    """One pass over a syntax tree."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], Problem] = {}

    def problems(self, tree: "Tree") -> list[Problem]:
        self._visit(tree, _ROOT)
        return list(self._found.values())

    def _add(self, code: str, what: str, fix: str) -> None:
        self._found.setdefault((code, what), Problem(code, "", what, fix))

    def _visit(self, tree: "Tree", place: _Place) -> None:
        children = tree["children"]
        match tree["type"]:
            case "field":
                self._name(str(tree["value"]), place)
            case "current" | "identity" if place.at_root:
                self._add("select.unknown_name", "the selection takes the whole root at once", _BEGIN)
            case "subexpression" | "projection" | "value_projection" | "index_expression":
                self._visit(children[0], place)
                self._each(children[1:], _TAIL)
            case "filter_projection":
                base, follows, condition = children
                self._visit(base, place)
                self._visit(follows, _TAIL)
                self._visit(condition, _HEAD)
            case "pipe":
                self._visit(children[0], place)
                self._each(children[1:], _HEAD)
            case "expref":
                self._each(children, _HEAD)
            case "function_expression":
                self._function(str(tree["value"]), len(children))
                self._each(children, replace(place, is_head=True))
            case "flatten":
                self._each(children, place)
            case "slice" | "literal" | "identity" | "index" | "current":
                pass  # They mention no name; the children of a slice are numbers.
            case _:
                self._each(children, replace(place, is_head=True))

    def _each(self, trees: "list[Tree]", place: _Place) -> None:
        for tree in trees:
            self._visit(tree, place)

    def _name(self, name: str, place: _Place) -> None:
        if place.at_root and name not in ROOTS:
            self._add("select.unknown_name", f"the selection mentions {name!r}, which is not there", _BEGIN)
        elif not place.at_root and place.is_head and name in ROOTS:
            what = f"{name!r} is mentioned where names belong to an element"
            self._add("select.projection_name", what, "select it beside the list, not inside")

    def _function(self, name: str, given: int) -> None:
        arity = ALLOWED.get(name)
        if arity is None:
            self._add(
                "select.unknown_function", f"the selection calls {name!r}", "use one of " + ", ".join(sorted(ALLOWED))
            )
        elif given < arity.least or (given > arity.least and not arity.is_open):
            words = f"{arity.least} or more" if arity.is_open else f"{arity.least}"
            what = f"{name!r} takes {words} arguments, not {given}"
            self._add("select.arguments", what, "give it the arguments it takes")


_BEGIN = "begin with one of " + ", ".join(ROOTS)
