"""What the code of an adapter can reach: nothing. The lint would refuse all of these; here it is not asked."""

import json
import logging
import os
import time
from pathlib import Path

import pytest

from sshfacts.adapters import worker
from sshfacts.adapters.protections import measure
from sshfacts.adapters.worker import exchange, run_adapter
from sshfacts.adapters.worker_process import Outcome, Protection
from sshfacts.errors import Refusal
from sshfacts.limits import KIB

MOST = 64 * KIB
MARKER = "zz-marker-7f3a"


@pytest.fixture(params=["system calls filtered", "limits and namespaces"])
def _layer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the filter of system calls, and without it, so that each layer is seen to hold alone."""
    if request.param == "limits and namespaces":
        monkeypatch.setattr(worker, "system_call_filter", lambda: b"")


def attempt(body: str, stdout: bytes = b"x") -> str:
    """Run a body that returns what it reached; return how the attempt ended."""
    code = "def read(stdout):\n    import ctypes, os\n    libc = ctypes.CDLL(None, use_errno=True)\n"
    code += "".join(f"    {line}\n" for line in body.splitlines())
    try:
        return run_adapter(code.encode(), stdout, MOST).decode()
    except Refusal as refusal:
        return str(refusal)


@pytest.mark.usefixtures("_layer")
@pytest.mark.parametrize(
    "body",
    [
        "return [open('/etc/passwd').read()]",
        "return [os.listdir('/')]",
        "return [os.open('/proc/self/environ', os.O_RDONLY)]",
        f"return [open('/proc/{os.getppid()}/environ').read()]",
        "return [os.pipe()]",
        "return [os.dup(1)]",
        "return [os.memfd_create('x')]",
        "import _socket\nreturn [_socket.socket()]",
        "return [os.fork()]",
        "import _thread\nreturn [_thread.start_new_thread(print, ())]",
        "import resource\nresource.setrlimit(resource.RLIMIT_AS, (-1, -1))\nreturn []",
        "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (9, 9))\nreturn []",
        "os.setuid(0)\nreturn []",
    ],
)
def test_what_it_asks_for_is_refused(body: str):
    assert attempt(body).startswith("adapter.failed (")


@pytest.mark.parametrize(
    "body",
    [
        "os.mkdir('/tmp/zz-made-by-an-adapter')\nreturn []",
        "return [os.stat('/').st_ino]",
        "os.unlink('/nowhere')\nreturn []",
        "os.execv('/bin/true', ['true'])",
        "os.chdir('/')\nreturn []",
    ],
)
def test_what_needs_no_descriptor_is_refused_by_the_filter(body: str):
    assert attempt(body) == "adapter.failed (PermissionError at line 4 of the adapter)"


@pytest.mark.usefixtures("_layer")
@pytest.mark.parametrize("kind", ["2, 1, 0", "2, 2, 0", "10, 1, 0", "1, 1, 0", "16, 3, 0", "17, 3, 0"])
def test_no_kind_of_socket_can_be_made(kind: str):
    assert attempt(f"return [libc.socket({kind})]") == "[-1]"


@pytest.mark.usefixtures("_layer")
def test_a_fork_bomb_does_not_start():
    bomb = "made = 0\nfor _ in range(100):\n    if libc.fork() >= 0:\n        made += 1\nreturn [made]"
    assert attempt(bomb) == "[0]"


@pytest.mark.usefixtures("_layer")
def test_the_environment_is_empty(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SSHFACTS_DATABASE_URL", MARKER)
    found = attempt("return [[name, os.environ[name]] for name in os.environ]")
    # CPython itself names the encoding that it chose.
    assert found in ("[]", '[["LC_CTYPE","C.UTF-8"]]')


@pytest.mark.usefixtures("_layer")
def test_descriptors_of_the_service_are_not_there(tmp_path: Path):
    with (tmp_path / "database").open("wb") as database:
        os.set_inheritable(database.fileno(), True)
        body = "return [number for number in range(1024) if libc.write(number, b'', 0) == 0]"
        assert attempt(body) == "[0,1,2,3]"
    assert (tmp_path / "database").read_bytes() == b""


@pytest.mark.usefixtures("_layer")
def test_what_is_printed_is_no_part_of_the_answer():
    body = (
        "import sys\nprint('x' * 100000)\nprint('y', file=sys.stderr)\nos.write(1, b'z')\nos.write(2, b'z')\nreturn [1]"
    )
    assert attempt(body) == "[1]"


def test_an_answer_that_it_writes_itself_is_read_like_any_other():
    assert attempt("os.write(3, b'junk')\nreturn []") == "adapter.failed (the worker ended without an answer)"
    forged = "import struct\nos.write(3, struct.pack('=BBI', 0, 0, 4) + b'[{}]')\nos._exit(0)"
    assert attempt(forged) == "[{}]"


@pytest.mark.parametrize("end", ["os._exit(0)", "os._exit(7)", "os.abort()", "libc.raise_(11)", "ctypes.string_at(0)"])
def test_a_worker_that_ends_itself_is_a_failure(end: str):
    assert attempt(end).startswith("adapter.failed (")


def test_it_cannot_kill_its_own_service_or_itself():
    assert attempt("return [libc.kill(int(stdout), 15)]", b"%d" % os.getpid()) == "[-1]"
    assert attempt("os.kill(os.getpid(), 9)\nreturn []") == "adapter.failed (PermissionError at line 4 of the adapter)"


def test_a_kill_from_outside_is_a_limit_of_the_kernel(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(worker, "system_call_filter", lambda: b"")
    assert attempt("os.kill(os.getpid(), 9)").startswith("adapter.limit (")


@pytest.mark.parametrize(
    "body",
    [
        f"raise ValueError('{MARKER}', stdout)",
        f"raise type('{MARKER}'.replace('-', '_') + stdout.decode(), (Exception,), {{}})",
        f"class Unread(Exception):\n    def __str__(self): return '{MARKER}'\nraise Unread(stdout)",
        f"class Unread(Exception):\n    def __repr__(self): raise ValueError('{MARKER}')\nraise Unread(stdout)",
        "return [stdout]",
        "return {stdout: 1}",
        f"raise ExceptionGroup('{MARKER}', [ValueError(stdout)])",
        f"print('{MARKER}', stdout)\nraise SystemExit(stdout)",
        "import warnings\nwarnings.warn(stdout.decode())\nraise ValueError",
    ],
)
def test_nothing_of_the_output_is_in_a_refusal(
    body: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
):
    caplog.set_level(logging.DEBUG)
    with pytest.raises(Refusal) as caught:
        run_adapter(
            ("def read(stdout):\n" + "".join(f"    {line}\n" for line in body.splitlines())).encode(),
            MARKER.encode(),
            MOST,
        )
    error = caught.value
    told = [str(error), repr(error), repr(error.__cause__), repr(error.__context__), caplog.text, *capfd.readouterr()]
    assert [text for text in told if MARKER in text or MARKER.replace("-", "_") in text] == []


def test_it_stands_in_a_network_of_its_own(monkeypatch: pytest.MonkeyPatch):
    if Protection.NAMESPACES not in exchange(b"def read(stdout):\n    return []\n", b"", MOST).protections:
        pytest.skip("this machine gives no namespaces")
    seen: list[Path] = []
    receive = worker._receive

    def look(process, most, deadline):
        for _ in range(200):
            try:
                seen.append(Path(f"/proc/{process.pid}/ns/net").readlink())
            except OSError:  # It has become nobody, so that only root may look.
                return receive(process, most, deadline)
            if seen[-1] != seen[0]:
                break
            time.sleep(0.005)
        return receive(process, most, deadline)

    monkeypatch.setattr(worker, "_receive", look)
    exchange(b"def read(stdout):\n    for _ in range(10**6): pass\n    return []\n", b"", MOST)
    assert seen[-1] != Path("/proc/self/ns/net").readlink()


def test_everything_that_is_compulsory_holds_here():
    found = measure()
    assert [one.name for one in found][:6] == ["worker", "limits", "environment", "descriptors", "files", "network"]
    assert [one.name for one in found if one.is_compulsory and not one.holds] == []
    assert [one.meaning for one in found if not one.meaning] == []


def test_the_measurement_shows_what_does_not_hold(monkeypatch: pytest.MonkeyPatch):
    reply = worker.Reply(
        Outcome.DOCUMENT,
        Protection(0),
        json.dumps(
            dict.fromkeys(
                ["environment", "descriptors", "files", "network", "paths", "processes", "signals", "tracing"], False
            )
        ).encode(),
    )
    monkeypatch.setattr("sshfacts.adapters.protections.exchange", lambda *_: reply)
    held = {one.name: one for one in measure()}
    assert [name for name, one in held.items() if one.holds] == ["worker"]
    assert held["network"].meaning == "it could make a socket, to the network or to a local service"
    assert held["namespaces"].meaning.startswith("this machine gives no ")


@pytest.mark.parametrize(
    ("outcome", "meaning"), [(Outcome.UNCONFINED, "it answered UNCONFINED"), (None, "the worker did not start")]
)
def test_a_worker_that_does_not_run_is_the_only_row(
    monkeypatch: pytest.MonkeyPatch, outcome: Outcome | None, meaning: str
):
    def fail(*_: object) -> worker.Reply:
        if outcome is None:
            raise Refusal("adapter.failed", "the worker did not start")
        return worker.Reply(outcome, Protection(0), b"")

    monkeypatch.setattr("sshfacts.adapters.protections.exchange", fail)
    [row] = measure()
    assert (row.name, row.holds, row.is_compulsory, row.meaning) == ("worker", False, True, meaning)
