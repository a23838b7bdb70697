from pathlib import Path

import pytest
import sqlalchemy as sa

from sshfacts.storage.engine import open_for_reading, open_for_writing, prepare
from sshfacts.storage.ledger import Actor
from sshfacts.storage.pauses import Scope, active, pause, pause_of, resume
from sshfacts.storage.unavailable import RecordUnavailable
from tests.support.records import stored, url_of

OLGA = Actor("olga", "test", "someone")
DISK = Scope(operation="disk_usage")


@pytest.fixture
def writing(database: Path) -> sa.Engine:
    engine = open_for_writing(url_of(database))
    prepare(engine)
    return engine


@pytest.fixture
def reading(writing: sa.Engine, database: Path) -> sa.Engine:
    assert writing.url.database == str(database)
    return open_for_reading(url_of(database))


@pytest.mark.parametrize(
    ("scope", "call", "stopped"),
    [
        (Scope(), ("disk_usage", "web-1", "helper"), True),
        (DISK, ("disk_usage", "web-1", "helper"), True),
        (DISK, ("host_os", "web-1", "helper"), False),
        (Scope(host="web-1"), ("host_os", "web-1", "helper"), True),
        (Scope(host="web-1"), ("host_os", "web-10", "helper"), False),
        (Scope(caller="helper"), ("host_os", "web-1", "helper"), True),
        (Scope("disk_usage", "web-1"), ("disk_usage", "web-1", "helper"), True),
        (Scope("disk_usage", "web-1"), ("disk_usage", "web-2", "helper"), False),
        (Scope("disk_usage", "web-1"), ("host_os", "web-1", "helper"), False),
    ],
)
def test_a_pause_stops_calls_that_match_all_it_names(writing: sa.Engine, reading: sa.Engine, scope, call, stopped):
    made = pause(writing, scope, "incident", "olga", OLGA)
    assert pause_of(reading, *call) == (made if stopped else None)


def test_a_pause_lasts_until_it_is_resumed(writing: sa.Engine, reading: sa.Engine):
    assert pause_of(reading, "disk_usage", "web-1", "helper") is None
    made = pause(writing, DISK, "incident", "olga", OLGA)
    assert active(reading) == [made]
    assert resume(writing, DISK, "over", "olga", OLGA) == [made]
    assert active(reading) == []
    assert pause_of(reading, "disk_usage", "web-1", "helper") is None


def test_resuming_leaves_what_another_pause_stops(writing: sa.Engine, reading: sa.Engine):
    both = [pause(writing, scope, "incident", "olga", OLGA) for scope in (DISK, Scope(), DISK)]
    assert resume(writing, DISK, "over", "olga", OLGA) == [both[0], both[2]]
    assert active(reading) == [both[1]]
    assert resume(writing, DISK, "over", "olga", OLGA) == []


def test_both_are_on_record_with_person_and_reason(writing: sa.Engine, database: Path):
    made = pause(writing, DISK, "incident", "olga", OLGA)
    resume(writing, DISK, "over", "anna", Actor("anna", "test"))
    paused, resumed = [body for body in stored(database) if body["kind"] == "pause"]
    assert (paused["reason"], paused["because"], paused["person"], paused["os_user"]) == (
        "paused",
        "incident",
        "olga",
        "someone",
    )
    assert (resumed["reason"], resumed["because"], resumed["person"]) == ("resumed", "over", "anna")
    assert paused["pause"] == resumed["pause"] == made.id
    assert (paused["operation"], paused["host"], paused["caller"]) == ("disk_usage", None, None)


def test_the_words_of_a_scope():
    assert str(Scope()) == "everything"
    assert str(Scope("disk_usage", "web-1")) == "operation disk_usage, host web-1"


def test_without_a_database_nobody_knows_what_is_paused(tmp_path: Path):
    with pytest.raises(RecordUnavailable):
        pause_of(open_for_reading(url_of(tmp_path / "missing.db")), "disk_usage", "web-1", "helper")
