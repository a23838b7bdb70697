"""Writes `docs/reference/error-codes.md` from the registry: `python -m tests.support.error_page`."""

from pathlib import Path

from sshfacts.errors import DETAILS, Code

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "error-codes.md"

HEAD = """\
# Error codes

A call that gives no facts ends with one of the codes below. The agent sees the code and whether the same
call may succeed later; it never sees more, since a finer answer would tell a hostile host what passes and
a curious agent what exists. Operators see the *detail* in the record (`sshfacts audit show`), with a place in
our own words: a keyword, a schema path, a bound or a byte offset. `sshfacts explain NAME` shows each entry.

`retryable` is the table's value; for an operation with `effect: change` it is `false` unless the command
provably never started.
"""


def page() -> str:
    """Return the page as the registry has it."""
    parts = [HEAD]
    for code in Code:
        again = "retryable" if code.retryable else "not retryable"
        parts.append(
            f"\n## {code.value}\n\nHTTP {code.http_status}, {again}.\n\n"
            "| detail | stage | meaning | fix |\n|---|---|---|---|\n"
        )
        entries = [entry for entry in DETAILS.values() if entry.code is code]
        parts += [f"| `{entry.name}` | {entry.stage.value} | {entry.meaning} | {entry.fix} |\n" for entry in entries]
    return "".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
