"""The page of findings, made from the registry that it documents."""

from itertools import groupby
from pathlib import Path

from sshfacts.commands.findings import REGISTRY

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "findings.md"

_INTRODUCTION = """\
# Findings

`sshfacts check` and every start read a site's files and report all that is wrong with them in one run:

```
commands/disk_usage.yaml:17:3: error[field.unknown]: 'run.secnods' is no field
  why: An unknown key is a typing error, or a rule that the author believes in and the service never sees.
  fix: did you mean 'seconds'?
```

A site with a finding is not served. Codes are stable and the list is closed; `sshfacts explain CODE` shows an entry.
"""

_HEADINGS = {
    "adapter": "adapter: code that reads text",
    "argv": "argv: the words of the command",
    "arguments": "arguments: what an agent may pass",
    "case": "case: captured answers and what must come of them",
    "check": "check: rules in CEL",
    "checks": "checks: the list of them",
    "contract": "contract: JSON Schemas",
    "field": "field: one key of any file",
    "select": "select: the selection in JMESPath",
    "settings": "settings: sshfacts.toml",
    "source": "source: the files themselves",
}


def page() -> str:
    """The content of `docs/reference/findings.md`."""
    parts = [_INTRODUCTION]
    for group, codes in groupby(sorted(REGISTRY), key=lambda code: code.split(".")[0]):
        parts.append(f"\n## {_HEADINGS.get(group, group)}\n\n| code | why |\n|---|---|\n")
        parts += [f"| `{code}` | {REGISTRY[code].replace('|', chr(92) + '|')} |\n" for code in codes]
    return "".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
