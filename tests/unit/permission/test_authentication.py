from pathlib import Path

import pytest
import sqlalchemy as sa

from sshfacts.commands.settings import Role, Settings
from sshfacts.errors import UsageError
from sshfacts.permission.authentication import Unauthenticated, authenticate, authenticate_person, has_operator
from sshfacts.storage import tokens
from sshfacts.storage.engine import open_for_writing, prepare
from tests.support.sites import SiteFiles


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return SiteFiles(tmp_path).load().require_settings()


@pytest.fixture
def engine(settings: Settings) -> sa.Engine:
    engine = open_for_writing(settings.database_url)
    prepare(engine)
    return engine


def test_a_callers_token_names_a_caller_and_no_person(settings: Settings, engine: sa.Engine):
    token = tokens.add(engine, "agent")
    assert authenticate(token, settings, engine).name == "agent"
    with pytest.raises(Unauthenticated):
        authenticate_person(token, settings, engine)


def test_a_persons_token_names_a_person_and_no_caller(settings: Settings, engine: sa.Engine):
    token = tokens.add_for_person(engine, "grace")
    assert authenticate_person(token, settings, engine).name == "grace"
    with pytest.raises(Unauthenticated):
        authenticate(token, settings, engine)


def test_a_caller_and_a_person_of_one_name_are_two(tmp_path: Path):
    files = SiteFiles(tmp_path / "twins")
    files.settings += '[people.agent]\nroles = ["approver"]\n[callers.grace]\n'
    settings = files.load().require_settings()
    engine = open_for_writing(settings.database_url)
    prepare(engine)
    with pytest.raises(Unauthenticated):
        authenticate_person(tokens.add(engine, "grace"), settings, engine)
    with pytest.raises(Unauthenticated):
        authenticate(tokens.add_for_person(engine, "agent"), settings, engine)


def test_whoever_left_the_file_is_nobody(settings: Settings, engine: sa.Engine):
    with pytest.raises(Unauthenticated):
        authenticate(tokens.add(engine, "gone"), settings, engine)
    with pytest.raises(Unauthenticated):
        authenticate_person(tokens.add_for_person(engine, "gone"), settings, engine)


@pytest.mark.parametrize("role", Role)
def test_a_person_acts_only_in_a_role_it_has(settings: Settings, engine: sa.Engine, role: Role):
    token = tokens.add_for_person(engine, "grace")
    if role is Role.APPROVER:
        assert authenticate_person(token, settings, engine, role).name == "grace"
    else:
        with pytest.raises(UsageError, match=f"grace has not the role {role}"):
            authenticate_person(token, settings, engine, role)


def test_an_operator_with_a_valid_token_makes_tokens(settings: Settings, engine: sa.Engine):
    assert not has_operator(settings, engine)
    tokens.add(engine, "agent")
    tokens.add_for_person(engine, "grace")
    tokens.add(engine, "olga")  # a caller's token, whatever its name is
    assert not has_operator(settings, engine)
    token = tokens.add_for_person(engine, "olga")
    assert has_operator(settings, engine)
    tokens.revoke(engine, token.split("_")[1])
    assert not has_operator(settings, engine)
