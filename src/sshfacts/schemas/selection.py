"""Selection: a JMESPath expression that makes the few facts out of a document.

JMESPath reads what is not there as null without a word. So a fact whose contract does not allow null is refused by the
contract when its document lacks it, and names that can never be there are refused when the selection is loaded.
"""

import jmespath

from sshfacts.errors import Refusal
from sshfacts.schemas.functions import NotExactError, StrictFunctions
from sshfacts.schemas.selection_lint import facts_named, parsed, selection_problems
from sshfacts.values import JsonObject, JsonValue

__all__ = ["Selection", "selection_problems"]

_OPTIONS = jmespath.Options(custom_functions=StrictFunctions())


class Selection:
    """A compiled selection.

    Args:
        source: `{fact: expression, ...}`.

    Raises:
        ValueError: `selection_problems()` finds a problem.
    """

    __slots__ = ("_compiled", "names", "source")

    def __init__(self, source: str) -> None:
        problems = selection_problems(source)
        if problems:
            raise ValueError("; ".join(problem.what for problem in problems))
        self.source = source
        self._compiled = parsed(source)
        self.names = frozenset(facts_named(self._compiled.parsed))
        """The names of the facts."""

    def select(self, document: JsonValue, arguments: JsonObject, host: str) -> JsonObject:
        """Return the facts that the selection makes. They may share parts with the document.

        Raises:
            Refusal: `select.failed`, if a strict function has no exact result or a function meets another type.
        """
        roots = {"document": document, "arguments": arguments, "host": host}
        try:
            facts = self._compiled.search(roots, _OPTIONS)
        except NotExactError as error:
            raise Refusal("select.failed", str(error)) from None
        except Exception:  # noqa: BLE001  # jmespath lets Python's own errors through; all of them quote the document
            raise Refusal("select.failed", "a function meets a value that it does not take") from None
        if not isinstance(facts, dict):
            raise Refusal("select.failed", "the result is not an object")
        return facts
