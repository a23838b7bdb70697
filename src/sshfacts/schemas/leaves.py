"""Scalars in one test each: the common schemas of single values, fused for speed.

A leaf test only ever accepts, and only what the keywords of its schema accept. Whatever it does not accept goes to
those keywords, which decide and word the refusal; so a test may know less than its schema, and never more.
"""

from collections.abc import Callable
from sys import maxsize

from sshfacts.schemas.assertions import Test
from sshfacts.schemas.patterns import compiled
from sshfacts.schemas.text_formats import FORMATS
from sshfacts.schemas.tree import Node
from sshfacts.values import JsonValue

_DESCRIBES = frozenset({"$comment", "default", "deprecated", "description", "examples", "title", "x-untrusted-text"})


def leaf_test(node: Node) -> Test:
    """Return a test that is true only for values that the schema accepts; for most schemas it is never true."""
    kind = "enum" if node.has("enum") else min(node.types - {"null"}, default="")
    make, keywords = _MAKERS.get(kind, _NONE)
    if not node.written <= keywords | _DESCRIBES:
        return _never
    test = make(node)
    if test is None:
        return _never
    return (lambda value: value is None or test(value)) if "null" in node.types else test


def _never(_: JsonValue) -> bool:
    return False


def _choice(node: Node) -> Test | None:
    listed = node.keywords.get("enum")
    if not isinstance(listed, list) or not all(isinstance(value, str) for value in listed):
        return None
    texts = frozenset(map(str, listed))
    return lambda value: isinstance(value, str) and value in texts


def _boolean(_: Node) -> Test:
    return lambda value: isinstance(value, bool)


def _integer(node: Node) -> Test | None:
    lowest, highest = node.keywords.get("minimum"), node.keywords.get("maximum")
    if not isinstance(lowest, int) or not isinstance(highest, int):
        return None
    return lambda value: type(value) is int and lowest <= value <= highest


def _number(node: Node) -> Test | None:
    lowest, highest = node.keywords.get("minimum"), node.keywords.get("maximum")
    if not isinstance(lowest, (int, float)) or not isinstance(highest, (int, float)):
        return None
    # NaN is in no range, and bounds are finite, so that infinity is in none either.
    return lambda value: (type(value) is float or type(value) is int) and lowest <= value <= highest


def _text(node: Node) -> Test | None:
    shortest, longest = node.keywords.get("minLength", 0), node.keywords.get("maxLength", maxsize)
    if not isinstance(shortest, int) or not isinstance(longest, int):
        return None
    tests: list[Callable[[str], bool]] = []
    if "format" in node.keywords:
        tests.append(FORMATS[str(node.keywords["format"])])
    if "pattern" in node.keywords:
        tests.append(compiled(str(node.keywords["pattern"])).accepts)
    match tests:
        case []:
            return lambda value: isinstance(value, str) and shortest <= len(value) <= longest
        case [holds]:
            return lambda value: isinstance(value, str) and shortest <= len(value) <= longest and holds(value)
    return None


_NONE: tuple[Callable[[Node], Test | None], frozenset[str]] = (lambda _: None, frozenset())
_MAKERS: dict[str, tuple[Callable[[Node], Test | None], frozenset[str]]] = {
    "enum": (_choice, frozenset({"enum"})),
    "boolean": (_boolean, frozenset({"type"})),
    "integer": (_integer, frozenset({"maximum", "minimum", "type"})),
    "number": (_number, frozenset({"maximum", "minimum", "type"})),
    "string": (_text, frozenset({"format", "maxLength", "minLength", "pattern", "type"})),
}
"""How a test is made for each type, and the keywords that it takes into account."""
