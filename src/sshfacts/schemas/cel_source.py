"""What the source of a CEL expression shows and its compiled form does not: macros, scopes and `||`.

The package says which names and functions an expression uses, and expands macros before it does: `exists` becomes
`||`, and `map` becomes `+`. So the tokens are read here. The lexical rules are those of the CEL specification
("Syntax"); an expression is compiled first, so that only well-formed ones are read.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""
    (?P<blank>[\t\n\f\r\ ]+|//[^\n]*)
  | (?P<text>(?:[rR][bB]?|[bB][rR])(?:\"{3}.*?\"{3}|'{3}.*?'{3}|"[^"\n]*"|'[^'\n]*')
            |[bB]?(?:\"{3}(?:\\.|[^\\])*?\"{3}|'{3}(?:\\.|[^\\])*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))
  | (?P<number>0x[0-9A-Fa-f]+u?|[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?[uU]?|\.[0-9]+(?:[eE][+-]?[0-9]+)?)
  | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
  | (?P<sign>\|\||&&|[=!<>]=|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_LITERALS = frozenset({"true", "false", "null", "in"})
_OPENING, _CLOSING = "([{", ")]}"

MACROS = frozenset({"all", "exists", "exists_one", "filter", "map"})
"""Macros that bind a name: `list.all(name, condition)`."""


@dataclass(frozen=True, slots=True)
class Token:
    """One token that is neither blank nor a comment."""

    kind: str
    """`text`, `number`, `name` or `sign`."""
    text: str


@dataclass(frozen=True, slots=True)
class Mention:
    """A name that stands for a value, and not for a member, a function or a macro's own name."""

    name: str
    bound: frozenset[str]
    """Names that the macros around it bind."""


@dataclass(frozen=True, slots=True)
class Source:
    """What the tokens of one expression show."""

    mentions: tuple[Mention, ...]
    macros: tuple[str, ...]
    """Macros in the order in which they stand."""
    bound: frozenset[str]
    """Every name that some macro binds."""
    has_alternative: bool
    """Whether `||` is written."""


def tokens(source: str) -> Iterator[Token]:
    """Yield the tokens of a well-formed expression."""
    for found in _TOKEN.finditer(source):
        if found.lastgroup != "blank":
            yield Token(str(found.lastgroup), found.group())


def read_source(source: str) -> Source:
    """Read the names and macros of a well-formed expression."""
    stream = [*tokens(source), *[Token("sign", "")] * 4]
    mentions: list[Mention] = []
    macros: list[str] = []
    scopes: list[frozenset[str]] = [frozenset()]  # one for each open bracket
    for index in range(len(stream) - 4):
        token, before = stream[index], stream[index - 1].text if index else ""
        if token.text in _OPENING and token.kind == "sign":
            scopes.append(scopes[-1] | _bound_by(stream, index))
        elif token.text in _CLOSING and token.kind == "sign" and len(scopes) > 1:
            scopes.pop()
        elif token.kind == "name" and before == "." and token.text in MACROS and stream[index + 1].text == "(":
            macros.append(token.text)
        elif token.kind == "name" and before != "." and token.text not in _LITERALS and stream[index + 1].text != "(":
            mentions.append(Mention(token.text, scopes[-1]))
    bound = frozenset[str]().union(*(mention.bound for mention in mentions))
    return Source(tuple(mentions), tuple(macros), bound, Token("sign", "||") in stream)


def _bound_by(stream: list[Token], opening: int) -> frozenset[str]:
    """Return the name that the macro binds whose arguments start at `opening`, if it is one."""
    is_macro = opening >= 2 and stream[opening - 2].text == "." and stream[opening - 1].text in MACROS
    first, second = stream[opening + 1], stream[opening + 2]
    if is_macro and first.kind == "name" and second.text == ",":
        return frozenset({first.text})
    return frozenset()
