"""A captured answer, judged offline by the stages that judge a live one."""

from dataclasses import dataclass
from datetime import datetime

from sshfacts.commands.answer import Intake, Observer, Question, answer
from sshfacts.commands.operation import Operation
from sshfacts.errors import Refusal
from sshfacts.schemas.envelope import failure, new_request_id, success
from sshfacts.values import JsonObject

CHUNK = 32 * 1024
"""Bytes fed at a time: the largest packet that a host sends."""


@dataclass(frozen=True, slots=True)
class Captured:
    """What a command printed once, and the question it answered."""

    stdout: bytes
    exit_status: int
    arguments: JsonObject
    host: str
    at: datetime
    """The moment of answering; the command is taken to have started then as well."""


def facts_of(operation: Operation, captured: Captured, observer: Observer | None = None) -> JsonObject:
    """Return the facts that a captured answer gives.

    Raises:
        Refusal: the detail of the stage that refuses, as a live call would.
    """
    operation.arguments_contract.validate(captured.arguments, "arguments_invalid")
    intake = Intake(operation.output)
    for start in range(0, len(captured.stdout), CHUNK):
        intake.write(captured.stdout[start : start + CHUNK])
    if len(captured.stdout) > operation.output.limits.bytes:
        # A live run is cut here, so that its exit status is never seen.
        raise Refusal("output.too_large", f"limit {operation.output.limits.bytes} bytes")
    question = Question(captured.arguments, captured.host, captured.at)
    return answer(operation, question, captured.exit_status, intake.document, captured.at, observer)


def envelope_of(operation: Operation, captured: Captured, observer: Observer) -> JsonObject:
    """Return what an agent would get for a captured answer."""
    request_id = new_request_id()
    try:
        facts = facts_of(operation, captured, observer)
        envelope = success(operation.name, request_id, captured.host, captured.at, facts)
        operation.envelope.validate(envelope)
    except Refusal as refusal:
        observer.refused(refusal)
        return failure(operation.name, request_id, refusal.code)
    return envelope
