"""What an adapter may import, and that all of it works where nothing can be opened any more."""

import ast

import pytest

from sshfacts.adapters.imports import ALLOWED, imports, needed
from sshfacts.adapters.worker import run_adapter
from sshfacts.limits import KIB


def test_every_import_is_found_wherever_it_stands():
    code = "import re, os.path\nfrom csv import reader\nfrom . import x\nfrom ..y import z\ndef f(): import math as m\n"
    assert [name for _, name in imports(ast.parse(code))] == ["re", "os.path", "csv", ".", "..y", "math"]


@pytest.mark.parametrize(
    ("code", "modules"),
    [
        (b"", ()),
        (b"import re", ("re",)),
        (b"import re, csv\ndef f():\n    import re", ("csv", "re")),
        (b"from datetime import datetime", ("datetime", "_strptime")),
        (b"import os, socket, ctypes", ()),
        (b"import (", ()),
        (b"import re\0", ()),
        (b"\xff", ()),
    ],
)
def test_what_is_allowed_is_loaded(code: bytes, modules: tuple[str, ...]):
    assert needed(code) == modules


@pytest.mark.parametrize("module", sorted(ALLOWED))
def test_each_module_can_be_imported_in_the_worker(module: str):
    code = f"import {module}\n\ndef read(stdout):\n    return [{module}.__name__]\n".encode()
    assert run_adapter(code, b"x", KIB).decode() == f'["{module}"]'


@pytest.mark.parametrize(
    "call",
    [
        "datetime.datetime.strptime(text, '%Y-%m-%d').isoformat()",
        "str(ipaddress.ip_address('::1'))",
        "list(csv.reader([text]))[0][0]",
        "shlex.split(text)[0]",
        "string.Template('$a').substitute(a=text)",
        "re.sub('[0-9]', 'x', text)",
        "f'{math.sqrt(4)}'",
    ],
)
def test_they_work_without_files(call: str):
    modules = "csv, datetime, ipaddress, math, re, shlex, string"
    code = f"import {modules}\n\ndef read(stdout):\n    text = stdout.decode()\n    return [{call}]\n".encode()
    assert run_adapter(code, b"2026-11-30", KIB).startswith(b'["')


def test_a_module_off_the_list_is_not_there():
    code = b"def read(stdout):\n    try:\n        import socket\n    except ImportError:\n        return ['none']\n"
    assert run_adapter(code, b"x", KIB) == b'["none"]'
