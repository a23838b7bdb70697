"""What an agent asks for, before anybody has looked at it."""

from dataclasses import dataclass

from sshfacts.values import JsonObject


@dataclass(frozen=True, slots=True)
class Request:
    """One call as it came in: nothing in it is trusted."""

    tool: str
    """The name of the operation asked for."""
    host: str
    """The alias of the host asked for."""
    arguments: JsonObject
    """The operation's own arguments, without `host`."""
