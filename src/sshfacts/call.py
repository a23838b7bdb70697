"""The one pipeline: the order of the stages, and nothing of their insides.

    decide → record intent → run → read → document → checks → facts → record outcome → envelope

Each stage takes what the one before it returned, so none can be entered by another way: the run stage
needs an `Admission` and the hash of a durable intent, and an envelope with facts needs a durable outcome.
"""

import asyncio
import logging
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from time import monotonic_ns

from sshfacts import record
from sshfacts.commands.answer import Intake, Observer, Question, answer
from sshfacts.commands.operation import Effect
from sshfacts.commands.settings import CallerSettings
from sshfacts.commands.site import Site
from sshfacts.errors import Refusal
from sshfacts.limits import STDERR_BYTES
from sshfacts.permission.admission import Admission
from sshfacts.permission.decision import Decision, Verdict, decide
from sshfacts.permission.request import Request
from sshfacts.schemas.envelope import (
    UNKNOWN_TOOL,
    facts_digest,
    failure,
    is_tool_name,
    new_approval_id,
    new_request_id,
    success,
)
from sshfacts.ssh.evidence import Evidence
from sshfacts.ssh.transport import Command, Transport
from sshfacts.storage.recorder import Recorder, RecordUnavailable
from sshfacts.values import JsonObject

_LOG = logging.getLogger(__name__)

OFF_LOOP_BYTES = 64 * 1024
"""Answers above this are judged in a thread: 19 KiB of small objects take 5 ms, so this is about 20 ms."""


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(slots=True)
class _Call:
    """One call while it runs."""

    asked: record.Asked
    decision: Decision
    observer: Observer | None
    evidence: Evidence = field(default_factory=Evidence)
    begun_ns: int = field(default_factory=monotonic_ns)

    def duration_us(self) -> int:
        return (monotonic_ns() - self.begun_ns) // 1_000


class Pipeline:
    """Carries calls from request to recorded facts, on one site.

    Args:
        now: the clock; times it returns are aware.
    """

    def __init__(
        self, site: Site, transport: Transport, recorder: Recorder, now: Callable[[], datetime] = _utc_now
    ) -> None:
        self._site = site
        self._transport = transport
        self._recorder = recorder
        self._now = now

    async def call(
        self,
        caller: CallerSettings,
        request: Request,
        door: str,
        os_user: str | None = None,
        observer: Observer | None = None,
    ) -> JsonObject:
        """Answer one request with an envelope: facts, or a failure of a finite code.

        Args:
            door: where the request came in, for the record.
            os_user: who runs the command line, for the record.
            observer: sees what each stage made; for operators, never for agents.

        Raises:
            asyncio.CancelledError: the caller is gone; the outcome is recorded as cancelled first.
        """
        decision = decide(self._site, caller, request)
        if decision.verdict is Verdict.ASK:
            decision = replace(decision, approval=new_approval_id())
        call = _Call(record.Asked(new_request_id(), caller, request, door, os_user), decision, observer)
        try:
            admission, intent = await self._admit(call)
            return await self._recorded(call, admission, intent)
        except Refusal as refusal:
            if observer is not None:
                observer.refused(refusal)
            return self._failure(call, refusal)

    async def _admit(self, call: _Call) -> tuple[Admission, bytes]:
        """Make the intent durable; only then may the call go on, or be refused."""
        admitted: Admission | Refusal
        try:
            admitted = Admission.of(call.decision, self._site, call.asked.caller, call.asked.request)
        except Refusal as refusal:
            admitted = refusal
        body = record.intent(call.asked, self._site, call.decision, admitted, self._now())
        intent = await self._append(body, "audit.intent")
        if isinstance(admitted, Refusal):
            raise admitted
        return admitted, intent

    async def _recorded(self, call: _Call, admission: Admission, intent: bytes) -> JsonObject:
        """Run the call and make its outcome durable, whatever it is, before anybody hears of it."""
        try:
            envelope = await self._run(call, admission, intent)
        except asyncio.CancelledError:
            await asyncio.shield(self._record_outcome(call, intent, record.Cancelled()))
            raise
        except Refusal as refusal:
            await self._record_outcome(call, intent, refusal)
            raise
        except Exception as fault:  # noqa: BLE001 - an unknown fault must not become an uncoded answer or an open intent
            _log_fault(call.asked.request_id, fault)
            unknown = Refusal("internal")
            await self._record_outcome(call, intent, unknown)
            raise unknown from None
        await self._record_outcome(call, intent, record.Succeeded(facts_digest(envelope)))
        return envelope

    async def _run(self, call: _Call, admission: Admission, intent: bytes) -> JsonObject:
        """Run the command, and turn its output into a valid envelope."""
        operation = admission.operation
        intake = Intake(operation.output)
        command = Command(
            text=admission.command,
            seconds=operation.run.seconds,
            stdout_bytes=operation.output.limits.bytes,
            stderr_bytes=STDERR_BYTES,
            idempotent=operation.effect is Effect.READ,
            retry=operation.retry,
        )

        async def before_exec() -> None:
            await self._append(record.started(call.asked, intent, self._now()), "audit.intent")

        exit_status = await self._transport.run(
            admission.host,
            command,
            intake,
            call.evidence,
            before_exec=before_exec if operation.effect is Effect.CHANGE else None,
        )
        collected_at = call.evidence.started_at
        if collected_at is None:
            raise Refusal("internal", "a run that never started has ended")
        question = Question(admission.arguments, admission.host.alias, collected_at)

        def judge() -> JsonObject:
            facts = answer(operation, question, exit_status, intake.document, self._now(), call.observer)
            envelope = success(operation.name, call.asked.request_id, admission.host.alias, collected_at, facts)
            operation.envelope.validate(envelope)
            return envelope

        if call.evidence.stdout_bytes > OFF_LOOP_BYTES:
            return await asyncio.to_thread(judge)
        return judge()

    async def _record_outcome(self, call: _Call, intent: bytes, end: record.End) -> None:
        body = record.outcome(call.asked, intent, call.evidence, end, self._now(), call.duration_us())
        await self._append(body, "audit.outcome")

    async def _append(self, body: JsonObject, detail: str) -> bytes:
        try:
            return await self._recorder.append(body)
        except RecordUnavailable:
            raise Refusal(detail) from None

    def _failure(self, call: _Call, refusal: Refusal) -> JsonObject:
        operation = self._site.operations.get(call.asked.request.tool)
        may_have_changed = (
            operation is not None and operation.effect is Effect.CHANGE and call.evidence.started_at is not None
        )
        return failure(
            call.decision.tool,
            call.asked.request_id,
            refusal.code,
            retryable=refusal.code.retryable and not may_have_changed,
            approval_id=call.decision.approval if refusal.detail == "approval_required" else None,
        )


def unrecorded(request: Request) -> JsonObject:
    """Return the answer to a request while there is no database to record it in: nothing is run."""
    tool = request.tool if is_tool_name(request.tool) else UNKNOWN_TOOL
    return failure(tool, new_request_id(), Refusal("audit.intent").code)


def _log_fault(request_id: str, fault: Exception) -> None:
    """Log where an unknown fault happened, without its text: that may hold what a host sent."""
    trace = traceback.extract_tb(fault.__traceback__)
    frames = " < ".join(f"{frame.filename}:{frame.lineno}" for frame in reversed(trace))
    _LOG.error("request %s ended in %s at %s", request_id, type(fault).__name__, frames)
