"""The records of one call: what is written before the run, and what after it.

Bodies hold integers, text, booleans, lists and objects only, since they are hashed as stored
(`storage.canonical`). Nothing of stdout is in them but its length and hash; the head of stderr is, for
operators.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from importlib.metadata import version
from typing import TypeAlias

from sshfacts.commands.operation import Operation, Raw
from sshfacts.commands.settings import CallerSettings
from sshfacts.commands.site import Site
from sshfacts.errors import Code, Refusal
from sshfacts.limits import STDERR_KEPT
from sshfacts.permission.admission import Admission
from sshfacts.permission.decision import Decision
from sshfacts.permission.request import Request
from sshfacts.ssh.evidence import Evidence
from sshfacts.storage.canonical import clean, timestamp
from sshfacts.storage.vault import Reference
from sshfacts.values import JsonObject, JsonValue


@dataclass(frozen=True, slots=True)
class Asked:
    """One request with what is known about who made it."""

    request_id: str
    caller: CallerSettings
    request: Request
    door: str
    """Where the request came in, such as `cli.call`."""
    os_user: str | None
    """The operating system's user behind a command line; `None` for an agent at a network door."""


@dataclass(frozen=True, slots=True)
class Succeeded:
    """A call that ends with facts."""

    facts_sha256: str


@dataclass(frozen=True, slots=True)
class Cancelled:
    """A call whose caller went away."""


End: TypeAlias = Succeeded | Cancelled | Refusal
"""How a call ends."""


def _time(at: datetime | None) -> str | None:
    return None if at is None else timestamp(round(at.timestamp() * 1_000_000))


def _code(end: End | None) -> JsonObject:
    code: str | None = None
    match end:
        case Refusal():
            return {
                "code": end.code.value,
                "stage": end.stage.value,
                "detail": end.detail,
                "where": end.where,
            }
        case Succeeded():
            code = "success"
        case Cancelled():
            code = "CANCELLED"
    return {"code": code, "stage": None, "detail": None, "where": None}


def intent(asked: Asked, site: Site, decision: Decision, admitted: Admission | Refusal, at: datetime) -> JsonObject:
    """Return the body of the first record: who asked for what, and what was decided.

    For a refused request it is the only record, so it says the code as well. Arguments that are not
    valid are not kept: they may hold anything.
    """
    operation = site.operations.get(asked.request.tool)
    known_host = asked.request.host in site.require_settings().hosts
    admission = admitted if isinstance(admitted, Admission) else None
    return {
        "v": 1,
        "kind": "intent",
        "at": _time(at),
        "request_id": asked.request_id,
        "caller": asked.caller.name,
        "principal": asked.caller.principal,
        "door": asked.door,
        "os_user": asked.os_user,
        "session": asked.caller.session,
        "operation": decision.tool,
        "host": asked.request.host if known_host else None,
        "effect": operation.effect.value if operation is not None else None,
        "arguments": dict(asked.request.arguments) if decision.terms.arguments_valid else {},
        "decision": decision.as_json(),
        "reason": decision.reason,
        "approver": decision.approver,
        "command": admission.command if admission else None,
        "deadline_at": _time(at + _longest(admission.operation)) if admission else None,
        "catalogue_digest": site.digest,
        "operation_digest": operation.digest if operation is not None else None,
        "service_version": version("sshfacts"),
        **_code(admitted if isinstance(admitted, Refusal) else None),
    }


def _longest(operation: Operation) -> timedelta:
    """Return the time after which a call of this operation has ended, with all of its attempts."""
    retry = operation.retry.seconds if operation.retry is not None else 0
    return timedelta(seconds=max(operation.run.seconds + 1, retry))


def started(asked: Asked, intent_hash: bytes, at: datetime) -> JsonObject:
    """Return the body that says that a command which changes its host is about to start."""
    return {
        "v": 1,
        "kind": "started",
        "at": _time(at),
        "request_id": asked.request_id,
        "intent": intent_hash.hex(),
    }


@dataclass(slots=True)
class Ran:
    """What is known of the run of one call; filled while it goes on, and readable whatever ends it."""

    evidence: Evidence = field(default_factory=Evidence)
    judged_at: datetime | None = None
    """The moment of answering, at which freshness was judged; `None` if the output never was."""
    raw: Reference | None = None
    """The encrypted copy of stdout, if one is kept."""
    raw_left_out: str | None = None
    """Why none is kept although one should be."""


def days_kept(end: End, raw: Raw) -> int:
    """Return for how many days the output of a run is kept, by how its call ended.

    Output of a call that was cancelled was judged by nobody, and may be cut anywhere.
    """
    match end:
        case Refusal():
            return raw.keep if end.code is Code.NOT_FOUND else raw.keep_refused
        case Succeeded():
            return raw.keep
        case Cancelled():
            return 0


def outcome(asked: Asked, intent_hash: bytes, ran: Ran, end: End, at: datetime, duration_us: int) -> JsonObject:
    """Return the body of the second record: how the call ended, and what was seen of the run."""
    copies: list[JsonValue] = [] if ran.raw is None else [ran.raw.as_json()]
    return {
        "v": 1,
        "kind": "outcome",
        "at": _time(at),
        "request_id": asked.request_id,
        "intent": intent_hash.hex(),
        **_code(end),
        **_seen(ran.evidence),
        "judged_at": _time(ran.judged_at),
        "duration_us": duration_us,
        "facts_sha256": end.facts_sha256 if isinstance(end, Succeeded) else None,
        "raw": copies,
        "raw_left_out": ran.raw_left_out,
    }


def _seen(evidence: Evidence) -> JsonObject:
    attempts: list[JsonValue] = [
        {"n": one.n, "started_at": _time(one.started_at), "duration_us": one.duration_us, "detail": one.detail}
        for one in evidence.attempts
    ]
    ran = evidence.started_at is not None
    stdout: JsonValue = {"bytes": evidence.stdout_bytes, "sha256": evidence.stdout_sha256} if ran else None
    stderr: JsonValue = {
        "bytes": evidence.stderr_bytes,
        "sha256": evidence.stderr_sha256,
        "text": clean(evidence.stderr_head.decode("utf-8", "replace"), STDERR_KEPT),
    }
    return {
        "attempts": attempts,
        "collected_at": _time(evidence.started_at),
        "exit_status": evidence.exit_status,
        "exit_signal": evidence.exit_signal,
        "end_unconfirmed": evidence.end_unconfirmed,
        "host_key": evidence.host_key,
        "key_fingerprint": evidence.key_fingerprint,
        "stdout": stdout,
        "stderr": stderr if ran else None,
    }
