r"""Regular expressions that mean the same to ECMA-262, Python and RE2, and run on RE2 in linear time.

The common subset is small on purpose. Left out is what the three read differently: `.` (which line ends it skips),
`\d \w \s \b` (ASCII or Unicode), `$` before a final newline, `{,n}`, possessive and lazy quantifiers, an empty or
nested class, named groups, flags, look-around and backreferences, and everything beyond printable ASCII.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

import re2

_LONGEST = 512
"""Characters of one pattern."""
_MOST_REPEATS = 1_000
"""RE2 refuses a higher count in one quantifier."""
_UNANCHORED = "contract.pattern_unanchored"
_MEMORY = 1 << 20
"""Bytes that RE2 may use for one pattern; over it the pattern is refused at load."""

_ESCAPED = r"\\(?:[\^$\\.*+?()\[\]{}|/tnr]|x[0-7][0-9A-Fa-f])"
_CLASS_ESCAPED = r"\\(?:[\^$\\.*+?()\[\]{}|/\-tnr]|x[0-7][0-9A-Fa-f])"
_CLASS_PLAIN = r"[ !-,./0-Z^-~]"  # printable ASCII without - [ \ ]
_CLASS_ONE = rf"(?:{_CLASS_ESCAPED}|{_CLASS_PLAIN})"
_CLASS_PARTS = re.compile(rf"(?P<low>{_CLASS_ONE})-(?P<high>{_CLASS_ONE})|(?P<one>{_CLASS_ONE})")
_CLASS = rf"\[\^?-?(?:{_CLASS_ONE}-{_CLASS_ONE}|{_CLASS_ONE})*-?\]"
_TOKEN = re.compile(
    rf"(?P<class>{_CLASS})"
    r"|(?P<quantifier>[*+?]|\{[0-9]{1,4}(?:,(?:[0-9]{1,4})?)?\})"
    r"|(?P<open>\((?:\?:)?(?!\?))"
    r"|(?P<close>\))"
    r"|(?P<bar>\|)"
    rf"|(?P<one>{_ESCAPED}|[ !\"#%&',\-/0-9:;<=>@A-Z_`a-z~])"
)
_DOUBLED = ("--", "&&", "~~", "||")
"""Set operations in newer Python and ECMA-262; plain characters in RE2."""


@dataclass(frozen=True, slots=True)
class PatternFault:
    """Why a pattern is outside the common subset."""

    what: str
    fix: str
    code: str = "contract.pattern"
    """The name of the problem in `PROBLEMS`."""


class Pattern:
    """A compiled pattern of the common subset.

    Args:
        source: for which `fault()` finds nothing.

    Raises:
        re2.error: the pattern is not in the subset, or needs too much memory.
    """

    __slots__ = ("_fast", "_sure", "source")

    def __init__(self, source: str) -> None:
        options = re2.Options()
        options.log_errors = False  # RE2 would write them to stderr
        options.max_mem = _MEMORY
        options.never_capture = True
        self.source = source
        # The anchors are taken off and the whole text is matched, so that nothing depends on what `$` means.
        body = source.removeprefix("^").removesuffix("$")
        self._sure = re2.compile(body, options)
        self._fast = re2.Set.FullMatchSet(options)
        self._fast.Add(body)
        self._fast.Compile()

    def accepts(self, text: str) -> bool:
        """Tell whether the whole of `text` matches. Text that is not Unicode (a lone surrogate) never does."""
        try:
            data = text.encode()
        except UnicodeEncodeError:
            return False
        # A set of one pattern answers in a fifth of the time, since it makes no match object. It also says no when its
        # automaton runs out of memory, so that only its yes counts.
        return bool(self._fast.Match(data)) or self._sure.fullmatch(data) is not None


@lru_cache(maxsize=1_024)
def compiled(source: str) -> Pattern:
    """Return the compiled pattern; contracts share many, and a compiled one never changes."""
    return Pattern(source)


def fault(source: str) -> PatternFault | None:
    """Return why `source` is outside the common subset, or `None`."""
    if len(source) > _LONGEST:
        return PatternFault(f"has more than {_LONGEST} characters", "split the field, or list values with enum")
    if not source.isascii() or not source.isprintable():
        return PatternFault("holds a character that is not printable ASCII", r"write \n, \t or \x7f")
    if len(source) < 2 or not source.startswith("^") or not source.endswith("$") or _is_escaped_end(source):
        return PatternFault("does not start with ^ and end with $", "write ^(?:...)$", _UNANCHORED)
    return _body_fault(source[1:-1]) or _compile_fault(source)


def _is_escaped_end(source: str) -> bool:
    before_end = source[:-1]
    return (len(before_end) - len(before_end.rstrip("\\"))) % 2 == 1


def _body_fault(body: str) -> PatternFault | None:
    """Read what stands between the anchors, token by token."""
    depth, position, may_repeat = 0, 0, False
    while position < len(body):
        token = _TOKEN.match(body, position)
        if token is None:
            return _unreadable(body[position:])
        text, kind = token.group(), token.lastgroup
        problem = None
        match kind:
            case "quantifier":
                problem = _quantifier_fault(text, may_repeat=may_repeat)
            case "class":
                problem = _class_fault(text)
            case "bar" if depth == 0:
                problem = PatternFault("has an alternative outside a group", "write ^(?:one|other)$", _UNANCHORED)
            case "open":
                depth += 1
            case "close" if depth == 0:
                problem = PatternFault("closes a group that is not open", r"write \) for the character")
            case "close":
                depth -= 1
        if problem is not None:
            return problem
        may_repeat = kind in ("one", "class", "close")
        position = token.end()
    return PatternFault("leaves a group open", r"close it, or write \( for the character") if depth else None


def _quantifier_fault(text: str, *, may_repeat: bool) -> PatternFault | None:
    if not may_repeat:
        return PatternFault(f"has {text!r} where nothing can be repeated", "put one quantifier after one thing")
    counts = [int(count) for count in re.findall("[0-9]+", text)]
    if counts and max(counts) > _MOST_REPEATS:
        return PatternFault(f"repeats more than {_MOST_REPEATS} times", "bound the length with maxLength")
    if len(counts) == 2 and counts[0] > counts[1]:
        return PatternFault(f"has the counts of {text!r} the wrong way round", "write the lower count first")
    return None


def _class_fault(text: str) -> PatternFault | None:
    inner = text[1:-1].removeprefix("^")
    if not inner:
        return PatternFault(f"has the empty class {text!r}", r"write \] for the character")
    if doubled := next((pair for pair in _DOUBLED if pair in inner), None):
        return PatternFault(f"has {doubled!r} in a class", "write the character once")
    for part in _CLASS_PARTS.finditer(inner):
        low, high = part["low"], part["high"]
        if low is not None and _code_point(low) > _code_point(high):
            return PatternFault(f"has the range {part.group()!r} the wrong way round", "write the lower end first")
    return None


def _code_point(text: str) -> int:
    if text.startswith(r"\x"):
        return int(text.removeprefix(r"\x"), base=16)
    controls = {r"\t": "\t", r"\n": "\n", r"\r": "\r"}
    return ord(controls.get(text, text[-1]))


_HINTS = {
    ".": ("'.', which skips other line ends in each language", r"name the characters, such as [ -~] or [^\n]"),
    r"\d": (r"'\d', which is ASCII in one language and Unicode in another", "write [0-9]"),
    r"\w": (r"'\w', which is ASCII in one language and Unicode in another", "write [A-Za-z0-9_]"),
    r"\s": (r"'\s', which differs between languages", r"write [ \t]"),
    "^": ("'^' inside the pattern", r"write \^ for the character"),
    "$": ("'$' inside the pattern", r"write \$ for the character"),
    "(?": ("a group that is not plain", "only (...) and (?:...) are common to all"),
    "[": ("a class that differs between languages", r"escape [ ] and \ in it, and put - first or last"),
    "{": ("a brace that is no count", r"write \{ for the character, or {0,n}"),
}


def _unreadable(rest: str) -> PatternFault:
    for start, (what, fix) in _HINTS.items():
        if rest.startswith(start):
            return PatternFault(f"has {what}", fix)
    return PatternFault(f"has {rest[:2]!r}, which differs between languages", "write the characters in a class")


def _compile_fault(source: str) -> PatternFault | None:
    try:
        compiled(source)
    except re2.error:
        return PatternFault("is too large for RE2", "lower the counts; maxLength bounds the length")
    return None
