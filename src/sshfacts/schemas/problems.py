"""What can be wrong with a contract, a rule or a selection: a closed registry of codes."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that an author must mend.

    Raises:
        KeyError: `code` is not in the registry; the set of problems is closed.
    """

    code: str
    """A name of `PROBLEMS`."""
    pointer: str
    """RFC 6901 pointer into the schema file; empty for the whole file, and for rules and selections."""
    what: str
    """What stands there, in words; it quotes the author's text only."""
    fix: str
    """What the author writes instead."""

    def __post_init__(self) -> None:
        PROBLEMS[self.code]


PROBLEMS: Mapping[str, str] = MappingProxyType(
    {
        # The form of a contract.
        "contract.schema": "A contract is one JSON Schema of draft 2020-12 for an object or an array.",
        "contract.depth": "A schema nested this deeply cannot be reviewed, and runs into Python's recursion limit.",
        "contract.unknown_keyword": (
            "JSON Schema ignores a keyword it does not know, so a slip would be a rule that the author believes in "
            "and nobody applies."
        ),
        "contract.keyword_value": "A keyword with a value of the wrong shape cannot be applied.",
        "contract.unknown_format": "JSON Schema lets everything through an unknown format.",
        "contract.reference": (
            "A contract is complete in itself: nothing is fetched, and a reference that leads nowhere or in a circle "
            "would only be noticed by a document that reaches it."
        ),
        "contract.pattern": (
            "A pattern must mean the same to ECMA-262, Python and RE2, because agents, tests and the service read it."
        ),
        "contract.pattern_unanchored": "A pattern that is not anchored accepts a good text with anything around it.",
        # What a contract leaves open or without a bound.
        "contract.untyped": "A value without a type can be anything, of any size.",
        "contract.open_object": "A member that nobody named is the way in for a claim that nobody checked.",
        "contract.open_array": "An array whose items have no schema holds anything.",
        "contract.open_facts": "Facts hold what their contract names and nothing else.",
        "contract.unbounded": "Texts, arrays and numbers have bounds, so that no answer can exhaust or flood anybody.",
        "contract.closed_branch": (
            "A branch of a composition is applied to the whole object by itself: closed there, it refuses the members "
            "that the other branches describe."
        ),
        "contract.unknown_member": "The object is closed and has no such member, so the rule can never hold or fail.",
        "contract.untrusted_text": (
            "Free text of a remote host can hold instructions for the agent; it is small, and marked for what it is."
        ),
        "contract.reserved_name": "The engine writes this member itself; no host and no agent has a say in it.",
        "contract.argument": "An argument becomes one word of a command: a bounded text, an integer or a boolean.",
        # The rules of checks.
        "check.length": "A rule that does not fit on a page cannot be reviewed.",
        "check.syntax": "The rule is not well-formed CEL.",
        "check.unknown_name": "A name that is not there makes every call of the operation fail.",
        "check.unknown_function": "Only functions whose meaning is exact and whose cost is known are available.",
        "check.quadratic": "This costs the square of the rows that a host sends: 200 rows take 20 ms, 10,000 a minute.",
        "check.untied": (
            "A binding ties the answer to the question and a freshness check ties it to the clock; a rule that names "
            "neither ties nothing."
        ),
        "check.alternative": "`||` takes an error on one side for an answer, and a tie has no alternative.",
        # Selections.
        "select.length": "A selection that does not fit on a page cannot be reviewed.",
        "select.syntax": "The selection is not well-formed JMESPath.",
        "select.root": "Facts are a new object whose members are all named in the selection.",
        "select.unknown_name": "JMESPath reads an unknown name as null without a word.",
        "select.unknown_function": "Only functions that refuse what they cannot convert exactly are available.",
        "select.arguments": "The function is called with the wrong number of arguments, so that every call would fail.",
        "select.projection_name": (
            "Inside a projection names belong to the element; `document` and the other roots are silently null there."
        ),
        "select.reserved_name": "The engine writes this fact itself; no host has a say in it.",
    }
)
"""Why each problem matters, by code: one sentence each, shown with every finding."""
