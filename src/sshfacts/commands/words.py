"""Which characters an argument may hold, and the proof that a pattern keeps to them.

sshd hands one string to the login shell. Quoting protects every character in POSIX shells, but not
in fish and tcsh, where quoted values could run commands (measured with hostile values in eight
shells). The characters of `ALLOWED` come through all of them unquoted, so only they may appear, and
a pattern that could match any other is refused when the site is loaded.
"""

import re
import string
from dataclasses import dataclass

ALLOWED = frozenset(string.ascii_letters + string.digits + "_./:@%+=,-")
"""What a text argument may consist of; the first character is not a dash."""

HOSTILE = (
    "",
    "-",
    "--all",
    "-rf",
    "a\n",
    "a\nb",
    "a\r",
    "a\0",
    "a b",
    "a\tb",
    "$(x)",
    "`x`",
    "a;b",
    "a|b",
    "a&b",
    "a>b",
    "a'b",
    'a"b',
    "a\\b",
    "a*",
    "a!b",
    "~",
    "{a,b}",
    "\u0430",
    "\u200b",
    "a" * 5_000,
)
"""Values that no text argument may accept, whatever its author says."""


class Unprovable(ValueError):
    """The pattern can match a character that is not allowed, or uses syntax this proof does not know."""


@dataclass(frozen=True, slots=True)
class Reach:
    """What a pattern, or a part of one, can match.

    Attributes:
        first: the characters a match can start with.
        nullable: whether it matches the empty text, so that what follows decides the first character.
    """

    first: frozenset[str]
    nullable: bool

    def then(self, following: "Reach") -> "Reach":
        """Return the reach of this part followed by another."""
        first = self.first | following.first if self.nullable else self.first
        return Reach(first, self.nullable and following.nullable)

    def either(self, other: "Reach") -> "Reach":
        """Return the reach of this part or another."""
        return Reach(self.first | other.first, self.nullable or other.nullable)


_GROUPS = 32
"""Groups open at once, so that the proof never runs into Python's recursion limit."""
_QUANTIFIER = re.compile(r"[*+?]|\{([0-9]{1,4})(?:,[0-9]{0,4})?\}")
_EMPTY = Reach(frozenset(), nullable=True)


def is_word(text: str) -> bool:
    """Tell whether a value may be passed as a word of a command."""
    return text != "" and text[0] != "-" and ALLOWED.issuperset(text)


def reach(pattern: str) -> Reach:
    """Return what an anchored pattern can start with, having proved that it keeps to `ALLOWED`.

    The pattern is one that `schemas.profile.lint` accepts. It is read as literals, escapes, classes,
    groups, alternatives and quantifiers; anything else is refused rather than guessed.

    Raises:
        Unprovable: it can match another character, or holds syntax that is not known here.
    """
    parser = _Parser(pattern)
    result = parser.alternatives()
    if parser.rest():
        raise Unprovable(f"an unexpected {parser.rest()[0]!r}")
    return result


class _Parser:
    """Recursive descent over the pattern."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._offset = 0
        self._groups = 0

    def rest(self) -> str:
        return self._pattern[self._offset :]

    def _take(self) -> str:
        if not self.rest():
            raise Unprovable("an unfinished pattern")
        character = self._pattern[self._offset]
        self._offset += 1
        return character

    def alternatives(self) -> Reach:
        result = self._sequence()
        while self.rest().startswith("|"):
            self._take()
            result = result.either(self._sequence())
        return result

    def _sequence(self) -> Reach:
        result = _EMPTY
        while self.rest() and self.rest()[0] not in "|)":
            result = result.then(self._repeated(self._atom()))
        return result

    def _repeated(self, atom: Reach) -> Reach:
        """Read the quantifier that may follow an atom; one that allows no repetition makes it nullable."""
        quantifier = _QUANTIFIER.match(self._pattern, self._offset)
        if quantifier is None:
            return atom
        self._offset = quantifier.end()
        may_be_absent = quantifier[0] in ("*", "?") or (quantifier[1] is not None and int(quantifier[1]) == 0)
        return Reach(atom.first, atom.nullable or may_be_absent)

    def _atom(self) -> Reach:
        character = self._take()
        match character:
            case "^" | "$":
                return _EMPTY
            case "(":
                return self._group()
            case "[":
                return Reach(self._class(), nullable=False)
            case "\\":
                return Reach(self._escape(), nullable=False)
            case "." | "*" | "+" | "?" | "{" | "}" | "]":
                raise Unprovable(f"an unescaped {character!r}")
            case _:
                return Reach(_allowed(frozenset(character)), nullable=False)

    def _group(self) -> Reach:
        if self.rest().startswith("?:"):
            self._offset += 2
        elif self.rest().startswith("?"):
            raise Unprovable("a '(?' that is not '(?:'")
        self._groups += 1
        if self._groups > _GROUPS:
            raise Unprovable(f"more than {_GROUPS} groups in one another")
        result = self.alternatives()
        self._take()  # the closing parenthesis, since nothing else ends the alternatives before the pattern does
        self._groups -= 1
        return result

    def _escape(self) -> frozenset[str]:
        character = self._take()
        if character.isalnum():
            raise Unprovable(f"the escape '\\{character}'")
        return _allowed(frozenset(character))

    def _class(self) -> frozenset[str]:
        members: set[str] = set()
        while True:
            character = self._take()
            if character == "]" and members:
                return _allowed(frozenset(members))
            if character in "^[" and not members:
                raise Unprovable(f"a class that starts with {character!r}")
            if character == "\\":
                members |= self._escape()
                continue
            if self.rest().startswith("-") and not self.rest().startswith("-]"):
                self._take()
                members |= _range(character, self._take())
            else:
                members.add(character)


def _range(first: str, last: str) -> frozenset[str]:
    """Ranges stay within one alphabet, so that `A-z` does not slip in the characters between."""
    for alphabet in (string.ascii_lowercase, string.ascii_uppercase, string.digits):
        if first in alphabet and last in alphabet and first <= last:
            return frozenset(alphabet[alphabet.index(first) : alphabet.index(last) + 1])
    raise Unprovable(f"the range '{first}-{last}'")


def _allowed(characters: frozenset[str]) -> frozenset[str]:
    for character in sorted(characters - ALLOWED):
        raise Unprovable(f"the character {character!r}")
    return characters
