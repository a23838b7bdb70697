"""The calls that the doors have under way: each can be left, and all can be waited for."""

import asyncio
import json

from sshfacts.call import Pipeline, log_fault
from sshfacts.commands.settings import CallerSettings
from sshfacts.errors import Code, SshfactsError
from sshfacts.permission.request import Request
from sshfacts.schemas.envelope import failure, new_request_id
from sshfacts.values import JsonObject


class Interrupted(SshfactsError):
    """The service ended before the call did. The call is on record as cancelled, and may have had its effect."""

    def __init__(self) -> None:
        super().__init__("the service ended before the call did")


class Calls:
    """Carries calls to the pipeline, each in a task of its own.

    A protocol may cancel the door's code in its own ways, again and again; the pipeline must be cancelled once,
    and then be left alone while it records that.
    """

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._running: set[asyncio.Task[JsonObject]] = set()
        self._draining = False

    @property
    def draining(self) -> bool:
        """Whether no more calls are taken."""
        return self._draining

    def refuse_more(self) -> None:
        """Take no more calls."""
        self._draining = True

    async def make(self, caller: CallerSettings, request: Request, door: str, os_user: str | None = None) -> JsonObject:
        """Return the envelope of one call.

        Raises:
            Interrupted: the service ends, and the call took too long.
            asyncio.CancelledError: whoever waited is gone; the call is cancelled, and recorded as that.
        """
        if self._draining:
            return failure(request.tool, new_request_id(), Code.BUSY)
        call = asyncio.create_task(self._pipeline.call(caller, request, door, os_user))
        self._running.add(call)
        call.add_done_callback(self._running.discard)
        try:
            return await asyncio.shield(call)
        except asyncio.CancelledError:
            if call.cancelled():
                raise Interrupted from None
            call.add_done_callback(_log_fault_of_a_left_call)
            _cancel(call)
            raise

    async def drain(self, seconds: float) -> None:
        """Take no more calls, let those under way end, and cancel what is left after `seconds`.

        When this returns, the end of every call is on record, or the record is not available.
        """
        self.refuse_more()
        if self._running:
            _, late = await asyncio.wait(self._running, timeout=seconds)
            for call in late:
                _cancel(call)
        if self._running:
            await asyncio.wait(self._running)


def _cancel(call: asyncio.Task[JsonObject]) -> None:
    """Cancel a call once: a second time would interrupt the recording of the first."""
    if not call.cancelling():
        call.cancel()


def _log_fault_of_a_left_call(call: asyncio.Task[JsonObject]) -> None:
    fault = None if call.cancelled() else call.exception()
    if isinstance(fault, Exception):
        log_fault("that its client left", fault)


def as_request(tool: str, given: JsonObject) -> Request:
    """Return what an agent asks for, whose arguments and host stand side by side."""
    arguments = dict(given)
    host = arguments.pop("host", None)
    return Request(tool, host if isinstance(host, str) else "", arguments)


def as_text(value: JsonObject) -> str:
    """Return a JSON object as it is sent, the same at every door."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
