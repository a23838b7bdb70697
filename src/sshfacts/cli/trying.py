"""`sshfacts try`: one answer told stage by stage, for the people who write operations."""

import asyncio
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from sshfacts.cli.options import (
    ArgumentPairs,
    SiteOption,
    TokenFileOption,
    content_site,
    live_site,
    parse_arguments,
    token_of,
)
from sshfacts.cli.output import console, print_json
from sshfacts.errors import Refusal, Stage, UsageError
from sshfacts.values import JsonObject, JsonValue

SHOWN = 2_000
"""Characters of a stage's result that are shown; the rest of a large document helps nobody."""


class Story:
    """What the stages made of one answer: told while it happens, or kept for one JSON object."""

    def __init__(self, *, quiet: bool) -> None:
        self._console = None if quiet else console()
        self.refusal: Refusal | None = None

    def heading(self, text: str) -> None:
        """Name the answer that follows."""
        if self._console is not None:
            self._console.print(Text(text, style="bold"))

    def passed(self, stage: Stage, result: JsonValue) -> None:
        """Show what a stage accepted."""
        if self._console is not None:
            self._console.print(Text(f"  ok       {stage.value:<9} {_shortened(result)}"))

    def refused(self, refusal: Refusal) -> None:
        """Show where the answer ended, why, and what helps."""
        self.refusal = refusal
        if self._console is not None:
            entry = refusal.entry
            self._console.print(Text(f"  refused  {entry.stage.value:<9} {refusal}", style="red"))
            self._console.print(Text(f"           why: {entry.meaning}\n           fix: {entry.fix}"))

    def end(self, operation: str, envelope: JsonObject) -> None:
        """Show what the agent gets, which comes last."""
        if self._console is not None:
            self._console.print(Text("  the agent gets:"))
            print_json(envelope)
            return
        refusal = self.refusal
        print_json(
            {
                "operation": operation,
                "verdict": "accepted" if refusal is None else "refused",
                "stage": refusal.stage.value if refusal is not None else None,
                "detail": refusal.detail if refusal is not None else None,
                "where": refusal.where if refusal is not None else None,
                "envelope": envelope,
            }
        )


def _shortened(result: JsonValue) -> str:
    import json

    text = json.dumps(result, ensure_ascii=True)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(text)} characters)"


def try_(
    name: Annotated[str, typer.Argument(help="The operation.", show_default=False)],
    pairs: ArgumentPairs = None,
    stdout: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="Judge this captured output; - reads stdin. May be given several times."),
    ] = None,
    host: Annotated[str | None, typer.Option(help="Run it on this host, as a recorded call.")] = None,
    as_host: Annotated[str, typer.Option(help="Host alias that the captured output came from.")] = "example-host",
    exit_status: Annotated[int, typer.Option("--exit", min=0, max=255, help="Exit status it ended with.")] = 0,
    at: Annotated[str | None, typer.Option(metavar="TIME", help="Moment of answering, RFC 3339; else now.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object for each answer, on a line.")] = False,
    site: SiteOption = None,
    token_file: TokenFileOption = None,
) -> None:
    """Judge captured output, or a live run, stage by stage; what the agent gets comes last."""
    words = pairs or []
    files = [*(stdout or ()), *(word for word in words if stdout and "=" not in word)]
    words = [word for word in words if not stdout or "=" in word]
    if bool(files) == (host is not None):
        raise UsageError("give either --stdout FILE or --host ALIAS")
    if host is not None:
        accepted = _try_live(name, words, host, site, token_file, quiet=as_json)
    else:
        accepted = _try_captured(name, words, files, as_host, exit_status, _time(at), site, quiet=as_json)
    sys.exit(0 if accepted else 1)


def _time(text: str | None) -> datetime:
    if text is None:
        return datetime.now(UTC)
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        raise UsageError("--at takes a time with its zone, such as 2026-11-30T10:00:00Z")
    return at


def _try_live(
    name: str, words: list[str], host: str, site: Path | None, token_file: Path | None, *, quiet: bool
) -> bool:
    from sshfacts.cli.calling import call_once
    from sshfacts.permission.request import Request

    loaded = live_site(site)
    if name in loaded.drafts:
        raise UsageError(f"{name} is a draft, which is never run; take `status: draft` out of its file to serve it")
    request = Request(name, host, parse_arguments(words, loaded.operations.get(name)))
    story = Story(quiet=quiet)
    story.heading(f"{name} on {host}")
    story.end(name, asyncio.run(call_once(loaded, token_of(token_file), request, "cli.try", story)))
    return story.refusal is None


def _try_captured(
    name: str,
    words: list[str],
    files: list[str],
    as_host: str,
    exit_status: int,
    at: datetime,
    site: Path | None,
    *,
    quiet: bool,
) -> bool:
    from sshfacts.commands.captured import Captured, envelope_of
    from sshfacts.commands.site import load_site

    loaded = load_site(content_site(site), need_settings=False)
    operation = loaded.operations.get(name) or loaded.drafts.get(name)
    if operation is None:
        raise UsageError(f"no operation {name!r} in {loaded.root}; another site is named by --site")
    arguments = parse_arguments(words, operation)
    outputs = [(file, _bytes_of(file)) for file in files]
    accepted = True
    for file, stdout in outputs:
        story = Story(quiet=quiet)
        story.heading(f"{name} from {file}")
        captured = Captured(stdout, exit_status, arguments, as_host, at)
        story.end(name, envelope_of(operation, captured, story))
        accepted = accepted and story.refusal is None
    return accepted


def _bytes_of(file: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from None
