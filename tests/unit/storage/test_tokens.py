import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from sshfacts.storage import tokens
from sshfacts.storage.engine import open_for_reading, open_for_writing, prepare
from sshfacts.storage.unavailable import RecordUnavailable
from tests.support.records import url_of


@pytest.fixture
def writing(database: Path) -> sa.Engine:
    engine = open_for_writing(url_of(database))
    prepare(engine)
    return engine


@pytest.fixture
def reading(writing: sa.Engine, database: Path) -> sa.Engine:
    assert writing.url.database == str(database)
    return open_for_reading(url_of(database))


def id_of(text: str) -> str:
    return text.split("_")[1]


def test_a_token_is_known_by_its_text(writing: sa.Engine, reading: sa.Engine):
    text = tokens.add(writing, "helper")
    found = tokens.find(reading, text)
    assert found is not None
    assert (found.id, found.caller, found.revoked_at) == (id_of(text), "helper", None)


def test_the_form_of_a_token(writing: sa.Engine):
    assert re.fullmatch(r"sf_[A-Za-z0-9]{12}_[A-Za-z0-9]{43}", tokens.add(writing, "helper"))


def test_the_secret_is_nowhere_in_the_database(writing: sa.Engine, database: Path):
    secret = tokens.add(writing, "helper").split("_")[2]
    with closing(sqlite3.connect(database)) as connection:
        assert secret not in "".join(connection.iterdump())


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text[:-1] + ("a" if text[-1] != "a" else "b"),
        lambda text: text.replace(id_of(text), "A" * 12),
        lambda text: text + "a",
        lambda text: text + "\n",
        lambda text: " " + text,
        lambda text: text.upper(),
        lambda text: text.removeprefix("sf_"),
        id_of,
        lambda _: "",
        lambda _: "sf_" + "é" * 12 + "_" + "a" * 43,
    ],
)
def test_any_other_text_is_nobody(writing: sa.Engine, spoil):
    assert tokens.find(writing, spoil(tokens.add(writing, "helper"))) is None


def test_the_secret_of_one_token_does_not_open_another(writing: sa.Engine):
    one, other = tokens.add(writing, "helper"), tokens.add(writing, "other")
    mixed = "_".join(["sf", id_of(one), other.split("_")[2]])
    assert tokens.find(writing, mixed) is None


def test_a_revoked_token_is_nobody_at_once(writing: sa.Engine, reading: sa.Engine):
    text = tokens.add(writing, "helper")
    assert tokens.revoke(writing, id_of(text))
    assert tokens.find(reading, text) is None


def test_revoking_says_whether_there_was_something_to_revoke(writing: sa.Engine):
    token_id = id_of(tokens.add(writing, "helper"))
    assert tokens.revoke(writing, token_id)
    assert not tokens.revoke(writing, token_id)
    assert not tokens.revoke(writing, "unknown")


def test_revoking_one_token_leaves_the_others(writing: sa.Engine):
    kept, gone = tokens.add(writing, "helper"), tokens.add(writing, "helper")
    tokens.revoke(writing, id_of(gone))
    assert tokens.find(writing, kept) is not None


def test_tokens_are_listed_without_their_hashes(writing: sa.Engine, reading: sa.Engine):
    texts = [tokens.add(writing, caller) for caller in ("helper", "other")]
    tokens.revoke(writing, id_of(texts[0]))
    listed = tokens.all_tokens(reading)
    assert [(token.caller, token.revoked_at is None) for token in listed] == [("helper", False), ("other", True)]
    assert not any(text.split("_")[2] in repr(listed) for text in texts)


def test_without_a_database_nobody_is_known(tmp_path: Path):
    engine = open_for_reading(url_of(tmp_path / "missing.db"))
    with pytest.raises(RecordUnavailable):
        tokens.find(engine, "sf_" + "a" * 12 + "_" + "a" * 43)
