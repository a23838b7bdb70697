"""From the end of a run to facts: the stages read, document, checks and facts, in their order.

A live call, `sshfacts try` and `sshfacts check` all come through here, so that a case proves what the
service does.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from sshfacts.adapters.reader import Reader, open_reader
from sshfacts.commands.operation import ExitMeaning, Operation, Output
from sshfacts.errors import Refusal, Stage
from sshfacts.schemas.checks import CheckKind, Judgement
from sshfacts.values import JsonObject, JsonValue

EXIT_NOT_EXECUTABLE = 126
EXIT_NOT_INSTALLED = 127
"""What env(1), timeout(1) and every shell return for a program that cannot be executed, or is not there."""


@dataclass(frozen=True, slots=True)
class Question:
    """What an answer must be about: the checks tie the document to it."""

    arguments: JsonObject
    host: str
    collected_at: datetime
    """The instant before the command was started."""


class Observer(Protocol):
    """Sees what each stage made, for people who look on; the service itself has none."""

    def passed(self, stage: Stage, result: JsonValue) -> None:
        """Take note that `stage` accepted, and what it hands on."""

    def refused(self, refusal: Refusal) -> None:
        """Take note that the call ended here."""


class Intake:
    """Reads the stdout of a run while it arrives, and remembers the first refusal.

    It goes on taking bytes after a refusal, because the exit status may give the truer reason: a tool
    that prints its usage text and exits with 1 has failed, and not sent an invalid answer.
    """

    def __init__(self, output: Output, *, keeps: bool = False) -> None:
        """Prepare for one run.

        Args:
            keeps: whether the bytes themselves are kept, for a raw copy; never more than the operation's limit.
        """
        self._output = output
        self._keeps = keeps
        self.restart()

    @property
    def captured(self) -> bytes:
        """The bytes of stdout up to the limit; nothing if they are not kept."""
        return bytes(self._captured)

    def restart(self) -> None:
        """Forget everything: a new attempt begins."""
        self._reader: Reader = open_reader(self._output.format, self._output.limits)
        self._refusal: Refusal | None = None
        self._is_empty = True
        self._captured = bytearray()

    def write(self, chunk: bytes) -> None:
        """Take the next bytes; never raises."""
        self._is_empty = self._is_empty and not chunk
        if self._keeps:
            self._captured += chunk[: self._output.limits.bytes - len(self._captured)]
        if self._refusal is None:
            try:
                self._reader.feed(chunk)
            except Refusal as refusal:
                self._refusal = refusal

    def document(self) -> JsonValue:
        """Return the one document that stdout was.

        Raises:
            Refusal: a detail of the stage `read`.
        """
        if self._refusal is not None:
            raise self._refusal
        if self._is_empty and not self._output.rejects_empty:
            return self._output.empty
        return self._reader.close()


def answer(
    operation: Operation,
    question: Question,
    exit_status: int,
    document_of: Callable[[], JsonValue],
    now: datetime,
    observer: Observer | None = None,
) -> JsonObject:
    """Turn a finished run into facts, or refuse.

    Args:
        exit_status: of the command, 0 to 255.
        document_of: reads the output; it is called only if the exit status lets it.
        now: the moment of answering; freshness is judged at it.

    Raises:
        Refusal: with the detail of the first stage that does not accept.
    """
    report = observer.passed if observer is not None else _unobserved
    require_exit_status(operation, exit_status)
    report(Stage.RUN, exit_status)
    document = document_of()
    report(Stage.READ, document)
    operation.output.contract.validate(document, "contract.document")
    report(Stage.DOCUMENT, operation.output.contract_name)
    _judge(operation, question, document, now)
    report(Stage.CHECKS, [check.name for check in operation.checks])
    facts = operation.selection.select(document, question.arguments, question.host)
    operation.facts_contract.validate(facts, "contract.facts")
    report(Stage.FACTS, facts)
    return facts


def _unobserved(stage: Stage, result: JsonValue) -> None:
    """Nobody looks on."""


def require_exit_status(operation: Operation, exit_status: int) -> None:
    """Accept only an exit status that the command file says stands for a document.

    Raises:
        Refusal: `not_found.exit`, `command.missing` or `command.exit_status`.
    """
    meaning = operation.run.exit.get(exit_status)
    if meaning is ExitMeaning.DOCUMENT:
        return
    if meaning is ExitMeaning.NOT_FOUND:
        raise Refusal("not_found.exit", f"status {exit_status}")
    missing = exit_status in (EXIT_NOT_EXECUTABLE, EXIT_NOT_INSTALLED)
    raise Refusal("command.missing" if missing else "command.exit_status", f"status {exit_status}")


def _judge(operation: Operation, question: Question, document: JsonValue, now: datetime) -> None:
    """Hold the document against the question; what it is about comes before what it says.

    An answer about another unit that says "not found" is an invalid response, and never `NOT_FOUND`.
    """
    judgement = Judgement(
        document=document,
        arguments=question.arguments,
        host=question.host,
        collected_at=question.collected_at,
        now=now,
    )
    ties = [check for check in operation.checks if check.kind is not CheckKind.CONSISTENCY]
    for check in ties:
        judgement.require(check)
    if operation.not_found is not None and judgement.holds(operation.not_found):
        raise Refusal("not_found.rule")
    for check in operation.checks:
        if check.kind is CheckKind.CONSISTENCY:
            judgement.require(check)
