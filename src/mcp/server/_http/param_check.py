"""Whether the `Mcp-Param-*` headers of a tool call agree with its arguments (streamable-http: Custom Headers)."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

import mcp_types as types
from mcp._engine.scope import RequestScope
from mcp._protocol.http_request import ModernRequest
from mcp._protocol.param_headers import compare, find_invalid_x_mcp_header, header_map
from mcp.server._handle import HandlerTable
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession

logger = logging.getLogger(__name__)

HeaderMap = dict[tuple[str, ...], str]
SchemaLookup = Callable[[str], Mapping[str, Any] | None]

_LISTING_LIFETIME = 60.0  # seconds; a listing is also made anew whenever it would refuse a call
_MAX_PAGES = 1000

_NO_HEADERS: HeaderMap = {}


class ParamHeaderCheck:
    """Compares parameter headers with arguments.

    Args:
        server: Whose tools are called. If it cannot look a schema up by name, its tools are listed and the listing is
            kept for a while.
        get_tool_input_schema: Looks a tool's input schema up by name.
    """

    def __init__(self, server: HandlerTable, get_tool_input_schema: SchemaLookup | None) -> None:
        self._server = server
        self._look_up = get_tool_input_schema
        # By identity of the schema, which stays referenced here, so that an id is not used twice.
        self._maps: dict[int, tuple[Mapping[str, Any], HeaderMap]] = {}
        self._warned: set[str] = set()
        self._listed: dict[str, HeaderMap] | None = None
        self._listed_by: object = None
        self._listed_until = 0.0

    def forget_listing(self) -> None:
        """Make the next call list the tools again."""
        self._listed = None

    async def mismatch(self, request: ModernRequest, scope: RequestScope) -> str | None:
        """Say what disagrees; `None` if nothing does.

        Args:
            request: A `tools/call`.
            scope: The scope it is served under.
        """
        name = request.params.get("name")
        arguments = request.params.get("arguments")
        if not isinstance(name, str) or not (arguments or request.param_headers):
            return None
        values = cast("dict[str, Any]", arguments) if isinstance(arguments, dict) else {}
        if self._look_up is not None:
            schema = self._look_up(name)
            headers = self._map_of(name, schema) if schema is not None else _NO_HEADERS
            return compare(headers, values, request.param_headers) if headers else None
        return await self._mismatch_by_listing(name, values, request, scope)

    async def _mismatch_by_listing(
        self, name: str, values: dict[str, Any], request: ModernRequest, scope: RequestScope
    ) -> str | None:
        entry = self._server.get_request_handler("tools/list")
        if entry is None:
            return None
        fresh = False
        if self._listed is None or self._listed_by is not entry.handler or time.monotonic() > self._listed_until:
            self._listed = await self._list(entry.handler, scope)
            self._listed_by = entry.handler
            self._listed_until = time.monotonic() + _LISTING_LIFETIME
            fresh = True
        listed = self._listed
        headers = listed.get(name)
        text = compare(headers, values, request.param_headers) if headers else None
        # A client that mirrors what the listing does not, or otherwise than it does, may have seen a newer one.
        outdated = text is not None or (not headers and bool(request.param_headers))
        if fresh or not outdated:
            return text
        self._listed = None
        return await self._mismatch_by_listing(name, values, request, scope)

    async def _list(self, handler: Callable[..., Awaitable[Any]], scope: RequestScope) -> dict[str, HeaderMap]:
        listed: dict[str, HeaderMap] = {}
        cursor: str | None = None
        for _ in range(_MAX_PAGES):
            params = types.PaginatedRequestParams(cursor=cursor)
            ctx: ServerRequestContext[Any, Any] = ServerRequestContext(
                session=ServerSession(scope),
                lifespan_context=scope.lifespan_context,
                protocol_version=scope.version,
                method="tools/list",
                params={} if cursor is None else {"cursor": cursor},
                request_id=scope.request_id,
                request=scope.request,
            )
            result = types.ListToolsResult.model_validate(await handler(ctx, params))
            for tool in result.tools:
                listed[tool.name] = self._read(tool.name, tool.input_schema)
            cursor = result.next_cursor
            if not cursor:
                break
        return listed

    def _map_of(self, name: str, schema: Mapping[str, Any]) -> HeaderMap:
        known = self._maps.get(id(schema))
        if known is not None and known[0] is schema:
            return known[1]
        headers = self._read(name, schema)
        if len(self._maps) > 10_000:  # a lookup that builds its schemas anew each time
            self._maps.clear()
        self._maps[id(schema)] = (schema, headers)
        return headers

    def _read(self, name: str, schema: Mapping[str, Any]) -> HeaderMap:
        reason = find_invalid_x_mcp_header(schema)
        if reason is None:
            return header_map(schema)
        if name not in self._warned:
            self._warned.add(name)
            logger.warning("The parameter headers of the tool %r are not checked: %s", name, reason)
        return _NO_HEADERS
