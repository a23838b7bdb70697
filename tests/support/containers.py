"""The container files of the project, read as data."""

import re
import shlex
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]


def compose() -> dict[str, Any]:
    """Return `docker-compose.yml`, with its anchors and merges resolved."""
    loaded: dict[str, Any] = YAML(typ="safe").load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    return loaded


def instructions(dockerfile: Path) -> list[tuple[str, str]]:
    """Return the instructions of a Dockerfile: the word, and the rest of its logical line."""
    text = re.sub(r"^\s*#.*\n", "", dockerfile.read_text(encoding="utf-8"), flags=re.MULTILINE)
    lines = filter(None, re.sub(r"\\\n\s*", "", text).splitlines())
    found = [line.partition(" ") for line in lines]
    return [(word, rest) for word, _, rest in found]


def words(command: object) -> list[str]:
    """Return a command of a Compose file as words, without the `CMD` of a health check."""
    given = shlex.split(command) if isinstance(command, str) else [str(word) for word in command]  # type: ignore[attr-defined]
    return given[1:] if given[0] == "CMD" else given
