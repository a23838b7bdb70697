"""What an author is told about an adapter before it ever runs."""

from pathlib import Path

import pytest

from sshfacts.commands.adapter_lint import lint_adapter
from sshfacts.commands.findings import Findings
from sshfacts.commands.site import load_site
from tests.support.sites import DISK, SiteFiles

READ = "def read(stdout):\n    return []\n"


def found(code: str) -> list[str]:
    findings = Findings()
    lint_adapter(code, Path("a.py"), findings)
    return [f"{one.line}:{one.column} {one.code}: {one.what}" for one in findings.sorted()]


@pytest.mark.parametrize(
    "code",
    [
        READ,
        "def read(stdout: bytes) -> object:\n    return []\n",
        "def read(stdout, /):\n    return []\n",
        'r"""Text."""\n\nimport re\nfrom collections import Counter\n\n\ndef _line(text): ...\n\n\n' + READ,
        "import collections.abc, csv, datetime, functools, ipaddress, itertools, math, operator, shlex, string\n"
        + READ,
        "def read(stdout):\n    open_ = eval_ = None\n    return [open_, stdout.compile]\n",
    ],
)
def test_an_adapter_in_order(code: str):
    assert found(code) == []


@pytest.mark.parametrize(
    ("code", "finding"),
    [
        ("def read(stdout):\n  return [\n", "2:10 adapter.syntax: this is no well-formed Python"),
        ("", "0:0 adapter.signature: there is no function `read`"),
        ("class A:\n    def read(self): ...\n", "0:0 adapter.signature: there is no function `read`"),
        ("read = lambda stdout: []\n", "0:0 adapter.signature: there is no function `read`"),
        ("def read():\n    return []\n", "1:1 adapter.signature: `read` has another form"),
        ("def read(stdout, more):\n    return []\n", "1:1 adapter.signature: `read` has another form"),
        ("def read(stdout=b''):\n    return []\n", "1:1 adapter.signature: `read` has another form"),
        ("def read(*stdout):\n    return []\n", "1:1 adapter.signature: `read` has another form"),
        ("def read(stdout, *, x):\n    return []\n", "1:1 adapter.signature: `read` has another form"),
        ("def read(stdout, **x):\n    return []\n", "1:1 adapter.signature: `read` has another form"),
        ("async def read(stdout):\n    return []\n", "1:1 adapter.signature: `read` has another form"),
        ("@staticmethod\ndef read(stdout):\n    return []\n", "2:1 adapter.signature: `read` has another form"),
        (READ + READ, "3:1 adapter.signature: there is a second function `read`"),
        ("import os\n" + READ, "1:1 adapter.import: the adapter imports 'os'"),
        ("import re, os.path\n" + READ, "1:1 adapter.import: the adapter imports 'os.path'"),
        ("from json import loads\n" + READ, "1:1 adapter.import: the adapter imports 'json'"),
        ("from . import other\n" + READ, "1:1 adapter.import: the adapter imports '.'"),
        ("from .other import x\n" + READ, "1:1 adapter.import: the adapter imports '.other'"),
        ("from __future__ import annotations\n" + READ, "1:1 adapter.import: the adapter imports '__future__'"),
        (
            "def read(stdout):\n    import sshfacts\n    return []\n",
            "2:5 adapter.import: the adapter imports 'sshfacts'",
        ),
        ("def read(stdout):\n    return open('x')\n", "2:12 adapter.builtin: the adapter uses 'open'"),
        ("run = exec\n" + READ, "1:7 adapter.builtin: the adapter uses 'exec'"),
        ("def read(stdout):\n    return [__import__('os')]\n", "2:13 adapter.builtin: the adapter uses '__import__'"),
    ],
)
def test_one_fault_gives_one_finding(code: str, finding: str):
    assert found(code) == [finding]


@pytest.mark.parametrize(
    "code", ['def read(stdout):\n    return ["\\d"]\n', "x = 1\0\n", "x = " + "(" * 5000 + ")" * 5000, READ + "\tx\n"]
)
def test_what_python_cannot_read_or_warns_about(code: str):
    # Where it stands is told differently by each version of Python.
    assert [line.split()[1] for line in found(code)] == ["adapter.syntax:"]


def test_all_faults_are_found_in_one_run():
    code = "import os\nimport socket\n\ndef read(stdout, x):\n    print(x)\n    return eval(stdout)\n"
    assert [line.split(":", 2)[1].split()[1] for line in found(code)] == [
        "adapter.import",
        "adapter.import",
        "adapter.signature",
        "adapter.builtin",
        "adapter.builtin",
    ]


def test_the_code_that_was_digested_is_the_code_that_runs(tmp_path: Path):
    files = SiteFiles(tmp_path, operations={"disk": DISK.replace("format: json", "format: {adapter: disks}")})
    path = tmp_path / "adapters" / "disks.py"
    path.parent.mkdir()
    path.write_text(READ)
    operation = files.load().operations["disk"]
    path.write_text(READ.replace("[]", "[1]"))
    assert operation.output.format.source == READ.encode()
    assert load_site(tmp_path, need_settings=True).operations["disk"].digest != operation.digest
