"""Legacy requests without a session: each is served by itself, with what its own POST says of its client."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any, Final

import anyio
from pydantic_core import PydanticSerializationError

import mcp_types as types
from mcp._engine.scope import RequestScope
from mcp._protocol.era import LEGACY
from mcp._protocol.errors import Rejection
from mcp._protocol.handshake import Handshake
from mcp._protocol.http_request import DEFAULT_LEGACY_VERSION
from mcp._protocol.jsonrpc import Message, Notification, Request, dumps, error_message, result_message
from mcp._protocol.metadata import ClientFacts
from mcp.server._handle import HandlerTable, handle_notification, handle_request
from mcp.server._http.arrival import FAREWELL_TIME, Arrival, rejected
from mcp.server._http.outlet import Outlet
from mcp.server._http.resumable import BatchStream, EventStream
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR

logger = logging.getLogger(__name__)

_NO_CAPABILITIES: Final = types.ClientCapabilities()
_SHUTTING_DOWN: Final = types.ErrorData(code=INTERNAL_ERROR, message="The server is shutting down")


class StatelessServing:
    """Serves the legacy requests of one endpoint without sessions.

    Args:
        server: The server.

    Attributes:
        lifespan_context: What its lifespan yielded.
    """

    def __init__(self, server: HandlerTable) -> None:
        self.lifespan_context: object = None
        self._server = server
        self._running: set[anyio.CancelScope] = set()

    def stop(self) -> None:
        """End every request at once."""
        for scope in list(self._running):
            scope.cancel()

    async def take_in(self, messages: Iterable[Message | Rejection], version: str | None, arrival: Arrival) -> None:
        """Take in the notifications among some messages; without a session nothing waits for a response."""
        for message in messages:
            if isinstance(message, Notification):
                scope = self._scope(message, version, arrival, EventStream("", None, bool))
                await handle_notification(self._server, scope)

    async def serve(self, request: Request, version: str | None, arrival: Arrival, outlet: Outlet) -> None:
        """Serve one request; returns when its response has ended."""
        await self._serve([request], version, arrival, EventStream("", None, bool, outlet), outlet)

    async def serve_batch(
        self, items: Sequence[Message | Rejection], version: str | None, arrival: Arrival, outlet: Outlet
    ) -> None:
        """Serve the messages of one POST, one request after the other; returns when the response has ended."""
        calls = [item for item in items if isinstance(item, Request | Rejection)]
        await self.take_in(items, version, arrival)
        await self._serve(calls, version, arrival, BatchStream("", None, bool, outlet, len(calls)), outlet)

    async def _serve(
        self,
        calls: Sequence[Request | Rejection],
        version: str | None,
        arrival: Arrival,
        stream: EventStream,
        outlet: Outlet,
    ) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(outlet.hold)
            for number, call in enumerate(calls):
                with anyio.CancelScope() as running:
                    self._running.add(running)
                    try:
                        message = await self._handle(call, version, arrival, stream)
                    finally:
                        self._running.discard(running)
                    await _finish(stream, message)
                if running.cancelled_caught:
                    await _say_farewell(stream, calls[number:])
                    break
            stream.end()

    async def _handle(
        self, call: Request | Rejection, version: str | None, arrival: Arrival, stream: EventStream
    ) -> dict[str, object]:
        if isinstance(call, Rejection):
            return rejected(call)
        scope = self._scope(call, version, arrival, stream)
        try:
            message = result_message(call.request_id, await handle_request(self._server, scope))
            dumps(message)
        except MCPError as error:
            return error_message(call.request_id, error.error)
        except (ValueError, PydanticSerializationError):
            logger.exception("the answer to %r has no JSON form", call.method)
            return error_message(call.request_id, types.ErrorData(code=INTERNAL_ERROR, message="Internal server error"))
        return message

    def _scope(
        self, message: Request | Notification, version: str | None, arrival: Arrival, stream: EventStream
    ) -> RequestScope:
        version = version or DEFAULT_LEGACY_VERSION
        return RequestScope(
            method=message.method,
            params=message.params,
            request_id=message.request_id if isinstance(message, Request) else None,
            version=version,
            era=LEGACY,
            client=ClientFacts(version, _NO_CAPABILITIES),
            notify=stream.notify,
            handshake=Handshake(),
            lifespan_context=self.lifespan_context,
            request=arrival.http_request,
            headers=arrival.headers,
        )


async def _say_farewell(stream: EventStream, calls: Iterable[Request | Rejection]) -> None:
    with anyio.move_on_after(FAREWELL_TIME):
        for call in calls:
            await _finish(stream, error_message(call.request_id, _SHUTTING_DOWN, null_id=True))


async def _finish(stream: EventStream, message: dict[str, Any]) -> None:
    try:
        await stream.send(message, last=True)
    except anyio.BrokenResourceError:
        logger.debug("The client left before its answer was sent")
