"""Reading the files themselves: bounds, encoding, and what an editor would not show."""

import os
from pathlib import Path

import pytest

from sshfacts.commands.findings import Findings, Place, Unreadable
from sshfacts.commands.source import Node, Positions, Source, read_text, require_inside, steps


def messages(path: Path, most: int = 100) -> list[str]:
    findings = Findings()
    with pytest.raises(Unreadable):
        read_text(path, most, findings)
    return [str(finding).splitlines()[0].removeprefix(f"{path.parent}/") for finding in findings.sorted()]


def test_returns_the_text(tmp_path: Path):
    (tmp_path / "f").write_bytes("a: é\n\tb\r\n".encode())
    assert read_text(tmp_path / "f", 100, Findings()) == "a: é\n\tb\r\n"


def test_a_missing_file(tmp_path: Path):
    assert messages(tmp_path / "f") == ["f: error[source.missing]: there is no such file"]


def test_a_folder(tmp_path: Path):
    (tmp_path / "f").mkdir()
    assert messages(tmp_path / "f") == ["f: error[source.unreadable]: this is not a regular file"]


def test_a_pipe_does_not_block(tmp_path: Path):
    os.mkfifo(tmp_path / "f")
    assert messages(tmp_path / "f") == ["f: error[source.unreadable]: this is not a regular file"]


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "f").write_text("x")

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    assert messages(tmp_path / "f") == ["f: error[source.unreadable]: the file cannot be read: Permission denied"]


def test_a_file_over_its_bound(tmp_path: Path):
    (tmp_path / "f").write_text("x" * 100)
    assert len(read_text(tmp_path / "f", 100, Findings())) == 100
    (tmp_path / "f").write_text("x" * 101)
    assert messages(tmp_path / "f") == ["f: error[source.size]: the file has more than 100 bytes"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a: 1\nb: \xff\n", "f:2:1: error[source.encoding]: the file is not UTF-8"),
        (b"\xff\xfea\0", "f:1:1: error[source.encoding]: the file is not UTF-8"),
        (b"\xef\xbb\xbfa: 1", "f: error[source.encoding]: the file starts with a byte order mark"),
        ("a\n \u202ebc".encode(), "f:2:2: error[source.hidden_character]: the character U+202E is not visible"),
        ("a\u200b".encode(), "f:1:2: error[source.hidden_character]: the character U+200B is not visible"),
        (b"a\x1b[0m", "f:1:2: error[source.hidden_character]: the character U+001B is not visible"),
        (b"a\rb", "f:1:2: error[source.hidden_character]: the character U+000D is not visible"),
        ("a\u2028b".encode(), "f:1:2: error[source.hidden_character]: the character U+2028 is not visible"),
        (b"a\0", "f:1:2: error[source.hidden_character]: the character U+0000 is not visible"),
    ],
)
def test_refuses_what_an_editor_would_not_show(tmp_path: Path, data: bytes, message: str):
    (tmp_path / "f").write_bytes(data)
    assert messages(tmp_path / "f") == [message]


def test_a_link_that_stays_in_the_site_is_followed(tmp_path: Path):
    (tmp_path / "real").write_text("x")
    (tmp_path / "link").symlink_to("real")
    require_inside(tmp_path, tmp_path / "link", Findings())


def test_a_link_out_of_the_site_is_refused(tmp_path: Path):
    site = tmp_path / "site"
    site.mkdir()
    (tmp_path / "elsewhere").write_text("x")
    (site / "link").symlink_to(tmp_path / "elsewhere")
    findings = Findings()
    with pytest.raises(Unreadable):
        require_inside(site, site / "link", findings)
    assert [finding.code for finding in findings.sorted()] == ["source.outside"]


def test_strange_keys_are_shown_with_escapes():
    source = Source("f", None, Positions)
    assert Node(source, ("run", "a\x1b[31m", "x" * 100), None).label == f"run.'a\\x1b[31m'.'{'x' * 64}'"
    assert Node(source, (), None).label == "the file"


def test_what_is_missing_is_placed_at_what_surrounds_it():
    source = Source("f", None, lambda: Positions({("a",): (1, 1)}, {(): (1, 1), ("a",): (2, 3)}))
    assert source.place(("a", "b", "c")) == Place("f", 2, 3)
    assert source.place(("a", "b"), key=True) == Place("f", 2, 3)
    assert source.place(("x",)) == Place("f", 1, 1)


def test_pointer_steps():
    assert steps("") == ()
    assert steps("/properties/a~1b/~0c/0") == ("properties", "a/b", "~c", "0")
