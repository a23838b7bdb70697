"""The doors with an identity provider: challenges, metadata, and both kinds of tokens side by side."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

from sshfacts.commands.site import Site
from sshfacts.storage import engine
from sshfacts.storage.queries import requests
from sshfacts.storage.tables import ENTRY
from sshfacts.storage.tokens import revoke
from tests.support import provider
from tests.support.doors import Served, served
from tests.support.provider import RESOURCE, Provider
from tests.support.sites import SETTINGS, SiteFiles
from tests.support.transports import CannedTransport

METADATA = "https://facts.example.com/.well-known/oauth-protected-resource/mcp"
HOSTS = 'name = "test"\nallowed_hosts = ["facts.example.com"]\n'
PROVIDER = Provider()


def files(folder: Path, more: str = "") -> SiteFiles:
    settings = SETTINGS.replace('name = "test"\n', HOSTS).replace(
        'principal = "anna"', 'principal = "anna"\noidc = "client-1"'
    )
    return SiteFiles(folder, settings=settings + provider.SETTINGS + more)


@pytest.fixture
async def with_oidc(tmp_path: Path) -> AsyncIterator[Served]:
    site = files(tmp_path, 'required_scopes = ["facts"]\n').load()
    async with served(site, CannedTransport(b'{"mounts": []}\n'), PROVIDER.keys()) as running:
        yield running


async def call(doors: Served, token: str | None):
    headers = {"Host": "facts.example.com", **({"Authorization": f"Bearer {token}"} if token else {})}
    async with doors.client(None, **headers) as client:
        return await client.post("/v1/operations/disk", json={"host": "web-1"})


async def test_a_jwt_and_an_own_token_are_the_same_caller(with_oidc: Served):
    for token in (PROVIDER.token(scope="facts"), with_oidc.tokens["agent"]):
        assert (await call(with_oidc, token)).status_code == 200

    rows = requests(engine.open_for_reading(with_oidc.service.settings.database_url))
    assert [row.caller for row in rows] == ["agent", "agent"]


async def test_a_challenge_leads_to_the_metadata(with_oidc: Served):
    bare = await call(with_oidc, None)
    wrong = await call(with_oidc, PROVIDER.token(scope="facts", aud="https://other.example.com"))
    short = await call(with_oidc, PROVIDER.token(scope="other"))

    assert (bare.status_code, wrong.status_code, short.status_code) == (401, 401, 403)
    told = f'scope="facts", resource_metadata="{METADATA}"'
    assert bare.headers["WWW-Authenticate"] == f"Bearer {told}"
    assert wrong.headers["WWW-Authenticate"] == f'Bearer error="invalid_token", {told}'
    assert short.headers["WWW-Authenticate"] == f'Bearer error="insufficient_scope", {told}'
    assert short.json()["error"]["code"] == "INSUFFICIENT_SCOPE"


async def test_the_metadata_names_the_resource_to_the_letter(with_oidc: Served):
    async with with_oidc.client(None, Host="facts.example.com") as client:
        answer = await client.get("/.well-known/oauth-protected-resource/mcp")
        elsewhere = await client.get("/.well-known/oauth-protected-resource")

    assert answer.json() == {
        "resource": RESOURCE,
        "resource_name": "test",
        "authorization_servers": [provider.ISSUER],
        "bearer_methods_supported": ["header"],
        "scopes_supported": ["facts"],
    }
    assert elsewhere.status_code == 404


@contextmanager
def moved_away(path: Path) -> Iterator[None]:
    elsewhere = path.rename(path.with_name("moved"))
    yield
    elsewhere.rename(path)


@pytest.mark.parametrize("path", ["/mcp", "/v1/operations/disk"])
async def test_without_a_database_nobody_is_known(doors: Served, path: str):
    database = Path(doors.service.settings.database_url.removeprefix("sqlite:///"))
    with moved_away(database):
        async with doors.client() as client:
            answer = await client.post(path, json={"host": "web-1"})

    assert answer.status_code == 503
    assert "RECORD_UNAVAILABLE" in answer.text


async def test_a_revoked_token_is_refused_at_once(doors: Served):
    token = doors.tokens["agent"]
    assert (await call_locally(doors, token)).status_code == 200
    assert revoke(engine.open_for_writing(doors.service.settings.database_url), token.split("_")[1])
    assert (await call_locally(doors, token)).status_code == 401


async def call_locally(doors: Served, token: str):
    async with doors.client(None, Authorization=f"Bearer {token}") as client:
        return await client.post("/v1/operations/disk", json={"host": "web-1"})


async def test_strangers_are_counted_and_not_recorded_one_by_one(site: Site):
    async with served(site, CannedTransport()) as doors, doors.client(None) as client:
        for headers in ({}, {"Authorization": "Bearer x"}, {"Authorization": "Bearer y"}):
            assert (await client.get("/v1/openapi.json", headers=headers)).status_code == 401

    database = engine.open_for_reading(site.require_settings().database_url)
    with database.begin() as connection:
        bodies = connection.execute(sa.select(ENTRY.c.body).where(ENTRY.c.kind == "turned_away"))
        counted = [json.loads(body) for (body,) in bodies]
    assert sum(one["count"] for one in counted) == 3
    assert {(one["caller"], one["detail"]) for one in counted} == {(None, "unauthenticated")}
    assert len(counted) <= 2  # two, if a minute ended in between
