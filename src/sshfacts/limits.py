"""Every bound that is not an operation's own, with its unit and its reason."""

from dataclasses import dataclass

KIB = 1024
MIB = 1024 * KIB


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """How much of an answer is read before it is refused.

    An operation may lower each of these and never raise one over the site's ceilings.
    """

    bytes: int = 64 * KIB
    """Bytes of stdout, counted as they arrive."""
    depth: int = 16
    """Containers open at once."""
    values: int = 100_000
    """Scalars and containers in the whole document."""
    items: int = 10_000
    """Elements of one array, or lines of a line format."""
    members: int = 256
    """Members of one object."""
    name: int = 128
    """Code points of one member's name, after unescaping."""
    string: int = 8 * KIB
    """Code points of one string, after unescaping."""
    number: int = 32
    """Bytes of one number. yajl2_c crashes the process on an integer of 4301 digits."""


DEFAULTS = ReadLimits()
CEILINGS = ReadLimits(
    bytes=MIB,
    depth=32,  # jsonschema runs into Python's recursion limit between 200 and 300
    members=1_000,
    name=256,
    string=16 * KIB,  # the token lexer needs about 700 bytes of stack per escape of one string
)

REQUEST = ReadLimits()
"""One request of an agent: some arguments, and what a protocol puts around them."""

STDERR_BYTES = 64 * KIB
"""stderr over this ends a run; a command that floods stderr is broken or hostile."""
STDERR_KEPT = 2 * KIB
"""Bytes of stderr that are kept for the operator's record; never shown to the agent."""
COMMAND_BYTES = 8 * KIB
"""The rendered command. sshd drops the whole connection at about 256 KiB."""
CONTRACT_BYTES = 64 * KIB
"""One contract file."""
COMMAND_FILE_BYTES = 64 * KIB
"""One command file."""
SECONDS = 300
"""The longest deadline an operation may ask for; MCP clients give up after about 60."""
RAW_PER_DAY = 256 * MIB
"""Bytes of raw copies of one process and day, unless a site says otherwise: some ten thousand large refusals."""
KEEP_FREE = 256 * MIB
"""Bytes that stay free on the disk of the record, so that calls in flight can still be recorded."""
