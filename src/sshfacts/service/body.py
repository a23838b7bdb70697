"""The body of a request: one bounded, strict JSON object."""

import asyncio
from collections.abc import Mapping

from starlette.requests import Request

from sshfacts.adapters.formats import Json
from sshfacts.adapters.reader import read
from sshfacts.errors import Refusal
from sshfacts.limits import REQUEST
from sshfacts.service.problems import NotARequest, Problem
from sshfacts.values import JsonObject, JsonValue

BODY_SECONDS = 10.0
"""In which a body must have arrived."""

_BLANKS = b" \t\r\n"
_MEMBERS: tuple[tuple[str, type | tuple[type, ...], JsonValue], ...] = (
    ("method", str, None),
    ("id", (str, int), 0),
    ("params", dict, {}),
)
"""Members of a message, their types, and what stands for one that is absent."""
_PROBLEMS: Mapping[str, Problem] = {
    "output.duplicate_name": Problem.BODY_DUPLICATE_NAME,
    "output.depth": Problem.BODY_TOO_DEEP,
    "output.empty": Problem.BODY_NOT_OBJECT,
    "output.encoding": Problem.BODY_ENCODING,
    "output.items": Problem.BODY_TOO_LARGE,
    "output.leading_data": Problem.BODY_NOT_OBJECT,
    "output.number": Problem.BODY_NUMBER,
    "output.string": Problem.BODY_TOO_LARGE,
    "output.too_large": Problem.BODY_TOO_LARGE,
}


async def receive_body(request: Request) -> bytes:
    """Return the body of a request that says it is JSON.

    Raises:
        NotARequest: it is of another type, too large, or does not arrive in time.
        ClientDisconnect: the client is gone.
    """
    media_types = request.headers.getlist("content-type")
    media_type = media_types[0].split(";")[0].strip().lower() if len(media_types) == 1 else ""
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if media_type != "application/json" or encoding != "identity":
        raise NotARequest(Problem.BODY_TYPE)
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > REQUEST.bytes:
                    raise NotARequest(Problem.BODY_TOO_LARGE, {"Connection": "close"})
    except TimeoutError:
        raise NotARequest(Problem.BODY_SLOW, {"Connection": "close"}) from None
    return bytes(body)


def parse_object(body: bytes) -> JsonObject:
    """Return the one object that a body is, read by the same strict reader as the answers of hosts.

    White space around it is accepted, which that reader does not do.

    Raises:
        NotARequest: with the problem of the first byte that is wrong.
    """
    try:
        document = read(Json(), REQUEST, body.strip(_BLANKS))
    except Refusal as refusal:
        raise NotARequest(_PROBLEMS.get(refusal.detail, Problem.BODY_NOT_JSON)) from None
    if not isinstance(document, dict):
        raise NotARequest(Problem.BODY_NOT_OBJECT)
    return document


def check_message(body: bytes) -> None:
    """Accept a body that is one message of JSON-RPC 2.0; the SDK would tell the client what a parser thinks of others.

    Raises:
        NotARequest: as `parse_object`, or it is no request and no notification.
    """
    message = parse_object(body)
    if message.get("jsonrpc") != "2.0" or not all(
        isinstance(message.get(name, default), kinds) for name, kinds, default in _MEMBERS
    ):
        raise NotARequest(Problem.BODY_NOT_MESSAGE)
