"""What all readers do alike, whatever their format."""

import pytest

from sshfacts.adapters.formats import Fields, Json, JsonLines, KeyValue
from sshfacts.adapters.json_reader import JsonReader
from sshfacts.adapters.reader import open_reader
from sshfacts.errors import Refusal
from sshfacts.limits import DEFAULTS, ReadLimits

FORMATS = [
    pytest.param(Json(), b"[1]\n", [1], id="json"),
    pytest.param(JsonLines(), b"[1]\n", [[1]], id="json_lines"),
    pytest.param(KeyValue("="), b"a=1\n", {"a": "1"}, id="key_value"),
    pytest.param(Fields("colon", ("a", "b")), b"1:2\n", [{"a": "1", "b": "2"}], id="fields"),
    pytest.param(Fields("nul", ("a", "b")), b"1\0002\0", [{"a": "1", "b": "2"}], id="fields_nul"),
]


@pytest.mark.parametrize(("output_format", "stdout", "document"), FORMATS)
def test_empty_chunks_mean_nothing(output_format, stdout, document):
    reader = open_reader(output_format, DEFAULTS)
    for byte in stdout:
        reader.feed(b"")
        reader.feed(bytes([byte]))
    reader.feed(b"")

    assert reader.close() == document


@pytest.mark.parametrize(("output_format", "stdout", "document"), FORMATS)
def test_closing_again_returns_the_same_document(output_format, stdout, document):
    reader = open_reader(output_format, DEFAULTS)
    reader.feed(stdout)

    assert reader.close() is reader.close()
    assert reader.close() == document


@pytest.mark.parametrize(("output_format", "stdout", "document"), FORMATS)
def test_a_closed_reader_takes_no_more(output_format, stdout, document):
    reader = open_reader(output_format, DEFAULTS)
    reader.feed(stdout)
    reader.close()

    with pytest.raises(RuntimeError):
        reader.feed(stdout)
    assert reader.close() == document


@pytest.mark.parametrize(("output_format", "stdout", "document"), FORMATS)
def test_no_byte_at_all_is_empty(output_format, stdout, document):  # noqa: ARG001 - one table for all
    reader = open_reader(output_format, DEFAULTS)
    reader.feed(b"")

    for call in (reader.close, reader.close, lambda: reader.feed(stdout)):
        with pytest.raises(Refusal, match=r"^output\.empty$"):
            call()


@pytest.mark.parametrize(("output_format", "stdout", "document"), FORMATS)
def test_the_byte_limit_holds_over_all_chunks(output_format, stdout, document):
    exact = open_reader(output_format, ReadLimits(bytes=len(stdout)))
    tight = open_reader(output_format, ReadLimits(bytes=len(stdout) - 1))
    for byte in stdout[:-1]:
        exact.feed(bytes([byte]))
        tight.feed(bytes([byte]))
    exact.feed(stdout[-1:])

    assert exact.close() == document
    with pytest.raises(Refusal, match=r"output\.too_large"):
        tight.feed(stdout[-1:])


@pytest.mark.parametrize(("output_format", "stdout", "document"), FORMATS)
def test_a_refusal_is_for_ever(output_format, stdout, document):  # noqa: ARG001 - one table for all
    reader = open_reader(output_format, DEFAULTS)
    with pytest.raises(Refusal) as first:
        reader.feed(b"\xff\n\0" * 500)

    for call in (reader.close, lambda: reader.feed(stdout), lambda: reader.feed(b""), reader.close):
        with pytest.raises(Refusal) as again:
            call()
        assert (again.value.detail, again.value.where) == (first.value.detail, first.value.where)


def test_a_failure_of_our_own_never_becomes_a_document(monkeypatch):
    reader = JsonReader(DEFAULTS)
    reader.feed(b"[1]")
    monkeypatch.setattr(reader, "_read", lambda _: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        reader.close()
    with pytest.raises(Refusal, match=r"^internal$"):
        reader.close()
