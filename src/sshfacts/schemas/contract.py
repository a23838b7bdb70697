"""A contract: the closed JSON Schema that a value keeps to, or the call is refused."""

import json
from collections.abc import Mapping

from jsonschema.exceptions import ValidationError

from sshfacts.errors import Refusal
from sshfacts.schemas.build import SOURCE, build
from sshfacts.schemas.hidden_text import hidden_text_in
from sshfacts.schemas.pointers import escaped
from sshfacts.schemas.profile import Kind, lint
from sshfacts.schemas.references import References
from sshfacts.schemas.tree import Node, read_tree
from sshfacts.values import JsonObject, JsonValue

_LONGEST_BOUND = 80
"""Characters of a bound that are shown; a longer one is looked up under its pointer."""
_OWN_BOUND = frozenset({"additionalProperties", "required"})
"""Keywords whose error says the bound: the missing name, and `false`. The others show what stands in the file."""


class Contract:
    """One JSON Schema of the profile, compiled; it never changes after it was made.

    Args:
        schema: the content of the contract file.
        kind: facts and arguments additionally hold no hidden characters, and an integer in them is never 1.0.

    Raises:
        ValueError: `lint()` finds a problem.
    """

    __slots__ = ("_validator", "kind", "schema")

    def __init__(self, schema: JsonObject, kind: Kind) -> None:
        problems = lint(schema, kind)
        root, _ = read_tree(schema)
        if problems or root is None:
            raise ValueError("; ".join(f"#{problem.pointer}: {problem.what}" for problem in problems))
        self.schema = schema
        self.kind = kind
        self._validator = build(root, References(root), exact_integers=kind is not Kind.DOCUMENT)

    def violation(self, value: JsonValue) -> str | None:
        """Return the first violation in our own words, or `None`.

        It names the keyword, the bound and the place in the contract, and the place in the value by names that the
        contract itself has: `minimum 0 at #/properties/size (in /filesystems/3/size)`. Never a part of the value.
        """
        try:
            error = next(self._validator.iter_errors(value), None)
            if error is not None:
                return _in_words(error)
            hidden = None if self.kind is Kind.DOCUMENT else hidden_text_in(value)
        except RecursionError:
            return "nested too deeply for its contract"
        return None if hidden is None else f"hidden characters in a text (in {hidden})"

    def validate(self, value: JsonValue, detail: str) -> None:
        """Accept a value, or refuse the call.

        Raises:
            Refusal: `detail`, with the violation as its place.
        """
        violation = self.violation(value)
        if violation is not None:
            raise Refusal(detail, violation)


def _in_words(error: ValidationError) -> str:
    """Say which rule was broken and where, by the contract's own words."""
    source = error.schema.get(SOURCE) if isinstance(error.schema, Mapping) else None
    if not isinstance(source, Node):
        raise TypeError("an error of a schema that was not built from a contract")
    keyword = str(error.validator)
    bound = error.validator_value if keyword in _OWN_BOUND else source.keywords.get(keyword)
    shown = "" if bound is None else f" {json.dumps(bound)}"
    rule = keyword + (shown if len(shown) <= _LONGEST_BOUND else "")
    place = "".join(f"/{escaped(str(step))}" for step in error.absolute_path)
    return f"{rule} at #{source.pointer}" + (f" (in {place})" if place else "")
