"""The one ASGI application: the doors, the probes and what stands in front of them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from sshfacts.commands.settings import CallerSettings
from sshfacts.limits import REQUEST
from sshfacts.service.body import check_message, receive_body
from sshfacts.service.gate import MCP_PATHS, PROBE_PATHS, Gate, not_routed
from sshfacts.service.http_door import HttpDoor, json_response
from sshfacts.service.identity import Identity
from sshfacts.service.mcp_door import Context, McpDoor
from sshfacts.service.offers import Offers
from sshfacts.service.running import Service

MCP_DOOR = "mcp.http"
"""How the record names the door for MCP over HTTP."""
_CALLER = "sshfacts.caller"
"""Where the ASGI scope keeps who sent the request."""


def build_app(service: Service) -> Starlette:
    """Return the application that serves the doors of a running service."""
    name = service.settings.service_name
    offers = Offers(service.site)
    mcp = McpDoor(name, offers, service.calls, _caller_of, MCP_DOOR)
    http = HttpDoor(name, offers, service.calls, service.identity)
    manager = StreamableHTTPSessionManager(
        mcp.server,
        stateless=True,  # no sessions to lose, to hijack or to fill the memory with
        json_response=False,  # with a JSON-only answer nobody would notice that its client has gone
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # the gate is for all doors
        max_request_body_size=REQUEST.bytes,
    )

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with manager.run():
            yield

    app = Starlette(
        routes=[
            # POST only: a GET would hold a stream open on which nothing ever comes.
            *(Route(path, _McpEndpoint(manager, service.identity), methods=["POST"]) for path in MCP_PATHS),
            Route("/v1/operations/{name}", http.call, methods=["POST"]),
            Route("/v1/hosts", http.hosts, methods=["GET"]),
            Route("/v1/openapi.json", http.openapi, methods=["GET"]),
            *_probes(service),
            *_metadata(service.identity),
        ],
        middleware=[Middleware(Gate, doors=service.settings.doors, calls=service.calls)],
        exception_handlers={HTTPException: not_routed},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    return app


class _McpEndpoint:
    """Lets the SDK see only requests of a known caller whose body is one strict JSON object."""

    def __init__(self, manager: StreamableHTTPSessionManager, identity: Identity) -> None:
        self._manager = manager
        self._identity = identity

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        caller = await self._identity.caller(request.headers.getlist("authorization"))
        body = await receive_body(request)
        check_message(body)
        unread: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive_again() -> Message:
            return unread.pop() if unread else await receive()

        await self._manager.handle_request({**scope, _CALLER: caller}, receive_again, send)


async def _caller_of(context: Context) -> CallerSettings:
    """Return who sent the request that an MCP message came in."""
    caller = context.request.scope[_CALLER] if isinstance(context.request, Request) else None
    if not isinstance(caller, CallerSettings):
        raise TypeError("a message that came in by no request")
    return caller


def _probes(service: Service) -> list[Route]:
    """Return the paths by which somebody sees that the process lives, and that it takes calls."""

    async def healthy(_request: Request) -> Response:
        return json_response({"alive": True})

    async def ready(_request: Request) -> Response:
        return json_response({"ready": service.ready}, 200 if service.ready else 503)

    return [Route(path, answer, methods=["GET"]) for path, answer in zip(PROBE_PATHS, (healthy, ready), strict=True)]


def _metadata(identity: Identity) -> list[Route]:
    """Return the path of the OAuth metadata, if there is an identity provider; clients that find any start OAuth."""
    metadata = identity.metadata()
    if metadata is None:
        return []
    path, content = metadata

    async def resource(_request: Request) -> Response:
        return json_response(content)

    return [Route(path, resource, methods=["GET"])]
