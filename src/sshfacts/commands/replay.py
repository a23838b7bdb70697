"""A recorded call, judged again from the bytes that were kept: the same operation must come to the same end.

Only operations of a site's files are used. The record says by its digest which one is needed, and no code or
contract is ever taken from the database.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256

from sshfacts.commands.answer import Intake, Question, answer
from sshfacts.commands.captured import CHUNK
from sshfacts.commands.operation import Operation
from sshfacts.errors import Refusal, SshfactsError
from sshfacts.schemas.envelope import facts_digest, success
from sshfacts.values import JsonObject

_OVER_LIMIT = "output.too_large"


class NotReplayable(SshfactsError):
    """The record does not hold what it takes to judge the call again; the text says what is missing."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a call ended, as far as its output decides that."""

    code: str
    """`success`, or a code of the envelope."""
    detail: str | None
    facts_sha256: str | None

    def differences(self, other: "Verdict") -> list[str]:
        """Return what differs, as lines for people: this one is the record's, `other` the new one."""
        return [
            f"{name}: recorded {getattr(self, name) or '-'}, now {getattr(other, name) or '-'}"
            for name in self.__slots__
            if getattr(self, name) != getattr(other, name)
        ]


@dataclass(frozen=True, slots=True)
class Recorded:
    """What the record says of one call that was judged by its output."""

    request_id: str
    operation: str
    operation_digest: str
    arguments: JsonObject
    host: str
    collected_at: datetime
    judged_at: datetime | None
    """The moment of answering; `None` for an output over its limit, which nobody judges."""
    exit_status: int | None
    stdout_bytes: int
    stdout_sha256: str
    service_version: str
    verdict: Verdict


def recorded(bodies: Sequence[JsonObject]) -> Recorded:
    """Read the call out of the records of one request.

    Raises:
        NotReplayable: it was not run, it has no outcome, or its output did not decide how it ended.
    """
    intent = _first(bodies, "intent")
    outcome = _first(bodies, "outcome")
    if intent is None:
        raise NotReplayable("no request with this id is in the record")
    if outcome is None:
        raise NotReplayable("the request was not run, or has no outcome")
    if outcome.get("judged_at") is None and outcome.get("detail") != _OVER_LIMIT:
        raise NotReplayable(f"the output did not decide how it ended: {outcome.get('detail') or outcome.get('code')}")
    stdout = outcome.get("stdout")
    try:
        return Recorded(
            request_id=str(intent["request_id"]),
            operation=str(intent["operation"]),
            operation_digest=str(intent["operation_digest"]),
            arguments=_object(intent["arguments"]),
            host=str(intent["host"]),
            collected_at=datetime.fromisoformat(str(outcome["collected_at"])),
            judged_at=_instant(outcome.get("judged_at")),
            exit_status=_status(outcome.get("exit_status")),
            stdout_bytes=int(str(_object(stdout)["bytes"])),
            stdout_sha256=str(_object(stdout)["sha256"]),
            service_version=str(intent["service_version"]),
            verdict=Verdict(str(outcome["code"]), _text(outcome["detail"]), _text(outcome["facts_sha256"])),
        )
    except (KeyError, ValueError):
        raise NotReplayable("the records of this request are not those of a call that ran") from None


def operation_of(call: Recorded, operations: Iterable[Operation]) -> Operation:
    """Return the operation that judged the call: the one of the recorded digest, whatever its name is now.

    Raises:
        NotReplayable: it is not there; the text names the digest that is needed.
    """
    known = list(operations)
    for operation in known:
        if operation.digest == call.operation_digest:
            return operation
    here = next((one.digest for one in known if one.name == call.operation), None)
    has = f"this site has {here}" if here is not None else "this site has none of that name"
    raise NotReplayable(f"it takes the operation {call.operation} of digest {call.operation_digest}; {has}")


def judge_again(operation: Operation, call: Recorded, stdout: bytes) -> Verdict:
    """Judge the bytes that were kept as the call was judged: at the same moment, about the same question.

    Args:
        stdout: all of it, or the part up to the limit if it went over.

    Raises:
        NotReplayable: it is not what the run printed.
    """
    if call.stdout_bytes > operation.output.limits.bytes:
        return _refused(Refusal(_OVER_LIMIT))
    if call.judged_at is None or call.exit_status is None:
        # The record says that it went over the limit, and by the count of its bytes it did not.
        return Verdict("within the limit", None, None)
    if sha256(stdout).hexdigest() != call.stdout_sha256:
        raise NotReplayable("the copy is not what the run printed")
    intake = Intake(operation.output)
    for start in range(0, len(stdout), CHUNK):
        intake.write(stdout[start : start + CHUNK])
    question = Question(call.arguments, call.host, call.collected_at)
    try:
        facts = answer(operation, question, call.exit_status, intake.document, call.judged_at)
        envelope = success(operation.name, call.request_id, call.host, call.collected_at, facts)
        operation.envelope.validate(envelope)
    except Refusal as refusal:
        return _refused(refusal)
    except Exception:  # noqa: BLE001 - the pipeline, too, makes one code of every fault that it does not know
        return _refused(Refusal("internal"))
    return Verdict("success", None, facts_digest(envelope))


def _refused(refusal: Refusal) -> Verdict:
    return Verdict(refusal.code.value, refusal.detail, None)


def _first(bodies: Sequence[JsonObject], kind: str) -> JsonObject | None:
    return next((body for body in bodies if body.get("kind") == kind), None)


def _object(value: object) -> JsonObject:
    if not isinstance(value, dict):
        raise ValueError("not an object")  # noqa: TRY004 - a wrong value of a record, and no fault of a caller's
    return value


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _instant(value: object) -> datetime | None:
    return None if value is None else datetime.fromisoformat(str(value))


def _status(value: object) -> int | None:
    return value if isinstance(value, int) else None
