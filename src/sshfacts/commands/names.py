"""The forms of every name that appears in a site's files, each with its words for messages."""

import re
from dataclasses import dataclass

from sshfacts.commands.shapes import Text


@dataclass(frozen=True, slots=True)
class NameForm:
    """An anchored pattern, its longest text, and both in words."""

    pattern: str
    most: int
    form: str

    def text(self) -> Text:
        """Return the shape of a value of this form."""
        return Text(self.most, self.pattern, self.form)

    def accepts(self, name: str) -> bool:
        """Tell whether a name has this form. One that has not is never made a part of a path."""
        return len(name) <= self.most and re.fullmatch(self.pattern, name) is not None


OPERATION = NameForm(r"^[a-z][a-z0-9_]{2,39}$", 40, "3 to 40 of a-z, 0-9 and _, a letter first")
ARGUMENT = NameForm(r"^[a-z][a-z0-9_]{0,39}$", 40, "1 to 40 of a-z, 0-9 and _, a letter first")
GRANT = NameForm(r"^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*$", 64, "lower-case words joined by dots, such as systemd.read")
LABEL = NameForm(r"^[a-z0-9][a-z0-9_.-]{0,62}$", 63, "1 to 63 of a-z, 0-9 and _ . -, a letter or digit first")
"""Host aliases, host groups, callers, credentials, owners."""
PERSON = NameForm(r"^[A-Za-z0-9][A-Za-z0-9_.@+-]{0,126}$", 127, "a user name or a mail address")
CHECK = NameForm(r"^[a-z][a-z0-9_]{1,63}$", 64, "2 to 64 of a-z, 0-9 and _, a letter first")
ENVIRONMENT = NameForm(r"^[A-Z][A-Z0-9_]{0,63}$", 64, "upper-case letters, digits and _")
ADAPTER = NameForm(r"^[a-z][a-z0-9_]{0,63}$", 64, "1 to 64 of a-z, 0-9 and _, a letter first")
MEMBER = NameForm(r"^[A-Za-z_][A-Za-z0-9_]{0,63}$", 64, "1 to 64 letters, digits and _")
DOCUMENT_CONTRACT = NameForm(
    r"^[a-z][a-z0-9_]{2,39}/document\.v[1-9][0-9]{0,3}$", 64, "NAME/document.vN, such as disk_usage/document.v1"
)
FACTS_CONTRACT = NameForm(
    r"^[a-z][a-z0-9_]{2,39}/facts\.v[1-9][0-9]{0,3}$", 64, "NAME/facts.vN, such as disk_usage/facts.v1"
)
PRINTABLE = r"^[ -~]+$"
"""Printable ASCII on one line: what may be sent in a command."""
PLAIN = r"^[^\u0000-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]+$"
"""Text on one line, for people and agents, without controls and without characters that nobody sees."""
