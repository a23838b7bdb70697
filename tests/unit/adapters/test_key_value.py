"""Key and value on each line: separators, blanks, and the quoting of os-release(5)."""

import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sshfacts.adapters.formats import KeyValue
from sshfacts.adapters.reader import read as read_whole
from sshfacts.errors import Refusal
from sshfacts.limits import DEFAULTS, ReadLimits

PAIRS = KeyValue("=")
TRIMMED = KeyValue(":", trim=True)
QUOTED = KeyValue("=", quoted=True, ignore=frozenset({"blank", "comment"}))


def test_systemctl_show(read):
    stdout = b"Id=nginx.service\nNames=nginx.service\nMemoryCurrent=[not set]\nDescription=A = B\nDocumentation=\n"

    assert read(PAIRS, stdout) == {
        "Id": "nginx.service",
        "Names": "nginx.service",
        "MemoryCurrent": "[not set]",
        "Description": "A = B",
        "Documentation": "",
    }


def test_proc_meminfo(read):
    stdout = b"MemTotal:       24684092 kB\nActive(anon):      0 kB\nHugePages_Total:\t0\n"

    assert read(TRIMMED, stdout) == {"MemTotal": "24684092 kB", "Active(anon)": "0 kB", "HugePages_Total": "0"}


def test_os_release(read):
    stdout = rb"""
# an operating system
PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"
VERSION_ID='12'
ID=debian
EMPTY=
ALSO_EMPTY=""
HOME_URL=https://www.debian.org/
QUOTES="a \"b\" \$HOME \`id\` \\ 'c'"
SINGLE='"$HOME" \'
"""

    assert read(QUOTED, stdout) == {
        "PRETTY_NAME": "Debian GNU/Linux 12 (bookworm)",
        "VERSION_ID": "12",
        "ID": "debian",
        "EMPTY": "",
        "ALSO_EMPTY": "",
        "HOME_URL": "https://www.debian.org/",
        "QUOTES": "a \"b\" $HOME `id` \\ 'c'",
        "SINGLE": '"$HOME" \\',
    }


def test_the_first_separator_ends_the_key(read):
    assert read(KeyValue(" = "), b"a = b = c\nd = e=f\n") == {"a": "b = c", "d": "e=f"}


def test_without_trim_blanks_are_data(read, refusal):
    assert read(PAIRS, b"a= x \t\n") == {"a": " x \t"}
    assert refusal(PAIRS, b"a =x\n") == ("output.unread_line", "line 1")


def test_trim_takes_spaces_and_tabs_only(read):
    assert read(TRIMMED, " \ta \t:\t \u00a0x\u2003 \n".encode()) == {"a": "\u00a0x\u2003"}


@pytest.mark.parametrize(
    "line",
    [
        "no separator",
        "=x",
        " =x",
        "two words=x",
        "1a=x",
        "-a=x",
        "\u00e9=x",
        "a\u0430=x",
        "a[0]=x",
        "a$=x",
        "",
        " ",
    ],
)
def test_a_line_without_a_key_is_refused(line, refusal):
    assert refusal(PAIRS, f"ok=1\n{line}\n".encode()) == ("output.unread_line", "line 2")


@pytest.mark.parametrize("key", ["ActiveState", "VERSION_ID", "Active(anon)", "_x", "net.ipv4.ip_forward", "a-b"])
def test_a_key_is_plain_ascii(key, read):
    assert read(PAIRS, f"{key}=1\n".encode()) == {key: "1"}


def test_only_what_is_named_is_ignored(read, refusal):
    assert read(KeyValue("=", ignore=frozenset({"blank"})), b"\na=1\n \t\n") == {"a": "1"}
    assert refusal(KeyValue("=", ignore=frozenset({"blank"})), b"#a=1\n") == ("output.unread_line", "line 1")
    assert read(KeyValue("=", ignore=frozenset({"comment"})), b"#\n#a=1\na=2\n") == {"a": "2"}
    assert refusal(KeyValue("=", ignore=frozenset({"comment"})), b"a=1\n\n") == ("output.unread_line", "line 2")
    assert refusal(QUOTED, b" # indented\n") == ("output.unread_line", "line 1")


@pytest.mark.parametrize(
    "value",
    [
        "a b",
        "a;b",
        "$HOME",
        "`id`",
        "~",
        "a\\ b",
        "a\\",
        "*.txt",
        "a|b",
        "a#b",
        "{a,b}",
        "a'b'",
        "'a'b",
        "'a''b'",
        '"a""b"',
        "'a'\"b\"",
        '"$HOME"',
        '"`id`"',
        '"a\\n"',
        '"a\\',
        '"a',
        "'a",
        "'a'b'",
        '"a"b"',
        '"a" ',
        ' "a"',
        '"a" # comment',
        "\u00e9",
    ],
)
def test_what_a_shell_would_expand_split_or_join_is_refused(value, refusal):
    assert refusal(QUOTED, f"A={value}\n".encode()) == ("output.unread_line", "line 1")


def test_trim_comes_before_quotes(read):
    assert read(KeyValue("=", trim=True, quoted=True), b'A = " x " \n') == {"A": " x "}


@given(st.text("ab \"'\\$`;~#=\u00e9", max_size=12))
def test_double_quotes_with_escapes_give_back_any_text(text):
    escaped = "".join(f"\\{character}" if character in '"\\$`' else character for character in text)

    assert read_whole(QUOTED, DEFAULTS, f'A="{escaped}"\n'.encode()) == {"A": text}


# Without backslashes: shlex knows fewer escapes than a shell does; the next test asks a shell.
@given(st.text("ab01 \"'$`;~#=*{},|&()<>-./:\u00e9", max_size=8))
def test_what_is_accepted_is_one_word_of_a_shell(raw):
    try:
        document = read_whole(QUOTED, DEFAULTS, f"A={raw}\n".encode())
    except Refusal:
        return
    assert [document["A"]] == (shlex.split(raw) or [""])


def test_sh_assigns_the_same_values():
    lines = ["A=x-1.2/3:4@5%6+7,8=9_", 'B="a \\"b\\" \\$HOME \\`id\\` \\\\ c"', "C='\"$HOME\" \\ `id`'", 'D=""', "E="]
    script = "\n".join([*lines, 'printf "%s\\n" "$A" "$B" "$C" "$D" "$E"'])
    shell = subprocess.run(["/bin/sh", "-c", script], capture_output=True, check=True)

    document = read_whole(QUOTED, DEFAULTS, "".join(f"{line}\n" for line in lines).encode())

    assert list(document.values()) == shell.stdout.decode().splitlines()


@pytest.mark.parametrize(
    ("stdout", "detail", "where"),
    [
        (b"a=1\nb=2\na=1\n", "output.duplicate_name", "line 3"),
        (b"a=1\nb=2\nc=3\nd=4\n", "output.items", "line 4"),
        (b"abcdef=1\n", "output.string", "line 1"),
        (b"a=12345678901\n", "output.string", "line 1"),
        (b"a=" + b" " * 200 + b"\n", "output.string", "line 1"),
    ],
)
def test_a_bound_is_held(stdout, detail, where, refusal):
    limits = ReadLimits(members=3, name=5, string=10)

    assert refusal(PAIRS, stdout, limits) == (detail, where)


def test_the_bounds_are_exact(read):
    limits = ReadLimits(members=3, name=5, string=10)

    assert read(PAIRS, b"abcde=1234567890\nb=\nc=\n", limits) == {"abcde": "1234567890", "b": "", "c": ""}
