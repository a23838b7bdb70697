"""The door for agents without MCP: one path for each operation, and a document that describes them."""

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from sshfacts.errors import Code, Refusal
from sshfacts.service import hosts
from sshfacts.service.body import parse_object, receive_body
from sshfacts.service.calls import Calls, Interrupted, as_request, as_text
from sshfacts.service.identity import Identity
from sshfacts.service.offers import Offers
from sshfacts.service.openapi import document
from sshfacts.service.problems import NotARequest, Problem
from sshfacts.values import JsonObject

DOOR = "http"
"""How the record names this door."""

T = TypeVar("T")


class HttpDoor:
    """Serves `POST /v1/operations/{name}`, `GET /v1/hosts` and `GET /v1/openapi.json`."""

    def __init__(self, name: str, offers: Offers, calls: Calls, identity: Identity) -> None:
        self._name = name
        self._offers = offers
        self._calls = calls
        self._identity = identity

    async def call(self, request: Request) -> Response:
        """Make one call; the body holds `host` and the arguments side by side, the answer is the envelope."""
        caller = await self._identity.caller(request.headers.getlist("authorization"))
        given = parse_object(await receive_body(request))
        asked = as_request(request.path_params["name"], given)
        try:
            envelope = await _until_gone(request, self._calls.make(caller, asked, DOOR))
        except Interrupted:
            raise NotARequest(Problem.INTERRUPTED) from None
        return json_response(envelope, _status(envelope))

    async def hosts(self, request: Request) -> Response:
        """List the hosts of one operation; see `service.hosts`."""
        caller = await self._identity.caller(request.headers.getlist("authorization"))
        query = request.query_params.multi_items()
        given: JsonObject = dict(query)
        if len(given) < len(query):
            raise NotARequest(Problem.QUERY_REFUSED)
        try:
            return json_response(hosts.page(self._offers.of(caller), caller.host_groups, given))
        except Refusal:
            raise NotARequest(Problem.QUERY_REFUSED) from None

    async def openapi(self, request: Request) -> Response:
        """Describe what the caller may use, and nothing else."""
        caller = await self._identity.caller(request.headers.getlist("authorization"))
        return json_response(document(self._name, self._offers.of(caller)))


def json_response(value: JsonObject, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return an answer that nobody keeps."""
    return Response(
        as_text(value), status, {"Cache-Control": "no-store", **(headers or {})}, media_type="application/json"
    )


def _status(envelope: JsonObject) -> int:
    error = envelope.get("error")
    return Code(str(error["code"])).http_status if isinstance(error, dict) else 200


async def _until_gone(request: Request, work: Coroutine[None, None, T]) -> T:
    """Return what `work` returns, and cancel it when the client closes the connection before that.

    Raises:
        ClientDisconnect: there is nobody to answer.
    """
    working = asyncio.create_task(work)
    leaving = asyncio.create_task(_left(request))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        return working.result()
    finally:
        working.cancel()
        leaving.cancel()


async def _left(request: Request) -> None:
    """Wait until the client closes the connection; the body was read before."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
