"""The one pipeline: the order of the stages, and nothing of their insides.

    limits → decide → record intent → run → read → document → checks → facts → record outcome → envelope

Each stage takes what the one before it returned, so none can be entered by another way: the run stage
needs an `Admission` and the hash of a durable intent, and an envelope with facts needs a durable outcome.
"""

import asyncio
import logging
import traceback
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from time import monotonic_ns
from typing import TypeVar

from sshfacts import record
from sshfacts.adapters.formats import PythonAdapter
from sshfacts.commands.answer import Intake, Observer, Question, answer
from sshfacts.commands.operation import Effect
from sshfacts.commands.settings import CallerSettings
from sshfacts.commands.site import Site
from sshfacts.errors import Refusal, Stage
from sshfacts.limits import STDERR_BYTES
from sshfacts.permission.admission import Admission
from sshfacts.permission.configuration import Configuration
from sshfacts.permission.deciding import Decider, Ruling
from sshfacts.permission.limits import Limiter
from sshfacts.permission.request import Request
from sshfacts.permission.turned_away import UNAUTHENTICATED, TurnedAway
from sshfacts.schemas.envelope import (
    UNKNOWN_TOOL,
    facts_digest,
    failure,
    is_tool_name,
    new_request_id,
    success,
)
from sshfacts.ssh.transport import Command, Transport
from sshfacts.storage.chain import Row
from sshfacts.storage.ledger import Actor
from sshfacts.storage.recorder import Recorder, RecordUnavailable
from sshfacts.storage.vault import open_vault
from sshfacts.values import JsonObject

_LOG = logging.getLogger(__name__)

T = TypeVar("T")

OFF_LOOP_BYTES = 16 * 1024
"""Answers above this are judged in a thread. Most take 5 ms for 19 KiB; many short texts, chosen by a hostile host,
take four times as long."""

ADAPTERS_AT_ONCE = 4
"""Workers of adapters that run at the same time; it bounds what their memory and processor time add up to."""
_ADAPTERS = ThreadPoolExecutor(ADAPTERS_AT_ONCE, thread_name_prefix="adapter")
"""Threads of their own: an adapter that hangs must not hold up the validation of large answers."""


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(slots=True)
class _Call:
    """One call while it runs."""

    asked: record.Asked
    ruling: Ruling
    observer: Observer | None
    ran: record.Ran = field(default_factory=record.Ran)
    intake: Intake | None = None
    """What the run printed; `None` until there is a run."""
    begun_ns: int = field(default_factory=monotonic_ns)

    def duration_us(self) -> int:
        return (monotonic_ns() - self.begun_ns) // 1_000


class Pipeline:
    """Carries calls from request to recorded facts, on one site.

    Pauses and approvals are read from the recorder's database. The limits of callers are kept by this object, so a
    process has one of it.

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
        self._limiter = Limiter()
        self._turned_away = TurnedAway(recorder.append, now)
        self._configuration = Configuration(site, recorder)
        self._decider = Decider(site, recorder.engine)
        raw = site.require_settings().raw
        self._vault = open_vault(raw.key_files, raw.per_day)

    async def close(self) -> None:
        """Record what was counted and not recorded yet; await it after the last call, before the recorder closes.

        What cannot be recorded is logged: the calls have ended, and their outcomes do not depend on it.
        """
        for part in (self._turned_away, self._decider):
            try:
                await part.close()
            except RecordUnavailable as error:
                _LOG.error("the end of %s is not on record: %s", type(part).__name__, error.reason)

    def count_unauthenticated(self) -> None:
        """Count a request that came in without a valid identity; one record tells how many came in a minute."""
        self._turned_away.add(None, UNAUTHENTICATED)

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
        asked = record.Asked(new_request_id(), caller, request, door, os_user)
        try:
            async with self._limiter.place(caller):
                return await self._decided(asked, observer)
        except Refusal as refusal:
            # There is no record of this request: its caller is over a limit, or nothing can be recorded.
            if observer is not None:
                observer.refused(refusal)
            if refusal.stage is Stage.LIMITS:
                self._turned_away.add(caller.name, refusal.detail)
            return failure(request.tool, asked.request_id, refusal.code)

    async def _decided(self, asked: record.Asked, observer: Observer | None) -> JsonObject:
        """Decide, and from then on tell every end of the call by an envelope that is on record."""
        call = _Call(asked, await self._decide(asked), observer)
        try:
            admission, intent = await self._admit(call)
            return await self._recorded(call, admission, intent)
        except Refusal as refusal:
            if observer is not None:
                observer.refused(refusal)
            return self._failure(call, refusal)

    async def _decide(self, asked: record.Asked) -> Ruling:
        by = Actor(None, asked.door, asked.os_user)
        try:
            await self._configuration.record()
            return await self._decider.decide(asked.caller, asked.request, asked.request_id, by, self._now())
        except RecordUnavailable:
            raise Refusal("audit.intent") from None

    async def _admit(self, call: _Call) -> tuple[Admission, bytes]:
        """Make the intent durable; only then may the call go on, or be refused."""
        admitted: Admission | Refusal
        ruling, asked = call.ruling, call.asked
        try:
            admitted = Admission.of(
                ruling.decision, self._site, asked.caller, asked.request, ruling.approval, ruling.paused
            )
        except Refusal as refusal:
            admitted = refusal
        body = record.intent(asked, self._site, ruling.decision, admitted, self._now())
        # Cancelled in here, a call could have an intent and never an outcome; so it is told when the intent is durable.
        intent = await to_its_end(self._append(body, "audit.intent"))
        if isinstance(admitted, Refusal):
            raise admitted
        return admitted, intent

    async def _recorded(self, call: _Call, admission: Admission, intent: bytes) -> JsonObject:
        """Run the call and make its outcome durable, whatever it is, before anybody hears of it."""
        try:
            envelope = await self._run(call, admission, intent)
        except asyncio.CancelledError:
            await to_its_end(self._record_outcome(call, intent, record.Cancelled()))  # also if it is cancelled again
            raise
        except Refusal as refusal:
            await self._record_outcome(call, intent, refusal)
            raise
        except Exception as fault:  # noqa: BLE001 - an unknown fault must not become an uncoded answer or an open intent
            log_fault(call.asked.request_id, fault)
            unknown = Refusal("internal")
            await self._record_outcome(call, intent, unknown)
            raise unknown from None
        await self._record_outcome(call, intent, record.Succeeded(facts_digest(envelope)))
        return envelope

    async def _run(self, call: _Call, admission: Admission, intent: bytes) -> JsonObject:
        """Run the command, and turn its output into a valid envelope."""
        operation = admission.operation
        call.intake = intake = Intake(operation.output, keeps=self._vault is not None)
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
            call.ran.evidence,
            before_exec=before_exec if operation.effect is Effect.CHANGE else None,
        )
        collected_at = call.ran.evidence.started_at
        if collected_at is None:
            raise Refusal("internal", "a run that never started has ended")
        question = Question(admission.arguments, admission.host.alias, collected_at)

        def judge() -> JsonObject:
            call.ran.judged_at = now = self._now()
            facts = answer(operation, question, exit_status, intake.document, now, call.observer)
            envelope = success(operation.name, call.asked.request_id, admission.host.alias, collected_at, facts)
            operation.envelope.validate(envelope)
            return envelope

        if isinstance(operation.output.format, PythonAdapter):
            return await asyncio.get_running_loop().run_in_executor(_ADAPTERS, judge)
        if call.ran.evidence.stdout_bytes > OFF_LOOP_BYTES:
            return await asyncio.to_thread(judge)
        return judge()

    async def _record_outcome(self, call: _Call, intent: bytes, end: record.End) -> None:
        copies = await self._copies(call, end)
        body = record.outcome(call.asked, intent, call.ran, end, self._now(), call.duration_us())
        await self._append(body, "audit.outcome", copies)

    async def _copies(self, call: _Call, end: record.End) -> tuple[Row, ...]:
        """Encrypt what the run printed, if it is to be kept, and let the outcome say what came of that."""
        operation = self._site.operations.get(call.asked.request.tool)
        if self._vault is None or call.intake is None or operation is None:
            return ()
        days, stdout = record.days_kept(end, operation.raw), call.intake.captured
        if not days or not stdout:
            return ()
        keep = partial(self._vault.keep, call.asked.request_id, stdout, days, self._now())
        # Without its outcome a call would stay open, so not even a cancelled one is given up in here.
        kept = await to_its_end(asyncio.to_thread(keep)) if len(stdout) > OFF_LOOP_BYTES else keep()
        if kept is None:
            call.ran.raw_left_out = "day_full"
            return ()
        call.ran.raw = kept.reference
        return (kept.row,)

    async def _append(self, body: JsonObject, detail: str, copies: Sequence[Row] = ()) -> bytes:
        try:
            return await (self._recorder.append(body, copies) if copies else self._recorder.append(body))
        except RecordUnavailable:
            raise Refusal(detail) from None

    def _failure(self, call: _Call, refusal: Refusal) -> JsonObject:
        operation = self._site.operations.get(call.asked.request.tool)
        may_have_changed = (
            operation is not None and operation.effect is Effect.CHANGE and call.ran.evidence.started_at is not None
        )
        return failure(
            call.ruling.decision.tool,
            call.asked.request_id,
            refusal.code,
            retryable=refusal.code.retryable and not may_have_changed,
            approval_id=call.ruling.decision.approval if refusal.detail == "approval_required" else None,
        )


def unrecorded(request: Request) -> JsonObject:
    """Return the answer to a request while there is no database to record it in: nothing is run."""
    tool = request.tool if is_tool_name(request.tool) else UNKNOWN_TOOL
    return failure(tool, new_request_id(), Refusal("audit.intent").code)


async def to_its_end(work: Awaitable[T]) -> T:
    """Await work that is not given up when the caller is cancelled; that comes through at the caller's next await."""
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            cancelled = True
    current = asyncio.current_task()
    if cancelled and current is not None:
        current.cancel()
    return task.result()


def log_fault(request: str, fault: Exception) -> None:
    """Log where an unknown fault happened, without its text: that may hold what a host sent."""
    trace = traceback.extract_tb(fault.__traceback__)
    frames = " < ".join(f"{frame.filename}:{frame.lineno}" for frame in reversed(trace))
    _LOG.error("request %s ended in %s at %s", request, type(fault).__name__, frames)
