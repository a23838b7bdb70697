"""Characters that a reader does not see: they steer a terminal, reorder a line or smuggle text to an agent."""

import re

from sshfacts.schemas.pointers import escaped
from sshfacts.values import JsonValue

# Controls, line and paragraph separators, lone surrogates, and what Unicode calls Default_Ignorable_Code_Point
# (DerivedCoreProperties.txt): bidirectional embeddings and isolates, zero-width characters, tags, fillers and
# variation selectors. U+FE0E and U+FE0F are left: they stand after visible symbols and have one bit of freedom.
_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff"
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def has_hidden_characters(text: str) -> bool:
    """Tell whether `text` holds a character that a reader does not see; a line break and a tab count."""
    if text.isascii():
        return not text.isprintable()
    return _HIDDEN.search(text) is not None


def hidden_text_in(value: JsonValue) -> str | None:
    """Return the RFC 6901 pointer of the first text that holds such a character, or `None`.

    Names of members are not looked at: in a value that keeps to a closed contract they are the author's.
    """
    if isinstance(value, str):
        return "" if has_hidden_characters(value) else None
    if isinstance(value, (dict, list)):
        for step, part in value.items() if isinstance(value, dict) else enumerate(value):
            below = hidden_text_in(part) if isinstance(part, (str, dict, list)) else None
            if below is not None:
                return f"/{escaped(str(step))}{below}"
    return None
