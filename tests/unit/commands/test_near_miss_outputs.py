"""Near misses of output: whatever good output they are made from, the declared format refuses every one of them."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sshfacts.adapters.formats import Fields, Format, Json, JsonLines, KeyValue, PythonAdapter
from sshfacts.adapters.reader import read
from sshfacts.builtin import builtin_site
from sshfacts.commands.near_miss_outputs import output_flaws
from sshfacts.commands.site import load_site
from sshfacts.errors import Refusal, Stage
from sshfacts.limits import DEFAULTS

LENIENT = KeyValue("=", trim=True, quoted=True, ignore=frozenset({"blank", "comment"}))
SAMPLES: list[tuple[Format, bytes]] = [
    (Json(), b"{}"),
    (Json(), b"[]\n"),
    (Json(), b"[1]\r\n"),
    (Json(), b'{"a": [1, 2.5e3, "x\\"y: 7", true], "": {"b": null}}\n'),
    (Json(), '{"größe": "\u00fc"}'.encode()),
    (JsonLines(), b'{"a": 1}\n'),
    (JsonLines(), b'{"a": 1}\n[]\n{"b": {"c": "d"}}\n'),
    (KeyValue("="), b"a=1\n"),
    (KeyValue("="), b"a=1\nba=1\nc=\n"),
    (KeyValue(":", trim=True), b"MemTotal:       16 kB\nActive(anon):   7 kB\n"),
    (KeyValue(" "), b"a 1\nb 2\n"),
    (KeyValue("!"), b"a!1\n"),
    (LENIENT, b'# a comment\n\n  \nA="1"\n B = 2\n\n\n'),
    (LENIENT, b"\n"),
    (LENIENT, b"# only a comment\n"),
    (Fields("space", ("a",)), b"x\n"),
    (Fields("space", ("a", "b")), b"x y\nz w\n"),
    (Fields("blanks", ("a", "b")), b"  x   y\nz\tw  \n"),
    (Fields("tab", ("a", "b", "c")), b"x\t\tz\n"),
    (Fields("colon", ("a", "b")), b":\n::"[:2]),
    (Fields("nul", ("a",)), b"x\0\0"),
    (Fields("nul", ("a",)), b"\0"),
    (Fields("nul", ("a", "b")), b"x\0y\0\0w\0"),
]


def refused(output_format: Format, stdout: bytes) -> bool:
    try:
        read(output_format, DEFAULTS, stdout)
    except Refusal as refusal:
        return refusal.stage is Stage.READ
    return False


def let_through(output_format: Format, stdout: bytes) -> list[tuple[str, bytes]]:
    return [
        (flaw, flawed) for flaw, flawed in output_flaws(output_format, stdout) if not refused(output_format, flawed)
    ]


@pytest.mark.parametrize(("output_format", "stdout"), SAMPLES)
def test_every_near_miss_of_a_good_output_is_refused(output_format: Format, stdout: bytes):
    read(output_format, DEFAULTS, stdout)

    assert let_through(output_format, stdout) == []


@pytest.mark.parametrize(
    "output_format", {type(one): one for one, _ in SAMPLES}.values(), ids=lambda one: type(one).__name__
)
def test_there_are_near_misses_of_every_format(output_format: Format):
    stdout = next(stdout for one, stdout in SAMPLES if one == output_format)

    assert len(list(output_flaws(output_format, stdout))) > 10


@pytest.mark.parametrize(("output_format", "_"), SAMPLES)
def test_what_stands_where_nothing_was_expected_is_refused(output_format: Format, _: bytes):
    assert list(output_flaws(output_format, b""))
    assert let_through(output_format, b"") == []


def test_the_rules_of_an_adapter_are_its_own():
    assert list(output_flaws(PythonAdapter("ss"), b"x\n")) == []


_SCALARS = st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text('ab"\\ :,[]{}0é\t', max_size=6)
_DOCUMENTS = st.recursive(
    st.dictionaries(st.text('ab0é "', max_size=3), _SCALARS, max_size=3) | st.lists(_SCALARS, max_size=3),
    lambda inner: st.dictionaries(st.text("ab", max_size=2), inner, max_size=3) | st.lists(inner, max_size=3),
    max_leaves=5,
)


@given(_DOCUMENTS, st.sampled_from(["", "\n", "\r\n"]), st.sampled_from([None, 1]))
def test_no_near_miss_of_any_document_is_read(document, end: str, indent):
    stdout = (json.dumps(document, ensure_ascii=False, indent=indent) + end).encode()
    read(Json(), DEFAULTS, stdout)

    assert let_through(Json(), stdout) == []


@given(st.lists(_DOCUMENTS, min_size=1, max_size=3))
def test_no_near_miss_of_any_list_of_documents_is_read(documents):
    stdout = b"".join(json.dumps(document).encode() + b"\n" for document in documents)
    read(JsonLines(), DEFAULTS, stdout)

    assert let_through(JsonLines(), stdout) == []


_LINE = st.text("aB=:# \t\"'1", max_size=6)
_FORMS = st.sampled_from(
    [
        LENIENT,
        KeyValue("="),
        KeyValue(":", trim=True),
        KeyValue("= "),
        *(
            Fields(separator, names)
            for separator in ("tab", "colon", "space", "blanks")
            for names in (("a",), ("a", "b"))
        ),  # type: ignore[arg-type] # the four words
    ]
)


@given(_FORMS, st.lists(_LINE, min_size=1, max_size=4))
def test_no_near_miss_of_lines_that_are_read_is_read(output_format: Format, lines: list[str]):
    stdout = "".join(f"{line}\n" for line in lines).encode()
    if refused(output_format, stdout):
        return

    assert let_through(output_format, stdout) == []


@given(st.integers(1, 3), st.lists(st.text("a ='", max_size=2), min_size=1, max_size=6))
def test_no_near_miss_of_fields_with_nul_is_read(count: int, fields: list[str]):
    output_format = Fields("nul", tuple("abc"[:count]))
    stdout = "".join(f"{field}\0" for field in fields * count).encode()
    read(output_format, DEFAULTS, stdout)

    assert let_through(output_format, stdout) == []


def test_near_misses_of_every_captured_output_are_refused_by_the_reader():
    operations = load_site(builtin_site(), need_settings=False).operations.values()
    for operation in operations:
        output_format, limits = operation.output.format, operation.output.limits
        tried = 0
        for path in _accepted(builtin_site() / "schemas" / operation.name / "cases"):
            for flaw, stdout in output_flaws(output_format, path.read_bytes()):
                tried += 1
                with pytest.raises(Refusal) as caught:
                    read(output_format, limits, stdout)
                assert caught.value.stage is Stage.READ, (path, flaw)
        assert tried > 20 or isinstance(output_format, PythonAdapter)


def _accepted(cases: Path) -> list[Path]:
    return [path.with_suffix(".out") for path in sorted(cases.glob("*.yaml")) if "facts:" in path.read_text()]
