"""The keys of an identity provider: fetched when needed, kept when it is gone, and never too often."""

import json
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import ClassVar

import pytest

from sshfacts.service.jwks import KEEP_SECONDS, RETRY_SECONDS, KeySet, fetch_over_http
from tests.support.provider import Provider


@pytest.fixture
def provider() -> Provider:
    return Provider()


async def test_a_known_key_is_fetched_once(provider: Provider):
    keys = provider.keys()
    for _ in range(3):
        key = await keys.find("one", "ES256")
        assert key is not None
        assert key.algorithm_name == "ES256"
    assert provider.fetched == 1


async def test_unknown_ids_do_not_become_requests(provider: Provider):
    keys = provider.keys()
    for _ in range(3):
        assert await keys.find("two", "ES256") is None
    assert provider.fetched == 1
    provider.now += RETRY_SECONDS
    assert await keys.find("two", "ES256") is None
    assert provider.fetched == 2


async def test_a_new_key_is_found_at_the_next_fetch(provider: Provider):
    keys = provider.keys()
    await keys.find("one", "ES256")
    provider.key_id = "two"
    provider.now += RETRY_SECONDS
    assert await keys.find("two", "ES256") is not None
    assert await keys.find("one", "ES256") is None


async def test_a_withdrawn_key_is_forgotten_in_time(provider: Provider):
    keys = provider.keys()
    await keys.find("one", "ES256")
    provider.key_id = "two"
    provider.now += KEEP_SECONDS
    assert await keys.find("one", "ES256") is not None
    provider.now += 1
    assert await keys.find("one", "ES256") is None


async def test_an_outage_of_the_provider_is_none_of_ours(provider: Provider, caplog: pytest.LogCaptureFixture):
    keys = provider.keys()
    await keys.find("one", "ES256")
    provider.broken = True
    provider.now += 2 * KEEP_SECONDS
    assert await keys.find("one", "ES256") is not None
    assert "OSError" in caplog.text
    assert "PLANTED" not in caplog.text


@pytest.mark.parametrize(
    ("more", "algorithm"),
    [
        ({}, "RS256"),
        ({"alg": "ES384"}, "ES256"),
        ({"use": "enc"}, "ES256"),
        ({"kty": "oct", "k": "c2VjcmV0"}, "ES256"),
        ({"kty": "???"}, "ES256"),
        ({"x": "!"}, "ES256"),
    ],
    ids=str,
)
async def test_a_key_of_another_kind_is_none(provider: Provider, more: dict[str, object], algorithm: str):
    provider.more = more
    assert await provider.keys().find("one", algorithm) is None


async def test_a_single_key_needs_no_id(provider: Provider):
    provider.key_id = None
    assert await provider.keys().find(None, "ES256") is not None


@pytest.mark.parametrize(
    "body",
    [b"", b"no json", b"[]", b"{}", b'{"keys": 7}', b'{"keys": [7, {"kid": 7}]}', b'{"keys": [], "keys": []}'],
)
async def test_what_is_no_key_set_holds_no_keys(body: bytes):
    async def fetch(_: str) -> bytes:
        return body

    assert await KeySet("https://idp.example.com/keys", fetch).find("one", "ES256") is None


class Handler(BaseHTTPRequestHandler):
    """Answers by its path."""

    big: ClassVar[bytes] = b" " * (10 * 1024 * 1024)

    def do_GET(self) -> None:
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/keys")
            self.end_headers()
            return
        self.send_response(200 if self.path in ("/keys", "/big") else 404)
        self.end_headers()
        with suppress(ConnectionError):  # The client of the big answer leaves before its end.
            self.wfile.write(self.big if self.path == "/big" else json.dumps({"keys": []}).encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def url() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


async def test_keys_are_fetched_over_http(url: str):
    assert await fetch_over_http(f"{url}/keys") == b'{"keys": []}'


@pytest.mark.parametrize("path", ["/none", "/moved"])
async def test_another_answer_is_an_error(url: str, path: str):
    with pytest.raises(OSError, match="HTTPStatusError"):
        await fetch_over_http(url + path)


async def test_an_endless_answer_is_cut(url: str):
    assert len(await fetch_over_http(f"{url}/big")) < 2 * 256 * 1024


async def test_nobody_there_is_an_error():
    with pytest.raises(OSError, match="ConnectError"):
        await fetch_over_http("http://127.0.0.1:9/keys")
