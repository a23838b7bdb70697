from datetime import UTC, datetime, timedelta

import pytest

from sshfacts.storage.canonical import leaf_hash, loads_strict
from sshfacts.storage.chain import NO_PREVIOUS, Chain
from sshfacts.storage.projection import BodyError, project
from sshfacts.values import JsonObject
from tests.support.records import intent, outcome


def body_of(row: dict[str, object]) -> JsonObject:
    return loads_strict(str(row["body"]).encode())


def test_records_are_numbered_and_linked():
    chain = Chain()
    first = chain.link(intent())
    second = chain.link(outcome(first.leaf_hash))
    bodies = [body_of(entry.row) for entry in (first, second)]
    assert [body["seq"] for body in bodies] == [0, 1]
    assert [body["prev"] for body in bodies] == [NO_PREVIOUS.hex(), first.leaf_hash.hex()]
    assert {body["writer"] for body in bodies} == {chain.writer}


def test_the_hash_is_that_of_the_stored_text():
    entry = Chain().link(intent())
    assert entry.leaf_hash == entry.row["leaf_hash"] == leaf_hash(str(entry.row["body"]).encode())


def test_columns_come_from_the_whole_body():
    row = Chain().link(intent()).row
    assert {name: row[name] for name in project(body_of(row))} == project(body_of(row))


def test_a_refused_body_does_not_move_the_chain():
    chain = Chain()
    first = chain.link(intent())
    with pytest.raises(BodyError):
        chain.link(intent(caller=None))
    with pytest.raises(ValueError, match="float"):
        chain.link(intent(arguments={"limit": 0.5}))
    assert body_of(chain.link(intent()).row)["prev"] == first.leaf_hash.hex()


@pytest.mark.parametrize("field", ["writer", "seq", "prev"])
def test_a_body_cannot_choose_its_place(field: str):
    with pytest.raises(ValueError, match=field):
        Chain().link(intent(**{field: 7}))


def test_a_body_without_instant_and_version_gets_them():
    row = Chain().link({"kind": "writer_start"}).row
    assert datetime.now(UTC) - row["at"] < timedelta(seconds=5)
    assert body_of(row)["v"] == 1


def test_a_later_change_of_the_body_does_not_reach_the_row():
    body = intent()
    entry = Chain().link(body)
    body["caller"] = "somebody else"
    assert body_of(entry.row)["caller"] == "helper"


def test_two_chains_never_share_a_writer():
    assert Chain().writer != Chain().writer
