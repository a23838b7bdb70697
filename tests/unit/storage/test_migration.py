import ast
import re
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.config import Config
from alembic.script import ScriptDirectory

from sshfacts.builtin import builtin_site
from sshfacts.storage.engine import open_for_writing, prepare, transaction, upgrade
from sshfacts.storage.guards import missing_guards
from sshfacts.storage.migration import roles_script, script
from sshfacts.storage.migration import upgrade as migrate
from sshfacts.storage.recorder import open_recorder
from sshfacts.storage.revision import HEAD, revision, wrong_revision
from sshfacts.storage.tables import METADATA
from sshfacts.storage.unavailable import RecordUnavailable
from tests.support.migrations import FAILING, NEXT, with_next
from tests.support.records import intent, stored, url_of

FOLDER = builtin_site() / "storage" / "migrations"
FILES = sorted((FOLDER / "versions").glob("*.py"))
ADDITIVE = {"create_table", "create_index", "add_column"}


@pytest.fixture
def engine(database: Path) -> sa.Engine:
    opened = open_for_writing(url_of(database))
    prepare(opened)
    return opened


def schema(path: Path) -> dict[str, list[str]]:
    """The statements that made each thing in a file, as sorted lines, since the order of constraints says nothing."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT type || ' ' || name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    return {name: sorted(line.strip(" ,\t") for line in text.splitlines()) for name, text in rows}


def test_the_migrations_make_what_the_tables_say(engine: sa.Engine, database: Path, tmp_path: Path):
    fresh = sa.create_engine(url_of(tmp_path / "fresh.db"))
    METADATA.create_all(fresh)
    fresh.dispose()
    of_tables = ("table ", "index ")
    migrated = {name: lines for name, lines in schema(database).items() if name.startswith(of_tables)}
    assert migrated.pop("table alembic_version")
    assert migrated == schema(tmp_path / "fresh.db")
    with transaction(engine) as connection:
        assert missing_guards(connection) == []


def test_the_newest_migration_is_the_one_that_this_version_needs():
    config = Config()
    config.set_main_option("script_location", str(FOLDER))
    config.set_main_option("path_separator", "os")
    assert ScriptDirectory.from_config(config).get_heads() == [HEAD]


def operations(tree: ast.Module) -> Iterator[str]:
    """The names of what a migration does to the database."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "op":
            yield node.attr


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_migration_only_adds(file: Path):
    """Anything else rebuilds a table on SQLite, which drops its triggers, or takes away what is on record."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    assert set(operations(tree)) <= ADDITIVE
    assert not any(isinstance(node, ast.FunctionDef) and node.name == "downgrade" for node in ast.walk(tree))
    added = [
        node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "op.add_column"
    ]
    assert not any("nullable=False" in ast.unparse(node) for node in added)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_migration_is_named_after_its_revision(file: Path):
    [named] = re.findall(r'^revision = "(\d{4})"$', file.read_text(encoding="utf-8"), re.MULTILINE)
    assert file.stem.startswith(f"r{named}_")


async def test_rows_views_and_guards_outlive_an_upgrade(database: Path, tmp_path: Path):
    async with open_recorder(url_of(database)) as recorder:
        await recorder.append(intent())
    before = stored(database)
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("CREATE VIEW seen AS SELECT request_id, host FROM audit_entry")
    engine = open_for_writing(url_of(database))
    with transaction(engine) as connection:
        migrate(connection, with_next(tmp_path))
        assert revision(connection) == NEXT
        assert missing_guards(connection) == []
        assert connection.exec_driver_sql("SELECT count(*), count(tenant) FROM audit_entry").one() == (3, 0)
        assert len(connection.exec_driver_sql("SELECT * FROM seen").all()) == 3
    assert stored(database) == before
    with closing(sqlite3.connect(database)) as connection, pytest.raises(sqlite3.IntegrityError, match="append-only"):
        connection.execute("DELETE FROM audit_entry")


def test_a_migration_that_fails_leaves_nothing_of_itself(engine: sa.Engine, database: Path, tmp_path: Path):
    before = schema(database)
    with pytest.raises(ZeroDivisionError), transaction(engine) as connection:
        migrate(connection, with_next(tmp_path, FAILING))
    assert schema(database) == before
    with transaction(engine) as connection:
        assert wrong_revision(connection) is None


def test_a_file_of_a_later_version_is_not_used(engine: sa.Engine, tmp_path: Path):
    with transaction(engine) as connection:
        migrate(connection, with_next(tmp_path))
    with pytest.raises(RecordUnavailable, match=f"has revision {NEXT}, which this version does not know"):
        prepare(engine)
    with transaction(engine) as connection:
        assert wrong_revision(connection) == f"the database has revision {NEXT}, and this version needs revision {HEAD}"


def test_an_upgrade_puts_a_guard_back_and_a_start_does_not(engine: sa.Engine, database: Path):
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("DROP TRIGGER audit_leaf_no_delete")
    with pytest.raises(RecordUnavailable, match="audit_leaf_no_delete"):
        prepare(engine)
    upgrade(engine)
    prepare(engine)


def test_services_that_start_at_once_make_one_database(database: Path):
    faults: list[Exception] = []

    def start() -> None:
        try:
            prepare(open_for_writing(url_of(database)))
        except RecordUnavailable as error:
            faults.append(error)

    threads = [threading.Thread(target=start) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    with transaction(open_for_writing(url_of(database))) as connection:
        assert revision(connection) == HEAD


def test_the_statements_can_be_read_and_run_by_hand(engine: sa.Engine, database: Path, tmp_path: Path):
    by_hand = tmp_path / "by_hand.db"
    with closing(sqlite3.connect(by_hand)) as connection:
        connection.executescript(script("sqlite"))
    assert schema(by_hand) == schema(database)
    with transaction(engine) as connection:
        assert wrong_revision(connection) is None


def test_the_statements_for_postgresql_need_no_server():
    text = script("postgresql")
    assert "SET LOCAL ROLE sshfacts_owner" in text
    assert "ENABLE ALWAYS TRIGGER audit_entry_no_change" in text
    assert "GRANT INSERT ON audit_entry" in text
    assert text.rstrip().endswith("COMMIT;")


def test_every_role_is_made_before_it_is_granted_anything():
    made = set(re.findall(r"'(sshfacts_\w+)'", roles_script()))
    folder = builtin_site() / "storage" / "roles"
    granted = set(re.findall(r"sshfacts_\w+", "".join(file.read_text() for file in folder.glob("*.sql"))))
    assert granted == made
