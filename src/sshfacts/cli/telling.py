"""`sshfacts audit show`: the whole story of one request, stage by stage and then record by record."""

from collections.abc import Iterator, Sequence
from typing import Annotated

import typer
from rich.text import Text

from sshfacts.cli.address import PasswordFileOption, UrlOption, chosen_url
from sshfacts.cli.options import SiteOption
from sshfacts.cli.output import console, print_json
from sshfacts.errors import Stage, UsageError
from sshfacts.values import JsonObject, JsonValue

_OF_A_RUN = (Stage.RUN, Stage.READ, Stage.DOCUMENT, Stage.CHECKS, Stage.FACTS)
_MAY_HAVE_RUN = "may have run: no outcome is on record"

_Line = tuple[str, str, str]
"""A stage, how it went, and what is known of it."""


def show(
    request_id: Annotated[str, typer.Argument(help="As it stands in the envelope.", show_default=False)],
    site: SiteOption = None,
    url: UrlOption = None,
    password_file: PasswordFileOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="The records as stored, one on a line.")] = False,
) -> None:
    """Show the whole story of one request: how each stage went, and every record of it."""
    from sshfacts.storage.engine import open_for_reading
    from sshfacts.storage.queries import story

    bodies = story(open_for_reading(chosen_url(site, url, password_file)), request_id)
    if not bodies:
        raise UsageError("no request with this id is in the record")
    if as_json:
        for body in bodies:
            print_json(body)
        return
    shown = console()
    for stage, state, text in stages(bodies):
        shown.print(Text(f"{stage:<9} {state:<12} {text}".rstrip()), soft_wrap=True)
    for body in bodies:
        shown.print()
        _print_body(body)


def stages(bodies: Sequence[JsonObject]) -> Iterator[_Line]:
    """Yield how each stage of a call went, by its records; nothing for a request without an intent."""
    intent = _first(bodies, "intent")
    outcome = _first(bodies, "outcome")
    if intent is None:
        return
    yield _decided(intent)
    yield "record", "ok", f"intent at {intent['at']}"
    if intent.get("code") is not None:
        return
    if outcome is None:
        yield "run", "unknown", _MAY_HAVE_RUN
        return
    yield from _ran(outcome)
    yield "record", "ok", f"outcome at {outcome['at']}{', late' if outcome.get('late') else ''}"
    yield "answer", "", f"{_plain(outcome.get('code'))} after {_milliseconds(outcome.get('duration_us'))}"


def _decided(intent: JsonObject) -> _Line:
    decision = intent.get("decision")
    verdict = decision.get("decision") if isinstance(decision, dict) else None
    where = f" ({_plain(intent['where'])})" if intent.get("where") else ""
    approver = f", approved by {_plain(intent['approver'])}" if intent.get("approver") else ""
    asked = f"{_plain(intent.get('operation'))} on {_plain(intent.get('host') or '-')} for {_plain(intent['caller'])}"
    if intent.get("code") is None:
        return "decide", "ok", f"{asked}: {_plain(verdict)}, {_plain(intent.get('reason'))}{approver}"
    return "decide", "refused", f"{asked}: {_plain(intent['code'])}, {_plain(intent.get('detail'))}{where}"


def _ran(outcome: JsonObject) -> Iterator[_Line]:
    """Yield the stages from the run to the facts."""
    for stage, state in zip(_OF_A_RUN, _states(outcome), strict=True):
        text = _refusal(outcome) if state == "refused" else ""
        if stage is Stage.RUN:
            text = ", ".join(filter(None, (_run_text(outcome), text)))
        elif stage is Stage.FACTS and state == "ok":
            text = f"sha256 {_plain(outcome.get('facts_sha256'))}"
        yield stage.value, state, text


def _states(outcome: JsonObject) -> list[str]:
    """Return how each stage of a run went. The one that refused is on record; all before it accepted."""
    ended = outcome.get("stage")
    if outcome.get("code") == "success":
        return ["ok"] * len(_OF_A_RUN)
    if ended not in _OF_A_RUN:  # cancelled, or a fault of the program
        return ["unknown"] * len(_OF_A_RUN)
    place = _OF_A_RUN.index(Stage(str(ended)))
    return ["ok"] * place + ["refused"] + ["not reached"] * (len(_OF_A_RUN) - place - 1)


def _run_text(outcome: JsonObject) -> str:
    attempts = outcome.get("attempts")
    count = len(attempts) if isinstance(attempts, list) else 0
    stdout = outcome.get("stdout")
    parts = [f"{count} {'attempt' if count == 1 else 'attempts'}"]
    if outcome.get("exit_status") is not None:
        parts.append(f"exit status {_plain(outcome['exit_status'])}")
    if isinstance(stdout, dict):
        parts.append(f"{_plain(stdout.get('bytes'))} bytes of stdout")
    return ", ".join(parts)


def _refusal(outcome: JsonObject) -> str:
    where = f" ({_plain(outcome['where'])})" if outcome.get("where") else ""
    return f"{_plain(outcome.get('detail'))}{where}"


def _milliseconds(microseconds: JsonValue) -> str:
    return f"{microseconds / 1_000:.1f} ms" if isinstance(microseconds, int) else "?"


def _first(bodies: Sequence[JsonObject], kind: str) -> JsonObject | None:
    return next((body for body in bodies if body.get("kind") == kind), None)


def _print_body(body: JsonObject) -> None:
    """Write one record as lines of `name: value`; absent values are left out."""
    shown = console()
    shown.print(Text(f"{body['kind']} at {body['at']}", style="bold"))
    for name, value in _flat(body):
        if name not in ("kind", "at", "v"):
            shown.print(Text(f"  {name}: {value}"), soft_wrap=True)


def _flat(value: JsonValue, prefix: str = "") -> list[tuple[str, str]]:
    if isinstance(value, dict):
        parts = [_flat(member, f"{prefix}.{name}" if prefix else name) for name, member in value.items()]
        return [line for part in parts for line in part]
    if isinstance(value, list):
        parts = [_flat(item, f"{prefix}[{index}]") for index, item in enumerate(value)]
        return [line for part in parts for line in part]
    return [] if value is None else [(prefix, _plain(value))]


def _plain(value: JsonValue) -> str:
    """Return a value of a record as it may be shown: a terminal must not obey what a host or an agent wrote."""
    return ascii(value)[1:-1] if isinstance(value, str) else str(value).lower()
