"""One inbound message: decode, middleware, handler, encode; and the one place where failures become errors."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Mapping
from typing import Any, Final, Protocol, cast

from pydantic import ValidationError

import mcp_types as types
from mcp._engine.faults import is_fault
from mcp._engine.scope import RequestScope
from mcp._protocol.codec import InvalidHandlerResult, WireResult, decode_params, encode_result
from mcp._protocol.era import LEGACY, MODERN, Era, defines_notification, defines_request
from mcp._protocol.errors import invalid_params, method_not_found, to_error
from mcp.server._asking import (
    check_input_requests,
    legacy_url_elicitation,
    url_elicitation_to_input_required,
)
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from mcp.server.lowlevel.entries import HandlerEntry
from mcp.server.lowlevel.handlers import LegacyInput
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError, UrlElicitationRequiredError
from mcp_types import INTERNAL_ERROR, SERVER_INFO_META_KEY, URL_ELICITATION_REQUIRED
from mcp_types.methods import INPUT_REQUIRED_METHODS

logger = logging.getLogger(__name__)

_NO_HINT: Final = CacheHint()


class HandlerTable(Protocol):
    """What handling a message needs of a server."""

    middleware: list[ServerMiddleware[Any]]

    @property
    def legacy_input(self) -> LegacyInput: ...
    @property
    def cache_hints(self) -> Mapping[str, CacheHint]: ...
    @property
    def server_info_stamp(self) -> dict[str, Any]: ...
    @property
    def chain(self) -> Chain: ...
    def get_request_handler(self, method: str) -> HandlerEntry[Any] | None: ...
    def get_notification_handler(self, method: str) -> HandlerEntry[Any] | None: ...


class Chain:
    """A server's middleware around its handlers, composed once for each content of the list.

    Args:
        server: The server; its `middleware` list is live: a change applies to the next message.
    """

    def __init__(self, server: HandlerTable) -> None:
        self._server = server
        self._composed_from: list[ServerMiddleware[Any]] = []
        self._composed: CallNext = self._dispatch

    def __call__(self, ctx: ServerRequestContext[Any, Any]) -> Awaitable[HandlerResult]:
        """Run the whole chain for one message."""
        if self._composed_from != self._server.middleware:
            self._compose()
        return self._composed(ctx)

    def _compose(self) -> None:
        self._composed_from = list(self._server.middleware)
        call: CallNext = self._dispatch
        for middleware in reversed(self._composed_from):
            call = _around(middleware, call)
        self._composed = call

    def _dispatch(self, ctx: ServerRequestContext[Any, Any]) -> Awaitable[HandlerResult]:
        if ctx.session.scope.request_id is None:
            return self._run_notification_handler(ctx)
        return self._run_handler(ctx)

    async def _run_handler(self, ctx: ServerRequestContext[Any, Any]) -> HandlerResult:
        method = ctx.method
        entry = self._server.get_request_handler(method)
        if entry is None or not defines_request(method, ctx.protocol_version):
            raise method_not_found(method)
        scope = ctx.session.scope
        try:
            params = decode_params(entry.params_type, _with_metadata(ctx.params, scope))
        except ValidationError as error:
            scope.invalid_params = error
            raise
        if scope.spend_state is not None:
            # After every other check: a request that is refused for another reason leaves its state good for one more.
            await scope.spend_state()
            scope.spend_state = None
        try:
            result = await entry.handler(ctx, params)
        except UrlElicitationRequiredError as error:
            if scope.era is not MODERN:
                raise
            result = url_elicitation_to_input_required(
                error, scope.client.capabilities, method=method, params=ctx.params
            )
        if scope.era is not MODERN and self._server.legacy_input == "bridge" and _may_ask(method, result):
            result = await self._bridge(entry, ctx, result)
        if scope.handshake is not None and isinstance(params, types.SetLevelRequestParams):
            scope.handshake.log_level = params.level
        return self.encode(ctx, result)

    async def _bridge(self, entry: HandlerEntry[Any], ctx: ServerRequestContext[Any, Any], result: object) -> object:
        from mcp.server._bridge import answer_live

        async def call(again: ServerRequestContext[Any, Any]) -> object:
            params = decode_params(entry.params_type, _with_metadata(again.params, again.session.scope))
            return _questions_or_result(again.method, await entry.handler(again, params))

        return await answer_live(call, ctx, _questions_or_result(ctx.method, result))

    async def _run_notification_handler(self, ctx: ServerRequestContext[Any, Any]) -> HandlerResult:
        method = ctx.method
        entry = self._server.get_notification_handler(method)
        if entry is None or not defines_notification(method, ctx.protocol_version):
            logger.debug("Dropping the notification %r: nothing handles it", method)
            return None
        try:
            params = decode_params(entry.params_type, _with_metadata(ctx.params, ctx.session.scope))
        except ValidationError as error:
            fields = [".".join(map(str, problem["loc"])) for problem in error.errors(include_input=False)]
            logger.warning("Dropping the notification %r: invalid params %s", method, fields)
            return None
        await entry.handler(ctx, params)
        return None

    def encode(self, ctx: ServerRequestContext[Any, Any], result: object) -> dict[str, Any]:
        """Write a result for the wire, refusing questions that the client did not declare it can answer."""
        scope = ctx.session.scope
        result = _questions_or_result(ctx.method, result)
        if isinstance(result, types.InputRequiredResult) and scope.era is MODERN:
            check_input_requests(result, scope.client.capabilities)
        hint = self._server.cache_hints.get(ctx.method, _NO_HINT)
        return encode_result(
            ctx.method,
            cast("object", result),
            scope.era,
            stamp=self._server.server_info_stamp,
            ttl_ms=hint.ttl_ms,
            cache_scope=hint.scope,
        )


def _around(middleware: ServerMiddleware[Any], call_next: CallNext) -> CallNext:
    # No coroutine of its own: a middleware costs exactly its own frame.
    return lambda ctx: middleware(ctx, call_next)


def _with_metadata(params: Mapping[str, Any] | None, scope: RequestScope) -> Mapping[str, Any] | None:
    """Give params that a middleware wrote the metadata of the message they replace."""
    if params is scope.params or (params is not None and "_meta" in params) or scope.meta is None:
        return params
    return {**(params or {}), "_meta": scope.meta}


def _may_ask(method: str, result: object) -> bool:
    return method in INPUT_REQUIRED_METHODS and isinstance(result, (types.InputRequiredResult, dict))


def _questions_or_result(method: str, result: object) -> object:
    """Read a handler's dict if it asks something; anything else is passed on."""
    if not isinstance(result, dict) or isinstance(result, WireResult):
        return result
    if cast("dict[str, Any]", result).get("resultType") != "input_required":
        return cast("dict[str, Any]", result)
    try:
        return types.InputRequiredResult.model_validate(result)
    except ValidationError as error:
        raise InvalidHandlerResult(f"no InputRequiredResult for {method!r}: {error.error_count()} problems") from None


async def handle_request(server: HandlerTable, scope: RequestScope) -> dict[str, Any]:
    """Handle one request and return its finished result in wire form.

    Raises:
        MCPError: The request is answered with this error. Nothing else but cancellation leaves this function.
    """
    ctx = context_of(scope)
    try:
        result = await server.chain(ctx)
        if isinstance(result, dict) and _is_finished(result, scope.era):
            return result
        # What a middleware returned in place of a handler is written like a handler's own.
        return server.chain.encode(ctx, result)
    except BaseException as error:
        if not is_fault(error):
            raise
        answer = _reported(error, scope)
        if answer is error:
            raise
        raise answer from (error if scope.raise_exceptions and not isinstance(error, MCPError) else None)
    finally:
        scope.finished = True


async def handle_notification(server: HandlerTable, scope: RequestScope) -> None:
    """Handle one notification. It is never answered, so a failure only reaches the log."""
    try:
        await server.chain(context_of(scope))
    except BaseException as error:
        if not is_fault(error):
            raise
        logger.exception("handler for %r raised", scope.method)
    finally:
        scope.finished = True


def _is_finished(result: dict[str, Any], era: Era) -> bool:
    """Whether a result can be the work of `Chain.encode`, so that it is sent as it is."""
    if result.get("resultType") == "input_required":
        # One that a middleware made is not checked yet; a handler's bears the stamp. Legacy revisions know neither.
        return era is MODERN and SERVER_INFO_META_KEY in (result.get("_meta") or ())
    return era is not MODERN or "resultType" in result


def context_of(scope: RequestScope) -> ServerRequestContext[Any, Any]:
    """Make what handlers and middleware receive for a message."""
    return ServerRequestContext(
        session=ServerSession(scope, None),
        lifespan_context=scope.lifespan_context,
        protocol_version=scope.version,
        method=scope.method,
        params=scope.params,
        request_id=scope.request_id,
        meta=_handler_meta(scope.meta),
        request=scope.request,
        close_sse_stream=scope.close_stream,
        close_standalone_sse_stream=scope.close_channel,
    )


def _handler_meta(meta: dict[str, Any] | None) -> types.RequestParamsMeta | None:
    if meta is not None and "progressToken" in meta:
        meta = {"progress_token" if key == "progressToken" else key: value for key, value in meta.items()}
    return cast("types.RequestParamsMeta | None", meta)


def _reported(error: BaseException, scope: RequestScope) -> MCPError:
    """Log what the peer is not told, and return what it is told."""
    if error is scope.invalid_params:
        return invalid_params(cast("ValidationError", error))
    if isinstance(error, InvalidHandlerResult):
        logger.error("handler for %r returned an invalid result: %s", scope.method, error.reason)
    elif not isinstance(error, MCPError):
        logger.error("handler for %r raised", scope.method, exc_info=error)
    elif error.code == URL_ELICITATION_REQUIRED:
        # Only legacy revisions know it, and only with the URLs to visit.
        return legacy_url_elicitation(error) if scope.era is LEGACY else MCPError(INTERNAL_ERROR, error.message)
    return to_error(error, show=scope.raise_exceptions)
