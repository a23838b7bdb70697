"""Which modules an adapter may import: enough to take text apart, and nothing that reaches outside.

There is no `json` because it keeps the last of two equal names in silence; JSON has formats of its own. There is no
`time` and no `random`, because the same output gives the same document.
"""

import ast
from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType

ALLOWED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "collections": (),
        "collections.abc": (),
        "csv": (),
        "datetime": ("_strptime",),
        "functools": (),
        "ipaddress": (),
        "itertools": (),
        "math": (),
        "operator": (),
        "re": (),
        "shlex": (),
        "string": (),
    }
)
"""Each module, and what it would import later, when the worker can no longer open a file."""


def imports(tree: ast.Module) -> Iterator[tuple[ast.stmt, str]]:
    """Yield each module that code imports, with the statement; a relative import begins with a dot."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node, "." * node.level + (node.module or "")


@lru_cache(maxsize=64)
def needed(source: bytes) -> tuple[str, ...]:
    """Return the modules that the worker must load before it runs this code.

    Code that is not well-formed needs none; the worker tells what is wrong with it.
    """
    try:
        tree = ast.parse(source.decode())
    except (SyntaxError, ValueError):
        return ()
    names = sorted({name for _, name in imports(tree) if name in ALLOWED})
    return tuple(module for name in names for module in (name, *ALLOWED[name]))
