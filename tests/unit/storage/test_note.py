"""Signed notes against the published examples, and everything that must not pass for one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sshfacts.storage.note import (
    SIGNATURES,
    NoteError,
    PublicKey,
    SigningKey,
    UnknownSigner,
    open_note,
    sign,
)

# The example of C2SP signed-note.
SPEC_KEY = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k"
SPEC_NOTE = (
    "This is an example message.\n"
    "\n"
    "— example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n"
)

# golang.org/x/mod/sumdb/note: note_test.go.
PETER = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
PETER_SECRET = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz"  # noqa: S105 - published
ENOCH = "EnochRoot+af0cfe78+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop"
TEXT = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
PETER_LINE = (
    "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
)
ENOCH_LINE = (
    "— EnochRoot rwz+eBzmZa0SO3NbfRGzPCpDckykFXSdeX+MNtCOXm2/5n2tiOHp+vAF1aGrQ5ovTG01oOTGwnWLox33WWd1RvMc+QQ=\n"
)
NOTE = f"{TEXT}\n{PETER_LINE}"

KEYS = [PublicKey.parse(PETER), PublicKey.parse(ENOCH)]


def test_the_example_of_the_specification():
    opened = open_note(SPEC_NOTE, [PublicKey.parse(SPEC_KEY)])
    assert opened.text == "This is an example message.\n"
    assert [str(key) for key in opened.keys] == [SPEC_KEY]


def test_the_examples_of_the_reference_implementation():
    key = SigningKey.parse(PETER_SECRET)
    assert str(key.public) == PETER
    assert sign(TEXT, [key]) == NOTE
    assert key.secret_text() == PETER_SECRET
    assert open_note(NOTE + ENOCH_LINE, KEYS).keys == tuple(KEYS)


def test_signatures_of_others_are_passed_over():
    assert open_note(NOTE + ENOCH_LINE, KEYS[:1]).keys == (KEYS[0],)
    assert open_note(f"{TEXT}\n{ENOCH_LINE}{PETER_LINE}", KEYS[:1]).keys == (KEYS[0],)


def test_a_witness_may_cosign():
    """Key type 4, cosignature/v1, from the same specification: 8 bytes of time before the signature."""
    cosigned = NOTE + "— witness.example/w1 " + "AAECAwAAAAAAAAAB" * 5 + "\n"
    assert open_note(cosigned, KEYS).text == TEXT


def test_a_repeated_signature_counts_once():
    assert open_note(NOTE + PETER_LINE, KEYS).keys == (KEYS[0],)


def test_nobody_known_has_signed():
    with pytest.raises(UnknownSigner):
        open_note(NOTE, [PublicKey.parse(SPEC_KEY)])
    with pytest.raises(UnknownSigner):
        open_note(NOTE, [])


def test_a_known_key_of_another_name_does_not_count():
    renamed = PublicKey("Peter", KEYS[0].key)
    with pytest.raises(UnknownSigner):
        open_note(NOTE, [renamed])


@pytest.mark.parametrize(
    "note",
    [
        TEXT,
        f"{TEXT}\n",
        NOTE[:-1],
        f"\x01{NOTE}",
        f"{NOTE}Unexpected line.\n",
        f"{NOTE}\n",
        NOTE.replace("\n\n", "\n"),
        NOTE.replace("\n\n", "\n\r\n"),
        NOTE.replace("problem", "pro\tblem"),
        NOTE.replace("problem", "pro\ud800blem"),
        f"{TEXT}\n— Bad Name {PETER_LINE.split()[2]}\n",
        NOTE.replace("— ", "- "),
        f"{TEXT}\n— PeterNeumann AAAA\n{PETER_LINE}",
        f"{TEXT}\n— PeterNeumann x08go/Z=JkuB\n{PETER_LINE}",
        f"{TEXT}\n" + PETER_LINE * (SIGNATURES + 1),
        "x" * 70_000 + "\n\n" + PETER_LINE,
        "",
        "\n\n",
        f"\n{PETER_LINE}",
    ],
)
def test_what_is_no_note(note: str):
    with pytest.raises(NoteError, match="malformed"):
        open_note(note, KEYS)


def test_a_signature_of_another_text_is_refused_even_beside_a_right_one():
    other = SigningKey.parse(PETER_SECRET).signature_line("Another text.\n")
    for note in (f"{TEXT}\n{other}", f"{NOTE}{other}", f"{TEXT}\n{other}{ENOCH_LINE}"):
        with pytest.raises(NoteError, match="does not belong to its text"):
            open_note(note, KEYS)


@given(st.integers(0, len(NOTE) - 1), st.characters(min_codepoint=32, max_codepoint=126))
def test_no_changed_character_passes(at: int, character: str):
    changed = NOTE[:at] + character + NOTE[at + 1 :]
    if changed == NOTE:
        return
    with pytest.raises(NoteError):
        open_note(changed, KEYS)


@pytest.mark.parametrize("text", [PETER, PETER_SECRET])
def test_no_part_of_a_key_is_a_key(text: str):
    parse = SigningKey.parse if text == PETER_SECRET else PublicKey.parse
    for begin in range(len(text)):
        for end in range(begin, len(text) + 1):
            if (begin, end) != (0, len(text)):
                with pytest.raises(NoteError):
                    parse(text[begin:end])
    for at, character in enumerate(text):
        with pytest.raises(NoteError):
            parse(text[:at] + chr(ord(character) + 1) + text[at + 1 :])


@pytest.mark.parametrize(
    "text",
    [
        "PeterNeumann+cc469956+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TWBADKEY==",  # too long, its id adjusted
        "PeterNeumann+173116ae+ZRpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",  # unknown algorithm, its id adjusted
        "remora.n621.de+da77ade7+BOvN63jn/bLvkieywe8R6UYAtVtNbZpXh34x7onlmtw2",  # a witness is no log
        f" {PETER}",
        f"{PETER}\n",
        "a b+00000000+AAAA",
        "+00000000+AAAA",
    ],
)
def test_keys_that_are_none(text: str):
    with pytest.raises(NoteError):
        PublicKey.parse(text)


@pytest.mark.parametrize("name", ["", "a b", "a+b", "a\u00a0b", "a\n"])
def test_a_name_that_a_note_could_not_hold(name: str):
    with pytest.raises(NoteError):
        SigningKey.generate(name)


@pytest.mark.parametrize("text", ["", "no line end", "a\tb\n", "a\rb\n"])
def test_text_that_cannot_be_signed(text: str):
    with pytest.raises(NoteError):
        sign(text, [SigningKey.parse(PETER_SECRET)])


def test_a_generated_key_signs_and_is_read_back():
    key = SigningKey.generate("sshfacts.example/test")
    note = sign("text\n", [key, SigningKey.parse(PETER_SECRET)])
    assert open_note(note, [PublicKey.parse(str(key.public))]).keys == (key.public,)
    assert sign("text\n", [SigningKey.parse(key.secret_text())]) == sign("text\n", [key])


def test_the_secret_is_in_no_repr():
    key = SigningKey.parse(PETER_SECRET)
    assert PETER_SECRET.rsplit("+", 1)[1] not in repr(key) + str(key)
