"""The one tree of errors, the finite codes and the closed registry of details.

    SshfactsError
    ├── Refusal      a call that ends without facts: a detail of `DETAILS`, and where
    ├── SiteError    what an author or operator wrote is wrong: findings with path, line and column
    └── UsageError   a command line that asks for something impossible

A `Refusal` has a machine part (`detail`, `code`, `stage`) and a part for operators (`where`), which is
written in our own words: a keyword, a schema path, a bound, a byte offset. It never holds a value
that came from a remote host, and never a text of ijson, jsonschema, cel or jmespath, because those
quote the data.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType


class Code(StrEnum):
    """What the agent sees when it gets no facts."""

    DENIED = "DENIED"
    INVALID_ARGUMENTS = "INVALID_ARGUMENTS"
    APPROVAL_REQUIRED = "APPROVAL_REQUIRED"
    NOT_FOUND = "NOT_FOUND"
    UPSTREAM_UNAVAILABLE = "UPSTREAM_UNAVAILABLE"
    UPSTREAM_REFUSED = "UPSTREAM_REFUSED"
    COMMAND_FAILED = "COMMAND_FAILED"
    TIMEOUT = "TIMEOUT"
    BUSY = "BUSY"
    INVALID_RESPONSE = "INVALID_RESPONSE"
    AUDIT_UNAVAILABLE = "AUDIT_UNAVAILABLE"
    INTERNAL = "INTERNAL"

    @property
    def retryable(self) -> bool:
        """Whether the same call may succeed later without anybody changing anything."""
        return self in _RETRYABLE

    @property
    def http_status(self) -> int:
        """The status of the HTTP door's answer."""
        return _HTTP_STATUS[self]


_RETRYABLE = frozenset(
    {Code.APPROVAL_REQUIRED, Code.UPSTREAM_UNAVAILABLE, Code.TIMEOUT, Code.BUSY, Code.AUDIT_UNAVAILABLE}
)
_HTTP_STATUS = MappingProxyType(
    {
        Code.DENIED: 404,  # like an unknown name, so that nobody learns what exists
        Code.INVALID_ARGUMENTS: 422,
        Code.APPROVAL_REQUIRED: 409,
        Code.NOT_FOUND: 404,
        Code.UPSTREAM_UNAVAILABLE: 502,
        Code.UPSTREAM_REFUSED: 502,
        Code.COMMAND_FAILED: 502,
        Code.TIMEOUT: 504,
        Code.BUSY: 429,
        Code.INVALID_RESPONSE: 502,
        Code.AUDIT_UNAVAILABLE: 503,
        Code.INTERNAL: 500,
    }
)


class Stage(StrEnum):
    """Which stage of the pipeline ended the call."""

    DECIDE = "decide"
    LIMITS = "limits"
    RUN = "run"
    READ = "read"
    DOCUMENT = "document"
    CHECKS = "checks"
    FACTS = "facts"
    RECORD = "record"
    ANY = "any"


@dataclass(frozen=True, slots=True)
class Detail:
    """One entry of the closed registry: what happened, and what an operator does about it."""

    name: str
    code: Code
    stage: Stage
    meaning: str
    fix: str


def _registry(entries: Iterable[tuple[Code, Stage, str, str, str]]) -> Mapping[str, Detail]:
    return MappingProxyType(
        {name: Detail(name, code, stage, meaning, fix) for code, stage, name, meaning, fix in entries}
    )


_REPORT = "This is a fault of sshfacts or of its adapter; report it with the request id."
_HOSTILE = "Look at the kept output with `sshfacts try`; the tool changed, or the host lies."
_LIMIT = "Ask for less, or raise the limit in the command file if the answer is right."

# fmt: off
# One entry per line, so that they can be read and compared as a table.
DETAILS = _registry(
    [
        # decide
        (Code.DENIED, Stage.DECIDE, "tool_not_allowlisted", "No served operation has this name.", "Check the name with `sshfacts operations`."),
        (Code.DENIED, Stage.DECIDE, "grant_missing", "The caller lacks a grant that the operation needs.", "Add the grant to the caller in sshfacts.toml, if it should have it."),
        (Code.DENIED, Stage.DECIDE, "host_not_allowed", "The host is unknown, or not in a group that both the operation and the caller may use.", "Check the host's groups, the operation's `hosts` and the caller's `host_groups`."),
        (Code.DENIED, Stage.DECIDE, "approval_refused", "A person refused this call.", "Ask the person who refused it."),
        (Code.DENIED, Stage.DECIDE, "approval_expired", "The approval was not used in time.", "Make the call again to ask anew."),
        (Code.DENIED, Stage.DECIDE, "paused", "An operator paused this operation, host or caller.", "See who paused it and why with `sshfacts pause --list`; resume it when it is safe."),
        (Code.INVALID_ARGUMENTS, Stage.DECIDE, "arguments_invalid", "An argument is missing, unknown, or breaks its schema.", "Compare the arguments with the operation's schema."),
        (Code.APPROVAL_REQUIRED, Stage.DECIDE, "approval_required", "A person must approve this call before it runs.", "Have it approved with `sshfacts approvals`, then make the same call again."),
        # limits
        (Code.BUSY, Stage.LIMITS, "busy.rate", "The caller makes more calls than its rate allows.", "Call less often, or raise the caller's rate."),
        (Code.BUSY, Stage.LIMITS, "busy.caller", "As many calls of the caller run, or wait for a person, as may.", "Wait for running calls and for people, or raise the caller's limits."),
        (Code.BUSY, Stage.RUN, "busy.host", "The queue for this host is full.", "Wait; if it stays full, look for calls that hang on this host."),
        # run
        (Code.NOT_FOUND, Stage.RUN, "not_found.exit", "The command's exit status says that the thing asked for does not exist.", "Nothing to fix: the answer is that it does not exist."),
        (Code.UPSTREAM_UNAVAILABLE, Stage.RUN, "ssh.unreachable", "No connection to the host.", "Check address, port, network and sshd."),
        (Code.UPSTREAM_UNAVAILABLE, Stage.RUN, "ssh.lost", "The connection ended while the command ran.", "Check the host; the command may have run."),
        (Code.UPSTREAM_UNAVAILABLE, Stage.RUN, "ssh.no_exit_status", "The channel closed without an exit status, as a cut answer does.", "Check sshd's log on the host."),
        (Code.UPSTREAM_UNAVAILABLE, Stage.RUN, "ssh.protocol", "The peer broke the SSH protocol, or shares no algorithm with us.", "Check what listens on this port."),
        (Code.UPSTREAM_REFUSED, Stage.RUN, "ssh.host_key", "The host showed a key that is not pinned.", "Somebody may stand in between: compare the fingerprint out of band before changing the pin."),
        (Code.UPSTREAM_REFUSED, Stage.RUN, "ssh.login", "The host refused our key.", "Check user, authorized_keys and the credential."),
        (Code.UPSTREAM_REFUSED, Stage.RUN, "ssh.channel", "The host refuses to run commands for this login.", "Check sshd's configuration for this user."),
        (Code.COMMAND_FAILED, Stage.RUN, "command.exit_status", "The exit status is not one that the command file expects.", "Read the kept stderr of this request."),
        (Code.COMMAND_FAILED, Stage.RUN, "command.signal", "The command was ended by a signal.", "Check the host for memory pressure or an operator's kill."),
        (Code.COMMAND_FAILED, Stage.RUN, "command.missing", "The program is not installed, or may not be executed.", "Install it, or correct `run.argv`."),
        (Code.COMMAND_FAILED, Stage.RUN, "command.stderr", "stderr went over its bound.", "Run the command by hand and look at stderr."),
        (Code.TIMEOUT, Stage.RUN, "timeout.queue", "The deadline passed before a session was free.", "Look for calls that hang on this host."),
        (Code.TIMEOUT, Stage.RUN, "timeout.connect", "The deadline passed before the host answered.", "Check the network and the host's load."),
        (Code.TIMEOUT, Stage.RUN, "timeout.run", "The command did not end in time.", "Raise `run.seconds` if the command may take longer."),
        # read
        (Code.INVALID_RESPONSE, Stage.READ, "output.too_large", "stdout went over its byte limit.", _LIMIT),
        (Code.INVALID_RESPONSE, Stage.READ, "output.empty", "stdout is empty and the command file says that this is no answer.", "Set `output.empty` if empty output has a meaning for this command."),
        (Code.INVALID_RESPONSE, Stage.READ, "output.encoding", "stdout is not UTF-8, or holds a character that is never accepted.", _HOSTILE),
        (Code.INVALID_RESPONSE, Stage.READ, "output.leading_data", "Something stands before the document, such as a banner.", "Use a login that prints nothing: no .bashrc output, no rc file."),
        (Code.INVALID_RESPONSE, Stage.READ, "output.trailing_data", "Something follows the document.", _HOSTILE),
        (Code.INVALID_RESPONSE, Stage.READ, "output.truncated", "The document ends too early.", "The tool died or was cut; look at the host."),
        (Code.INVALID_RESPONSE, Stage.READ, "output.syntax", "stdout is not well-formed in its declared format.", _HOSTILE),
        (Code.INVALID_RESPONSE, Stage.READ, "output.duplicate_name", "One object has two members of the same name.", _HOSTILE),
        (Code.INVALID_RESPONSE, Stage.READ, "output.depth", "The document is nested too deeply.", _LIMIT),
        (Code.INVALID_RESPONSE, Stage.READ, "output.items", "An array, an object or the document has too many parts.", _LIMIT),
        (Code.INVALID_RESPONSE, Stage.READ, "output.string", "A string or a name is too long.", _LIMIT),
        (Code.INVALID_RESPONSE, Stage.READ, "output.number", "A number is too long, or cannot be represented exactly.", _LIMIT),
        (Code.INVALID_RESPONSE, Stage.READ, "output.unread_line", "No rule of the format reads this line.", _HOSTILE),
        (Code.INVALID_RESPONSE, Stage.READ, "adapter.failed", "The adapter refused the output or broke.", "Run `sshfacts try` with the kept output."),
        (Code.INVALID_RESPONSE, Stage.READ, "adapter.limit", "The adapter used more time or memory than it may.", "Make the adapter linear, or ask for less output."),
        # document, checks, facts
        (Code.INVALID_RESPONSE, Stage.DOCUMENT, "contract.document", "The document breaks its contract.", _HOSTILE),
        (Code.NOT_FOUND, Stage.CHECKS, "not_found.rule", "The document says that the thing asked for does not exist.", "Nothing to fix: the answer is that it does not exist."),
        (Code.INVALID_RESPONSE, Stage.CHECKS, "check.binding", "The answer is not about what was asked.", _HOSTILE),
        (Code.INVALID_RESPONSE, Stage.CHECKS, "check.freshness", "The answer is too old, or from the future.", "Check the clock of the host and of this service."),
        (Code.INVALID_RESPONSE, Stage.CHECKS, "check.consistency", "Parts of the answer contradict each other.", _HOSTILE),
        (Code.INVALID_RESPONSE, Stage.CHECKS, "check.error", "A check could not be judged.", "Correct the rule: it meets a document that its author did not think of."),
        (Code.INVALID_RESPONSE, Stage.FACTS, "select.failed", "The selection found no single, exact value for a fact.", "Correct `facts.select`, or tighten the document contract."),
        (Code.INVALID_RESPONSE, Stage.FACTS, "contract.facts", "The selected facts break their contract.", "Compare `facts.select` with the facts contract."),
        # record, any
        (Code.AUDIT_UNAVAILABLE, Stage.RECORD, "audit.intent", "The intent could not be recorded, so nothing was run.", "Check the database: reachable, writable, not full."),
        (Code.AUDIT_UNAVAILABLE, Stage.RECORD, "audit.outcome", "The outcome could not be recorded, so the facts were withheld.", "Check the database; the command has run."),
        (Code.INTERNAL, Stage.ANY, "internal", "sshfacts failed in a way that it does not know.", _REPORT),
    ]
)
# fmt: on
"""Every way a call can end without facts, by name. Operators see the name; agents see the code."""


class SshfactsError(Exception):
    """The root of every error this package raises on purpose."""


class Refusal(SshfactsError):
    """A call ends without facts.

    Args:
        detail: a name of `DETAILS`; it decides code and stage.
        where: for operators, in our own words: keyword, schema path, bound or byte offset.

    Raises:
        KeyError: `detail` is not in the registry; the set of failures is closed.
    """

    def __init__(self, detail: str, where: str | None = None) -> None:
        self.entry = DETAILS[detail]
        self.where = where
        super().__init__(detail if where is None else f"{detail} ({where})")

    @property
    def detail(self) -> str:
        """The name in the registry, such as `output.syntax`."""
        return self.entry.name

    @property
    def code(self) -> Code:
        """What the agent sees."""
        return self.entry.code

    @property
    def stage(self) -> Stage:
        """The stage that refused."""
        return self.entry.stage


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One thing that is wrong in a site's files. Line and column count from 1; 0 means the whole file."""

    path: str
    line: int
    column: int
    code: str
    what: str
    why: str
    fix: str

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}:{self.column}" if self.line else self.path
        return f"{place}: error[{self.code}]: {self.what}\n  why: {self.why}\n  fix: {self.fix}"


class SiteError(SshfactsError):
    """A site's files cannot be served as they are; carries every finding of the run, sorted."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = tuple(sorted(findings))
        super().__init__("\n".join(map(str, self.findings)))


class UsageError(SshfactsError):
    """A request to this program that cannot be carried out as it was put; the text says why."""
