"""The door of the room."""

import pytest

from sshfacts.adapters.formats import Fields, Json, JsonLines, KeyValue, PythonAdapter
from sshfacts.adapters.reader import read
from sshfacts.errors import Refusal
from sshfacts.limits import DEFAULTS


@pytest.mark.parametrize(
    ("output_format", "stdout", "document"),
    [
        (Json(), b'{"a":1}', {"a": 1}),
        (JsonLines(), b"{}\n[]\n", [{}, []]),
        (KeyValue("="), b"a=1\n", {"a": "1"}),
        (Fields("space", ("a", "b")), b"1 2\n", [{"a": "1", "b": "2"}]),
        (Fields("nul", ("a",)), b"1\0002\0", [{"a": "1"}, {"a": "2"}]),
        (PythonAdapter("any", b"def read(stdout):\n    return [len(stdout)]\n"), b"1 2\n", [4]),
    ],
)
def test_each_format_has_its_reader(output_format, stdout, document):
    assert read(output_format, DEFAULTS, stdout) == document


@pytest.mark.parametrize("other", [JsonLines(), KeyValue("="), Fields("tab", ("a", "b"))])
def test_no_format_falls_back_to_another(other):
    with pytest.raises(Refusal):
        read(other, DEFAULTS, b'{"a":1}')
