from datetime import UTC, datetime, timedelta, timezone

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.schema import CreateIndex, CreateTable

from sshfacts.storage.insertion import Insertion
from sshfacts.storage.tables import ENTRY, METADATA, Instant


def test_an_instant_is_stored_in_utc():
    engine = sa.create_engine("sqlite://")
    table = sa.Table("t", sa.MetaData(), sa.Column("at", Instant))
    eleven_at_night = datetime(2026, 11, 30, 23, tzinfo=timezone(timedelta(hours=2)))
    with engine.begin() as connection:
        table.create(connection)
        connection.execute(table.insert(), [{"at": eleven_at_night}, {"at": None}])
        assert connection.scalars(sa.select(table.c.at)).all() == [datetime(2026, 11, 30, 21, tzinfo=UTC), None]
        assert connection.exec_driver_sql("SELECT at FROM t").scalar() == "2026-11-30 21:00:00.000000"
    engine.dispose()


@pytest.mark.parametrize("dialect", [sqlite.dialect(), postgresql.dialect()])
def test_a_naive_instant_is_refused(dialect: sa.Dialect):
    with pytest.raises(ValueError, match="time zone"):
        Instant().process_bind_param(datetime(2026, 11, 30), dialect)  # noqa: DTZ001 - the case


def test_an_instant_comes_back_in_utc_whatever_the_session_says():
    stored = datetime(2026, 11, 30, 23, tzinfo=timezone(timedelta(hours=2)))
    found = Instant().process_result_value(stored, postgresql.dialect())
    assert found is not None
    assert found.utcoffset() == timedelta(0)


def test_the_schema_compiles_for_both_databases():
    for dialect in (sqlite.dialect(), postgresql.dialect()):
        for table in METADATA.sorted_tables:
            assert str(CreateTable(table).compile(dialect=dialect))
            assert all(str(CreateIndex(index).compile(dialect=dialect)) for index in table.indexes)


def test_no_column_can_refuse_what_the_projection_takes():
    narrow = (sa.String, sa.Integer, sa.Boolean)
    wide = (sa.Text, sa.BigInteger)
    for column in ENTRY.columns:
        assert not isinstance(column.type, narrow) or isinstance(column.type, wide), column.name


def test_rows_are_inserted_without_asking_for_their_id():
    for dialect in (sqlite.dialect(paramstyle="named"), postgresql.dialect()):
        assert "RETURNING" not in Insertion(dialect).text
        assert " id" not in Insertion(dialect).text.partition("VALUES")[0]
