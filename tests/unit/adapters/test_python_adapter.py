"""An adapter as one of the formats: what it returns is read like any document from outside."""

import pytest

from sshfacts.adapters.formats import PythonAdapter
from sshfacts.adapters.reader import read
from sshfacts.errors import Refusal
from sshfacts.limits import DEFAULTS, ReadLimits
from sshfacts.values import JsonValue

LIMITS = ReadLimits(bytes=1000, depth=4, values=50, items=10, members=5, name=8, string=100)


def document(expression: str, stdout: bytes = b"x") -> JsonValue:
    return read(PythonAdapter("test", f"def read(stdout):\n    return {expression}\n".encode()), LIMITS, stdout)


def refusal(expression: str, stdout: bytes = b"x") -> str:
    with pytest.raises(Refusal) as caught:
        document(expression, stdout)
    return str(caught.value)


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("[]", []),
        ("{}", {}),
        ("[len(stdout), stdout.decode()]", [1, "x"]),
        ("{'a': [1, -2.5, True, None, 'é', '\\n']}", {"a": [1, -2.5, True, None, "é", "\n"]}),
        ("[(1, 2)]", [[1, 2]]),
    ],
)
def test_a_document(expression: str, result: JsonValue):
    assert document(expression) == result


@pytest.mark.parametrize(
    ("expression", "refused"),
    [
        ("[[[[[]]]]]", "output.depth (the adapter's document, byte 4)"),
        ("[0] * 11", "output.items (the adapter's document, byte 22)"),
        ("{str(n): n for n in range(6)}", "output.items (the adapter's document, byte 36)"),
        ("['x' * 101]", "output.string (the adapter's document, byte 1)"),
        ("{'x' * 9: 1}", "output.string (the adapter's document, byte 1)"),
        ("[10 ** 40]", "output.number (the adapter's document, byte 1)"),
        ("{1: 'a', '1': 'b'}", "output.duplicate_name (the adapter's document, byte 9)"),
        ("['\\ud800']", "output.encoding (the adapter's document, byte 2)"),
        ("['\\x00']", "output.encoding (the adapter's document, byte 2)"),
        ("[['x' * 100] * 10] * 5", "adapter.limit (a document of more than 4000 bytes)"),
        ("1", "adapter.failed (TypeError in its document)"),
    ],
)
def test_a_document_that_breaks_a_rule(expression: str, refused: str):
    assert refusal(expression) == refused


def test_output_is_counted_before_anything_runs():
    assert refusal("[]", b"x" * 1001).startswith("output.too_large")


def test_no_output_is_empty_and_no_question_to_the_adapter():
    assert refusal("[]", b"") == "output.empty"


def test_bytes_that_are_no_text_are_for_the_adapter_to_judge():
    assert document("[stdout[0]]", b"\xff") == [255]


def test_the_code_is_not_shown():
    assert "secret" not in repr(PythonAdapter("test", b"secret"))


def test_an_adapter_without_code_fails():
    with pytest.raises(Refusal, match=r"^adapter\.failed"):
        read(PythonAdapter("test"), DEFAULTS, b"x")
