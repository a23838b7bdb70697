import cel
import pytest

from sshfacts.schemas.cel_source import Mention, read_source, tokens

EXPRESSIONS = [
    "document.a == 1",
    '"document" == "x" && r"\\" == \'\' || b"""a"b""" == b\'x\'',
    "document.rows.all(r, r.a == host)",
    "document.rows.exists(r, r.b.exists_one(q, q.c < r.d))",
    "document.a // host == 'x' || y\n == 1",
    "'it\\'s' == host",
    "'''a\n'b''' == host",
    "{host: document.a}.size() == 1 && [host, 'x'][0] == 'x'",
    "has(document.a.b) ? document.a.b in ['x'] : !true",
    "0x1Fu == 31u && 1.5e3 > .5 && -1 < 2 % 3",
    "document['all'] == document.map",
    "size(document.rows.filter(r, true).map(r, r.a)) > 0",
    "timestamp('2026-11-30T10:00:00Z') < now",
    "document.in_use == true && document.nullable != null",
]


@pytest.mark.parametrize("source", EXPRESSIONS)
def test_the_tokens_mention_the_names_that_the_package_finds(source):
    found = {mention.name for mention in read_source(source).mentions}
    assert found == set(cel.compile(source).references()["variables"])


@pytest.mark.parametrize("source", EXPRESSIONS)
def test_no_character_is_lost(source):
    kept = "".join(token.text for token in tokens(source))
    assert set(kept) <= set(source)
    cel.compile(" ".join(token.text for token in tokens(source)))


def test_a_macro_binds_its_name_inside_its_brackets_only():
    read = read_source("x == 1 && document.rows.all(x, x.a == [x.b, host][0]) && x == 2")
    assert [mention.name for mention in read.mentions if "x" in mention.bound] == ["x", "x", "x", "host"]
    assert read.mentions[0] == Mention("x", frozenset())
    assert read.mentions[-1] == Mention("x", frozenset())
    assert read.bound == {"x"}


def test_nested_macros_bind_both_names():
    read = read_source("document.rows.all(r, r.b.all(q, q.c == r.d))")
    assert Mention("r", frozenset({"q", "r"})) in read.mentions
    assert read.macros == ("all", "all")


@pytest.mark.parametrize(
    ("source", "macros"),
    [
        ("document.map == 1", ()),
        ("document.rows . map ( r , r ) == []", ("map",)),
        ("document.rows\n// comment\n.map(r, r) == []", ("map",)),
        ("'.map(x, x)' == host", ()),
        ("document['map'] == host", ()),
    ],
)
def test_a_macro_is_told_from_a_member_a_text_and_a_comment(source, macros):
    assert read_source(source).macros == macros


@pytest.mark.parametrize(
    ("source", "has_alternative"),
    [
        ("a || b", True),
        ("a||b", True),
        ("'||' == a", False),
        ("a // ||", False),
        ("a == r'\\' || b == ''", True),
        ("document.rows.exists(r, r)", False),
    ],
)
def test_an_alternative_is_told_from_a_text_a_comment_and_a_macro(source, has_alternative):
    assert read_source(source).has_alternative is has_alternative
