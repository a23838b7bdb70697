import re
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa

from sshfacts.storage import tokens
from sshfacts.storage.engine import open_for_reading, open_for_writing, prepare, transaction
from sshfacts.storage.ledger import Actor
from sshfacts.storage.tables import TOKEN
from sshfacts.storage.unavailable import RecordUnavailable
from tests.support.records import stored, url_of


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


def test_a_token_of_a_person_is_no_callers(writing: sa.Engine, reading: sa.Engine):
    found = tokens.find(reading, tokens.add_for_person(writing, "ada"))
    assert found is not None
    assert (found.caller, found.person) == (None, "ada")


def test_a_token_belongs_to_a_caller_or_to_a_person(writing: sa.Engine):
    for holder in ({"caller": "a", "person": "a"}, {"caller": None, "person": None}):
        row = {"id": "x", "secret_sha256": bytes(32), "created_at": datetime.now(UTC), **holder}
        with pytest.raises(RecordUnavailable, match="CHECK"), transaction(writing) as connection:
            connection.execute(sa.insert(TOKEN), [row])


@pytest.mark.parametrize("add", [tokens.add, tokens.add_for_person])
def test_rotating_gives_the_same_holder_another_token(writing: sa.Engine, reading: sa.Engine, add):
    old = add(writing, "ada")
    before = tokens.find(reading, old)
    new = tokens.rotate(writing, id_of(old))
    assert new is not None
    after = tokens.find(reading, new)
    assert tokens.find(reading, old) is None
    assert before is not None
    assert after is not None
    assert (after.caller, after.person) == (before.caller, before.person)


def test_a_revoked_token_is_not_rotated(writing: sa.Engine):
    text = tokens.add(writing, "helper")
    tokens.revoke(writing, id_of(text))
    assert tokens.rotate(writing, id_of(text)) is None
    assert len(tokens.all_tokens(writing)) == 1


def test_each_change_is_on_record_with_who_made_it(writing: sa.Engine, database: Path):
    by = Actor("olga", "cli.tokens", "someone")
    text = tokens.add(writing, "helper", by)
    other = tokens.rotate(writing, id_of(text), by)
    assert other is not None
    tokens.revoke(writing, id_of(other))
    bodies = [body for body in stored(database) if body["kind"] == "token"]
    assert [(body["reason"], body["token"]) for body in bodies] == [
        ("added", id_of(text)),
        ("revoked", id_of(text)),
        ("added", id_of(other)),
        ("revoked", id_of(other)),
    ]
    assert [body["person"] for body in bodies] == ["olga", "olga", "olga", None]
    assert {(body["caller"], body["holder"]) for body in bodies} == {("helper", "helper")}
    assert not any(part in str(bodies) for part in (text, other, text.split("_")[2]))


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
