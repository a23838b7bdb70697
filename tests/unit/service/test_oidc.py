"""JWTs: which are believed, and what they can take away and never give."""

import time
from dataclasses import replace

import jwt
import pytest

from sshfacts.commands.settings import Algorithm, CallerSettings, Oidc
from sshfacts.permission.authentication import Unauthenticated
from sshfacts.service.oidc import InsufficientScope, Issuer
from tests.support.provider import ISSUER, RESOURCE, Provider

OIDC = Oidc(
    issuer=ISSUER,
    resource=RESOURCE,
    audience=RESOURCE,
    jwks="https://idp.example.com/keys",
    algorithms=frozenset(Algorithm),
    required_scopes=frozenset(),
    caller_claim="sub",
    principal_claim=None,
    grants_claim=None,
    host_groups_claim=None,
)
AGENT = CallerSettings("agent", frozenset({"disk.read", "unit.read"}), frozenset({"linux", "db"}), oidc="client-1")
PROVIDER = Provider()


async def caller_of(
    token: str, provider: Provider = PROVIDER, caller: CallerSettings = AGENT, **changes
) -> CallerSettings:
    callers = {caller.name: caller, "other": CallerSettings("other")}
    return await Issuer(replace(OIDC, **changes), callers, provider.keys()).caller(token)


async def test_a_jwt_names_its_caller():
    assert await caller_of(PROVIDER.token()) == AGENT


@pytest.mark.parametrize("algorithm", list(Algorithm))
async def test_each_algorithm_works(algorithm: Algorithm):
    provider = Provider(algorithm.value)
    assert await caller_of(provider.token(), provider) == AGENT


async def test_an_audience_may_be_one_of_several():
    assert await caller_of(PROVIDER.token(aud=["https://other.example.com", RESOURCE])) == AGENT


@pytest.mark.parametrize("typ", ["at+jwt", "JWT", "application/at+jwt"])
async def test_an_access_token_may_say_that_it_is_one(typ: str):
    assert await caller_of(PROVIDER.token(headers={"typ": typ})) == AGENT


NOW = int(time.time())


@pytest.mark.parametrize(
    "token",
    [
        "",
        "a.b.c",
        "not a token",
        PROVIDER.token(iss="https://evil.example.com"),
        PROVIDER.token(iss=f"{ISSUER}/"),
        PROVIDER.token(aud="https://other.example.com"),
        PROVIDER.token(aud=[]),
        PROVIDER.token(exp=NOW - 120),
        PROVIDER.token(iat=NOW + 3_600),
        PROVIDER.token(nbf=NOW + 3_600),
        PROVIDER.token(without=("exp",)),
        PROVIDER.token(without=("iat",)),
        PROVIDER.token(without=("iss",)),
        PROVIDER.token(without=("aud",)),
        PROVIDER.token(without=("sub",)),
        PROVIDER.token(sub="nobody"),
        PROVIDER.token(headers={"typ": "logout+jwt"}),
        PROVIDER.token(headers={"kid": "another"}),
        PROVIDER.token()[:-4] + "AAAA",
        Provider().token(),
        PROVIDER.token(padding="x" * 9_000),
        jwt.encode({"sub": "client-1"}, None, "none"),
        jwt.encode({"iss": ISSUER, "aud": RESOURCE, "sub": "client-1", "iat": NOW, "exp": NOW + 60}, "x" * 64, "HS256"),
    ],
    ids=lambda token: str(len(token)),
)
async def test_every_other_token_is_nobody(token: str):
    with pytest.raises(Unauthenticated) as caught:
        await caller_of(token)
    assert type(caught.value) is Unauthenticated
    assert caught.value.__cause__ is None


async def test_an_algorithm_that_is_not_listed_is_refused():
    with pytest.raises(Unauthenticated):
        await caller_of(PROVIDER.token(), algorithms=frozenset({Algorithm.RS256}))


async def test_a_caller_without_a_claim_of_its_own_is_named_by_no_jwt():
    with pytest.raises(Unauthenticated):
        await caller_of(PROVIDER.token(sub=None), caller=replace(AGENT, oidc=None))


async def test_another_claim_can_name_the_caller():
    token = PROVIDER.token(sub="ada", client_id="client-1")
    assert await caller_of(token, caller_claim="client_id") == AGENT


@pytest.mark.parametrize(
    ("scope", "enough"), [("facts other", True), ("other", False), (None, False), (["facts"], True)]
)
async def test_a_required_scope_opens_the_door(scope: object, enough: bool):
    call = caller_of(PROVIDER.token(scope=scope), required_scopes=frozenset({"facts"}))
    if enough:
        assert await call == AGENT
    else:
        with pytest.raises(InsufficientScope):
            await call


@pytest.mark.parametrize(
    ("claim", "left"),
    [
        (["disk.read"], {"disk.read"}),
        ("disk.read unit.read", {"disk.read", "unit.read"}),
        (["disk.read", "root.everything"], {"disk.read"}),
        ([], set()),
        (None, set()),
        (7, set()),
        ({"disk.read": 1}, set()),
    ],
)
async def test_claims_take_away_and_never_give(claim: object, left: set[str]):
    caller = await caller_of(PROVIDER.token(grants=claim), grants_claim="grants")
    assert caller.grants == left
    assert caller.host_groups == AGENT.host_groups


async def test_host_groups_are_taken_away_alike():
    caller = await caller_of(PROVIDER.token(groups="db root"), host_groups_claim="groups")
    assert caller == replace(AGENT, host_groups=frozenset({"db"}))


async def test_a_jwt_can_name_the_principal():
    caller = await caller_of(PROVIDER.token(user="ada"), principal_claim="user")
    assert caller.principal == "ada"
    assert (await caller_of(PROVIDER.token(), principal_claim="user")).principal is None


@pytest.mark.parametrize(("named", "taken"), [("ada", True), ("eve", False), (7, False)])
async def test_it_cannot_put_another_in_the_place_of_the_settings_principal(named: object, taken: bool):
    call = caller_of(PROVIDER.token(user=named), caller=replace(AGENT, principal="ada"), principal_claim="user")
    if taken:
        assert (await call).principal == "ada"
    else:
        with pytest.raises(Unauthenticated):
            await call


@pytest.mark.parametrize(
    ("claims", "session"),
    [
        ({"sid": "s-1", "jti": "t-1"}, "s-1"),
        ({"jti": "t-1"}, "t-1"),
        ({}, None),
        ({"sid": 7}, None),
        ({"sid": "two words"}, None),
        ({"sid": "x" * 129}, None),
        ({"sid": "a\nb", "jti": "t-1"}, "t-1"),
    ],
)
async def test_the_session_of_the_client_is_taken_from_the_token(claims: dict[str, object], session: str | None):
    assert (await caller_of(PROVIDER.token(**claims))).session == session
