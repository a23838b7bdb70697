"""Characters that a reader does not see: they steer a terminal, reorder a line or smuggle text to an agent."""

import re

from sshfacts.schemas.pointers import escaped
from sshfacts.values import JsonValue

# Controls, line and paragraph separators, lone surrogates, and what Unicode calls Default_Ignorable_Code_Point
# (DerivedCoreProperties.txt): bidirectional embeddings and isolates, zero-width characters, tags, fillers and
# variation selectors. Also the other format controls (Cf), the blank braille pattern, the object replacement character,
# and private use, which spells whatever its sender likes. U+FE0E and U+FE0F may stand once after a visible character.
_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff"
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffc\u2800\ue000-\uf8ff\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U0010ffff]"
    "|(?:^|[\ufe0e\ufe0f])[\ufe0e\ufe0f]"
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
