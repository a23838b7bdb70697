"""What every request passes before it reaches a door."""

from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sshfacts.call import log_fault
from sshfacts.commands.settings import Doors
from sshfacts.service.calls import Calls
from sshfacts.service.http_door import json_response
from sshfacts.service.problems import NotARequest, Problem, as_json
from sshfacts.values import JsonObject

MCP_PATHS = ("/mcp", "/mcp/")
"""Both spellings: a redirect makes some clients drop the token."""
PROBE_PATHS = ("/healthz", "/readyz")
"""Whoever watches over the process asks by its address; the answers tell nothing."""

_PARSE_ERROR, _INVALID_REQUEST = -32700, -32600  # JSON-RPC 2.0, section 5.1
_BY_STATUS = {404: Problem.NO_SUCH_PATH, 405: Problem.METHOD_REFUSED}


class Gate:
    """Refuses what comes from a web page or for another service, and answers when the code behind it fails.

    A web page can point its own name at this address and then send requests here from its visitor's browser
    (DNS rebinding). Such a request names the page's host in `Host` and its origin in `Origin`.
    """

    def __init__(self, app: ASGIApp, doors: Doors, calls: Calls) -> None:
        self._app = app
        self._doors = doors
        self._calls = calls

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI event."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def watched_send(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            self._check(scope)
            await self._app(scope, receive, watched_send)
        except ClientDisconnect:
            pass  # Nobody is there to be answered.
        except NotARequest as error:
            await problem_response(scope["path"], error.problem, error.headers)(scope, receive, send)
        except Exception as fault:  # noqa: BLE001 - what is not caught here, the server logs with its text
            log_fault(f"by {scope['method']}", fault)  # the path is the client's text; the frames name the handler
            if not started:
                await problem_response(scope["path"], Problem.FAULT)(scope, receive, send)

    def _check(self, scope: Scope) -> None:
        if scope["path"] in PROBE_PATHS:
            return
        headers = Headers(scope=scope)
        if [_host_name(value) in self._doors.hosts for value in headers.getlist("host")] != [True]:
            raise NotARequest(Problem.HOST_REFUSED)
        if not self._doors.origins.issuperset(headers.getlist("origin")):
            raise NotARequest(Problem.ORIGIN_REFUSED)
        if self._calls.draining:
            raise NotARequest(Problem.SHUTTING_DOWN, {"Connection": "close"})


def _host_name(header: str) -> str:
    """Return the host in a `Host` header without its port; the port is this service's own business."""
    name, colon, port = header.rpartition(":")
    return (name if colon and port.isascii() and port.isdigit() else header).lower()


def problem_response(path: str, problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
    """Return the answer to what is no request; at `/mcp` it is a JSON-RPC error, which is what clients read there."""
    body = as_json(problem)
    if path in MCP_PATHS:
        code = _PARSE_ERROR if problem.name.startswith("BODY_") else _INVALID_REQUEST
        error: JsonObject = {"code": code, "message": f"{problem}: {problem.meaning}"}
        body = {"jsonrpc": "2.0", "id": None, "error": error}
    return json_response(body, problem.status, {**(headers or {})})


async def not_routed(request: Request, error: Exception) -> Response:
    """Answer for a path or a method that is not served; registered for Starlette's own `HTTPException`."""
    status = error.status_code if isinstance(error, HTTPException) else 0
    headers = error.headers if isinstance(error, HTTPException) else None
    return problem_response(request.url.path, _BY_STATUS.get(status, Problem.FAULT), headers)
