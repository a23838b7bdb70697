"""Prints the JSON Schema of command files, for editors: `python -m sshfacts.commands.command_schema`.

`schemas/command.schema.json` holds what this prints; a test fails when the two differ.
"""

import json
import sys

from sshfacts.commands.command_fields import COMMAND
from sshfacts.values import JsonObject


def command_schema() -> JsonObject:
    """Return the schema that is generated from the fields which check every file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "sshfacts command file, version 1",
        "description": "One operation: the command that may run, and what must come of it.",
        **COMMAND.schema(),
    }


def as_text() -> str:
    """Return the file's content."""
    return json.dumps(command_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(as_text())
