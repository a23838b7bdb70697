import re
import time

import jsonschema_rs
import pytest
import re2
from hypothesis import given, settings
from hypothesis import strategies as st

from sshfacts.schemas.patterns import Pattern, compiled, fault

GOOD = [
    "^$",
    "^a$",
    "^[A-Za-z0-9_@][A-Za-z0-9:_.@-]{0,120}\\.service$",
    "^(?:up|down|)$",
    "^(a|b)+c?$",
    "^[^/\\x00-\\x1f]{1,64}$",
    "^[-a]$",
    "^[a-]$",
    "^[\\-\\]\\[\\\\^]$",
    "^\\^\\$\\.\\*\\+\\?\\(\\)\\[\\]\\{\\}\\|\\/\\\\$",
    "^\\t\\n\\r\\x7f$",
    "^[ -~]{0,1000}$",
    "^a{2}b{2,}c{2,3}$",
    "^\\\\$",
    "^a-b,c:d;e<f>=g@h_i`j~k!l\"m#n%o&p'q/r s$",
]
UNANCHORED = ["a", "^a", "a$", "", "^", "$", "^a\\$", "^a|b$", "^\\\\\\$"]
BAD = {
    "dot": "^a.$",
    "digit class": "^\\d$",
    "word class": "^\\w$",
    "space class": "^[\\s]$",
    "word boundary": "^\\ba$",
    "python end": "^a\\Z$",
    "backreference": "^(a)\\1$",
    "named group": "^(?P<n>a)$",
    "ECMA named group": "^(?<n>a)$",
    "flag": "^(?i)a$",
    "look-ahead": "^(?=a)a$",
    "look-behind": "^(?<=a)a$",
    "atomic group": "^(?>a)$",
    "comment": "^(?#a)$",
    "lazy": "^a+?$",
    "possessive": "^a++$",
    "double quantifier": "^a{2}{3}$",
    "quantifier of nothing": "^*a$",
    "quantifier of a bar": "^(?:a|*)$",
    "open lower count": "^a{,3}$",
    "counts the wrong way round": "^a{3,2}$",
    "count over RE2's": "^a{1001}$",
    "bare brace": "^a{$",
    "bare closing brace": "^a}$",
    "bare closing bracket": "^a]$",
    "open group": "^(a$",
    "close without open": "^a)$",
    "open class": "^[a$",
    "empty class": "^[]$",
    "empty negated class": "^[^]$",
    "bracket first in class": "^[]a]$",
    "nested class": "^[a[b]]$",
    "POSIX class": "^[[:alpha:]]$",
    "class difference": "^[a-z--b]$",
    "class intersection": "^[a&&b]$",
    "class union": "^[a||b]$",
    "class symmetric difference": "^[a~~b]$",
    "dash after a range": "^[a-z-9]$",
    "range the wrong way round": "^[z-a]$",
    "escaped range the wrong way round": "^[!-\\x20]$",
    "identity escape": "^\\a$",
    "escaped dash outside a class": "^\\-$",
    "unicode escape": "^\\u0041$",
    "property": "^\\p{L}$",
    "high byte": "^\\xff$",
    "control escape": "^\\cA$",
    "octal": "^\\012$",
    "not ASCII": "^é$",
    "line feed": "^\n$",
    "anchor inside": "^a^b$",
    "end inside": "^a$b$",
    "too long": "^" + "a" * 512 + "$",
    "too large": "^(?:(?:a{1000}){1000}){1000}$",
}


@pytest.mark.parametrize("source", GOOD)
def test_a_pattern_of_the_common_subset_has_no_fault(source):
    assert fault(source) is None
    assert re2.compile(source) is not None
    assert re.compile(source, re.ASCII) is not None
    assert rust(source).is_valid(None)


@pytest.mark.parametrize("source", UNANCHORED)
def test_an_unanchored_pattern_is_called_so(source):
    assert fault(source).code == "contract.pattern_unanchored"


@pytest.mark.parametrize("source", BAD.values(), ids=BAD)
def test_a_pattern_outside_the_subset_has_a_fault_with_a_fix(source):
    found = fault(source)
    assert found.code == "contract.pattern"
    assert found.what
    assert found.fix


def test_the_end_of_the_pattern_is_the_end_of_the_text():
    assert compiled("^a$").accepts("a")
    assert not compiled("^a$").accepts("a\n")
    assert not compiled("^(?:a)$").accepts("ba")


def test_classes_are_code_points_and_not_bytes():
    assert compiled("^[^a]$").accepts("é")
    assert compiled("^[^a]$").accepts("\U0001f600")
    assert compiled("^[^a]$").accepts("\n")


def test_a_lone_surrogate_matches_nothing():
    assert not compiled("^[^a]*$").accepts("\ud800")


def test_a_pattern_that_is_exponential_elsewhere_is_linear():
    begun = time.process_time()
    assert not compiled("^(?:(?:a+)+)+$").accepts("a" * 16_000 + "!")
    assert time.process_time() - begun < 0.5


def test_a_no_of_the_fast_set_is_not_the_last_word():
    class OutOfMemory:
        def Match(self, _):  # noqa: N802  # the name is RE2's
            return None

    pattern = Pattern("^[ab]+$")
    pattern._fast = OutOfMemory()
    assert pattern.accepts("ab")
    assert not pattern.accepts("abc")


def test_a_pattern_outside_the_subset_cannot_be_compiled_by_accident():
    with pytest.raises(re2.error):
        Pattern("^(?=a)$")


ATOMS = st.sampled_from(
    ["a", "b", "-", "[ab]", "[^a]", "[a-b-]", "\\.", "[.\\n]", "\\x61", "(?:a|b)", "(a|)", "(?:a-)"]
)
PIECES = st.builds(str.__add__, ATOMS, st.sampled_from(["", "", "*", "+", "?", "{2}", "{1,}", "{0,2}"]))
BODIES = st.lists(PIECES, max_size=4).map("".join)
TEXTS = st.text(alphabet="ab-.\né", max_size=6)


def rust(source: str) -> jsonschema_rs.Draft202012Validator:
    """Return a second opinion by the linear engine; the default one takes `^a+a*a+$` to match `a`."""
    return jsonschema_rs.Draft202012Validator({"pattern": source}, pattern_options=jsonschema_rs.RegexOptions())


@settings(max_examples=300, deadline=None)
@given(BODIES, TEXTS)
def test_re2_python_and_rust_agree_on_the_subset(body, text):
    source = f"^{body}$"
    assert fault(source) is None
    accepted = compiled(source).accepts(text)
    assert accepted is (re.fullmatch(body, text, re.ASCII) is not None)
    assert accepted is rust(source).is_valid(text)


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="ab\\^$.[]()|?*+{}-,1x", max_size=8))
def test_what_has_no_fault_compiles_everywhere_and_means_the_same(body):
    source = f"^{body}$"
    if fault(source) is None:
        for text in ("", "a", "b", "ab", "1", "\n", "a\n", "-", body):
            accepted = compiled(source).accepts(text)
            assert accepted is (re.search(source.removesuffix("$") + "\\Z", text, re.ASCII) is not None)
            assert accepted is rust(source).is_valid(text)
