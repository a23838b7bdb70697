"""What is wrong with the code of an adapter, found without running it.

This is a seat belt for authors and not what protects the service: an adapter runs in a process that holds nothing and
reaches nothing, whatever its code says (see `sshfacts.adapters.worker_process`).
"""

import ast
import warnings
from collections.abc import Iterator
from pathlib import Path

from sshfacts.adapters.imports import ALLOWED, imports
from sshfacts.commands.findings import Findings, Place

_CLOSED = frozenset({"__import__", "breakpoint", "compile", "eval", "exec", "exit", "input", "open", "print", "quit"})
"""Builtins that reach outside the process, or run what was not vetted."""
_SHAPE = "write `def read(stdout: bytes) -> object:` once, at the top level"


def lint_adapter(code: str, path: Path, findings: Findings) -> None:
    """Add everything that is wrong with an adapter, in one run."""
    tree = _parse(code, path, findings)
    if tree is None:
        return
    _check_signature(tree, path, findings)
    for statement, module in imports(tree):
        if module not in ALLOWED:
            fix = "use only " + ", ".join(sorted(ALLOWED))
            findings.add("adapter.import", _place(path, statement), f"the adapter imports {module!r}", fix)
    for name in _closed_builtins(tree):
        what = f"the adapter uses {name.id!r}"
        findings.add("adapter.builtin", _place(path, name), what, "work on the bytes that `read` is given")


def _parse(code: str, path: Path, findings: Findings) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            # A wrong escape in a text is only warned about, and means something else than its author thinks.
            warnings.simplefilter("error")
            return ast.parse(code)
    except SyntaxError as error:
        place = Place(str(path), error.lineno or 0, error.offset or 0)
    except (ValueError, RecursionError, MemoryError):
        # A NUL character, or nesting that exhausts the parser.
        place = Place(str(path))
    findings.add("adapter.syntax", place, "this is no well-formed Python", "correct it")
    return None


def _check_signature(tree: ast.Module, path: Path, findings: Findings) -> None:
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    found = [node for node in functions if node.name == "read"]
    if not found:
        findings.add("adapter.signature", Place(str(path)), "there is no function `read`", _SHAPE)
    for again in found[1:]:
        findings.add("adapter.signature", _place(path, again), "there is a second function `read`", _SHAPE)
    if found and not _is_read(found[0]):
        findings.add("adapter.signature", _place(path, found[0]), "`read` has another form", _SHAPE)


def _is_read(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether a function is plain, and takes exactly one argument by position."""
    given = function.args
    positional = len(given.posonlyargs) + len(given.args)
    others = [*given.kwonlyargs, *given.defaults, given.vararg, given.kwarg]
    plain = isinstance(function, ast.FunctionDef) and not function.decorator_list
    return plain and positional == 1 and not any(others)


def _closed_builtins(tree: ast.Module) -> Iterator[ast.Name]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in _CLOSED:
            yield node


def _place(path: Path, node: ast.stmt | ast.Name) -> Place:
    return Place(str(path), node.lineno, node.col_offset + 1)
