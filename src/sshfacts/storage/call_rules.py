"""What must hold between the records of each call: intent, started, outcome, orphan."""

from dataclasses import dataclass
from typing import TypeAlias

from sshfacts.storage.report import Report, plain
from sshfacts.values import JsonObject


@dataclass(slots=True)
class _OpenCall:
    """An allowed call whose outcome was not seen yet."""

    intent: str
    is_change: bool
    is_started: bool = False
    is_orphaned: bool = False


_Settled: TypeAlias = tuple[int, bool]
"""What the outcome of a call says, as a hash, and whether one was recorded in time."""

_SAID = ("intent", "code", "stage", "detail", "where", "exit_status", "duration_us", "collected_at", "facts_sha256")


class CallRules:
    """Judges all calls, record by record; takes about 200 bytes of memory for each.

    Args:
        is_whole: whether the records begin with the first of the log. If not, what stands before is unknown.
    """

    def __init__(self, report: Report, *, is_whole: bool) -> None:
        self._report = report
        self._is_whole = is_whole
        self._open: dict[str, _OpenCall] = {}
        self._settled: dict[str, _Settled] = {}
        self._refused: set[str] = set()

    def judge(self, place: str, body: JsonObject, leaf: str) -> None:
        """Judge the next record in the order of the log."""
        request = str(body.get("request_id"))
        match body["kind"]:
            case "intent":
                fault = self._intent(request, body, leaf)
            case "started" | "outcome" | "orphan":
                fault = self._later(request, body)
            case _:
                fault = None
        if fault is not None:
            self._report.violations.add(f"{place}: request {plain(request)} {fault}")

    def finish(self) -> None:
        """Count the calls that are open."""
        self._report.open_calls = len(self._open)
        self._report.orphaned_calls = sum(call.is_orphaned for call in self._open.values())

    def _intent(self, request: str, body: JsonObject, leaf: str) -> str | None:
        if request in self._open or request in self._settled or request in self._refused:
            return "has a second intent"
        if _may_run(body):
            self._open[request] = _OpenCall(leaf, is_change=body.get("effect") == "change")
        else:
            self._refused.add(request)
        return None

    def _later(self, request: str, body: JsonObject) -> str | None:
        """Judge a record that must follow the intent of an allowed call, and name it."""
        kind = body["kind"]
        if request in self._refused:
            return f"was refused, and has a record of kind {kind}"
        if request in self._settled:
            return self._after_outcome(request, body)
        call = self._open.get(request)
        if call is None:
            return self._without_intent(request, body)
        if body.get("intent") != call.intent:
            return f"has a record of kind {kind} that names another intent"
        if kind == "outcome":
            return self._outcome(request, body, call)
        call.is_started = call.is_started or kind == "started"
        call.is_orphaned = call.is_orphaned or kind == "orphan"
        return None

    def _outcome(self, request: str, body: JsonObject, call: _OpenCall) -> str | None:
        self._settled[request] = _settled(body)
        del self._open[request]
        if call.is_change and not call.is_started and body.get("collected_at") is not None:
            return "changed its host, and no record says that it started"
        return None

    def _after_outcome(self, request: str, body: JsonObject) -> str | None:
        """Judge a record of a call that has its outcome.

        A late outcome may stand beside one whose commit was in doubt, and says the same. An orphan record may
        follow, if the outcome came while it was written.
        """
        if body["kind"] == "started":
            return "starts after its outcome"
        if body["kind"] == "orphan":
            return None
        (said, was_in_time), (says, is_in_time) = self._settled[request], _settled(body)
        self._settled[request] = said, was_in_time or is_in_time
        if was_in_time and is_in_time:
            return "has a second outcome"
        return None if said == says else "has two outcomes that contradict each other"

    def _without_intent(self, request: str, body: JsonObject) -> str | None:
        if self._is_whole:
            return f"has a record of kind {body['kind']} and no intent"
        if body["kind"] == "outcome":
            self._settled[request] = _settled(body)
        return None


def _may_run(intent: JsonObject) -> bool:
    """Tell whether an intent allows a run: one with a code was refused, for whatever reason."""
    decision = intent.get("decision")
    return isinstance(decision, dict) and decision.get("decision") == "allow" and intent.get("code") is None


def _settled(outcome: JsonObject) -> _Settled:
    # `repr`, since a record that was altered may hold values that cannot be hashed.
    return hash(repr([outcome.get(name) for name in _SAID])), outcome.get("late") is not True
