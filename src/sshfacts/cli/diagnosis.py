"""`sshfacts doctor`: what this machine gives, and what it does not."""

import os
import platform
import sys
from collections.abc import Iterator

from sshfacts.cli.output import print_table

_Row = tuple[str, str, str]
_IN_FORCE, _MISSING, _FAILED = "in force", "missing", "FAILED"


def doctor() -> None:
    """Say which protections are in force on this machine; a compulsory one that fails ends with 1."""
    rows = [_system(), _json(), _patterns(), *_adapters()]
    print_table("", ("check", "state", "meaning"), rows)
    sys.exit(1 if any(state == _FAILED for _, state, _ in rows) else 0)


def _system() -> _Row:
    kernel = os.uname()
    return (
        "system",
        "known",
        f"Python {platform.python_version()}, {kernel.sysname} {kernel.release} on {kernel.machine}",
    )


def _json() -> _Row:
    try:
        from sshfacts.adapters.json_reader import JsonReader
        from sshfacts.limits import DEFAULTS

        JsonReader(DEFAULTS)
    except ImportError:
        return "JSON reader", _FAILED, "ijson has no yajl2_c here; install it from its wheel"
    return "JSON reader", _IN_FORCE, "ijson has the backend that the strict reader was made for, yajl2_c"


def _patterns() -> _Row:
    try:
        from sshfacts.schemas.patterns import Pattern

        Pattern("^a{1,9}$")
    except ImportError:
        return "patterns", _FAILED, "google-re2 cannot be loaded; install it from its wheel"
    return "patterns", _IN_FORCE, "patterns of contracts run on RE2, in linear time"


def _adapters() -> Iterator[_Row]:
    from sshfacts.adapters.protections import measure

    for one in measure():
        lacking = _FAILED if one.is_compulsory else _MISSING
        yield f"adapter: {one.name}", _IN_FORCE if one.holds else lacking, one.meaning
