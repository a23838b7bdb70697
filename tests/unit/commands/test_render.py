"""The remote command: its exact form, and that words stay words."""

import shlex
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sshfacts.commands.operation import ExitMeaning, Operation, Run
from sshfacts.commands.render import command_text, render
from sshfacts.commands.words import ALLOWED, HOSTILE
from sshfacts.errors import Refusal
from sshfacts.limits import COMMAND_BYTES
from tests.support.sites import UNIT, SiteFiles

PREFIX = "exec /usr/bin/env -i LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin"
RUN = Run(argv=("tool",), exit={0: ExitMeaning.DOCUMENT}, seconds=7, sudo=False, env={})


@pytest.fixture(scope="module")
def unit(tmp_path_factory: pytest.TempPathFactory) -> Operation:
    return SiteFiles(tmp_path_factory.mktemp("site"), operations={"unit": UNIT}).load().operations["unit"]


def test_the_exact_form(unit: Operation):
    assert render(unit, {"unit": "nginx"}) == f"{PREFIX} timeout -k 1 5 print-unit nginx"


def test_constants_stand_before_the_command_in_a_fixed_order(unit: Operation):
    changed = replace(unit, run=replace(unit.run, env={"TZ": "UTC", "COLUMNS": "200 or so"}))
    assert render(changed, {"unit": "x"}) == f"{PREFIX} 'COLUMNS=200 or so' TZ=UTC timeout -k 1 5 print-unit x"


def test_sudo_stands_to_the_left_of_timeout(unit: Operation):
    changed = replace(unit, run=replace(unit.run, sudo=True))
    assert render(changed, {"unit": "x"}) == f"{PREFIX} sudo -n timeout -k 1 5 print-unit x"


def test_literal_words_are_quoted():
    assert command_text(RUN, ["tool", "a b", "{{json .}}", "$(x)"]).endswith("tool 'a b' '{{json .}}' '$(x)'")


@pytest.mark.parametrize(
    ("word", "quoted"),
    [
        ("", "''"),
        ("=ls", "'=ls'"),
        ("%self", "'%self'"),
        ("a=%b", "a=%b"),
        ("it's", r"'it'\''s'"),
        ("%p\\0", r"'%p'\\'0'"),
        ("!", r"\!"),
        ("!!a b", r"\!\!'a b'"),
    ],
)
def test_words_that_login_shells_read_differently_are_quoted_for_all_of_them(word: str, quoted: str):
    assert command_text(RUN, ["tool", word]).removeprefix(f"{PREFIX} timeout -k 1 7 tool ") == quoted


@pytest.mark.parametrize(
    ("value", "word"), [(0, "0"), (2**53 - 1, "9007199254740991"), (True, "true"), (False, "false")]
)
def test_numbers_and_flags_become_words(unit: Operation, value: int, word: str):
    assert render(unit, {"unit": value}).endswith(f"print-unit {word}")


@pytest.mark.parametrize("value", [*HOSTILE[:-1], -1, 1.0, None, [], {}, ["a"]])
def test_what_is_no_word_is_refused_whatever_the_contract_says(unit: Operation, value: object):
    with pytest.raises(Refusal) as refusal:
        render(unit, {"unit": value})  # type: ignore[dict-item]
    assert refusal.value.detail == "arguments_invalid"
    assert refusal.value.where == "argument unit cannot be passed as a word"


@pytest.mark.parametrize("arguments", [{}, {"unit": "a", "other": "b"}, {"other": "b"}])
def test_the_arguments_are_exactly_the_declared_ones(unit: Operation, arguments: dict[str, str]):
    with pytest.raises(Refusal) as refusal:
        render(unit, {**arguments})
    assert refusal.value.where == "the set of arguments"


def test_a_command_has_a_longest_form(unit: Operation):
    room = COMMAND_BYTES - len(render(unit, {"unit": "a"}))
    assert len(render(unit, {"unit": "a" * (room + 1)})) == COMMAND_BYTES
    with pytest.raises(Refusal, match="more than 8192 bytes"):
        render(unit, {"unit": "a" * (room + 2)})


_WORDS = st.lists(st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=12), max_size=8)


@given(_WORDS)
def test_the_text_splits_into_the_same_words(words: list[str]):
    split = shlex.split(command_text(RUN, words))
    assert split[split.index("timeout") + 4 :] == words


@given(st.text(sorted(ALLOWED), min_size=1).filter(lambda text: text[0] != "-"))
def test_words_of_the_allowed_characters_need_quotes_only_for_their_first(word: str):
    assert command_text(RUN, [word]).endswith(f" '{word}'" if word[0] in "=%" else f" {word}")


@pytest.mark.skipif(shutil.which("dash") is None, reason="dash is not installed")
@settings(max_examples=25)
@given(_WORDS.filter(bool))
def test_a_real_shell_hands_over_the_same_words(words: list[str]):
    printed = command_text(RUN, ["printf", r"%s\0", *words])
    ran = subprocess.run(["dash", "-c", printed], capture_output=True, check=True, timeout=20)
    assert ran.stdout.decode().split("\0")[:-1] == words


def test_the_environment_is_the_engines_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("SECRET", "x")
    text = command_text(replace(RUN, env={"TZ": "UTC"}), ["env"])
    ran = subprocess.run(["/bin/sh", "-c", text], capture_output=True, check=True, timeout=20, cwd=tmp_path)
    assert sorted(ran.stdout.decode().split()) == ["LC_ALL=C", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "TZ=UTC"]
