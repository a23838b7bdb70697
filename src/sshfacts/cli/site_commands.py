"""`sshfacts operations`, `check` and `explain`: what a site holds, and whether it is fit to serve."""

import sys
from typing import Annotated

import typer
from rich.text import Text

from sshfacts.cli.options import SiteOption, content_site
from sshfacts.cli.output import console, print_findings, print_table
from sshfacts.errors import DETAILS, Code, SiteError, UsageError


def operations(site: SiteOption = None) -> None:
    """List the operations of a site: what they answer, what they need."""
    from sshfacts.commands.site import load_site

    loaded = load_site(content_site(site), need_settings=False)
    print_table(
        f"site {loaded.name}",
        ("operation", "title", "arguments", "effect", "grants", "host groups", "digest"),
        (
            (
                operation.name,
                operation.title,
                " ".join(operation.arguments) or "-",
                operation.effect.value,
                " ".join(sorted(operation.grants)),
                " ".join(sorted(operation.host_groups)),
                operation.digest[:12],
            )
            for operation in sorted(loaded.operations.values(), key=lambda one: one.name)
        ),
    )


def check(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Only these operations.")] = None,
    site: SiteOption = None,
) -> None:
    """Check a site offline: its files, and every case and its near misses through the stages of a real call."""
    from sshfacts.commands.cases import check_cases
    from sshfacts.commands.site import load_site

    root = content_site(site)
    if not root.is_dir():
        raise UsageError(f"{root} is not a folder")
    try:
        loaded = load_site(root, need_settings=False)
    except SiteError as error:
        print_findings(error.findings)
        console(stderr=True).print(f"{len(error.findings)} findings; no case was run")
        sys.exit(1)
    known = {**loaded.operations, **loaded.drafts}
    unknown = sorted(set(names or ()) - known.keys())
    if unknown:
        raise UsageError(f"no operation {unknown[0]!r} in {root}; another site is named by --site")
    console().print(Text(f"site {loaded.name} in {root}"))
    chosen = [known[name] for name in sorted(names or known)]
    results = [check_cases(operation) for operation in chosen]
    for operation, result in zip(chosen, results, strict=True):
        verdict = "ok" if not result.findings else f"{len(result.findings)} findings"
        counts = f"{result.accepted:>3} accepted  {result.refused:>3} refused  {result.near_misses:>6,} near misses"
        console().print(Text(f"{operation.name:<40} {counts}   {verdict}"))
    findings = [finding for result in results for finding in result.findings]
    print_findings(sorted(findings))
    cases = sum(result.accepted + result.refused for result in results)
    near_misses = sum(result.near_misses for result in results)
    console().print(f"{len(chosen)} operations, {cases} cases, {near_misses:,} near misses, {len(findings)} findings")
    sys.exit(1 if findings else 0)


def explain(
    code: Annotated[str, typer.Argument(help="A code, a detail or a finding's code.", show_default=False)],
) -> None:
    """Explain a code: what it means, and what to do."""
    lines = _explained(code)
    if not lines:
        raise UsageError(f"no code {code!r}; codes look like INVALID_RESPONSE, output.syntax or argv.shell")
    for line in lines:
        console().print(Text(line), soft_wrap=True)


def _explained(code: str) -> list[str]:
    if code in DETAILS:
        entry = DETAILS[code]
        again = "may be tried again" if entry.code.retryable else "trying again does not help"
        return [
            f"{code}: {entry.meaning}",
            f"  stage: {entry.stage.value}",
            f"  the agent sees: {entry.code.value} ({again}; HTTP {entry.code.http_status})",
            f"  fix: {entry.fix}",
        ]
    if code in Code.__members__:
        details = [entry for entry in DETAILS.values() if entry.code.value == code]
        return [f"{code} covers:", *(f"  {entry.name}: {entry.meaning}" for entry in details)]
    from sshfacts.commands.findings import REGISTRY

    return [f"{code}: {REGISTRY[code]}"] if code in REGISTRY else []
