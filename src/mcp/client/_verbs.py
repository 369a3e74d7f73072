"""The typed verbs of a session: what a client can ask a server, method by method."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeVar, overload

from pydantic import BaseModel

import mcp_types as types
from mcp._protocol.era import MODERN
from mcp._protocol.fields import dump
from mcp.client._claims import UnexpectedClaimedResult
from mcp.client._params import call_params, progress_params, prompt_params, uri_params, with_given_answers
from mcp.shared._deprecated import deprecated
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp_types import InputRequiredResult, RequestParamsMeta

ResultT = TypeVar("ResultT", bound=BaseModel)

LOGGING_DEPRECATED = "The logging capability is deprecated as of 2026-07-28 (SEP-2577)."
PING_REMOVED = "ping is removed as of 2026-07-28; the method only works under mode='legacy'."
ROOTS_DEPRECATED = "The roots capability is deprecated as of 2026-07-28 (SEP-2577)."
SUBSCRIBE_REMOVED = "resources/subscribe is removed as of 2026-07-28; use Client.listen() instead."
UNSUBSCRIBE_REMOVED = "resources/unsubscribe is removed as of 2026-07-28; use Client.listen() instead."
PROGRESS_DEPRECATED = "Client-to-server progress is deprecated as of 2026-07-28; progress is server-to-client only."


class SessionVerbs:
    """The verbs, on top of three ways to send."""

    async def _ask(
        self,
        method: str,
        params: dict[str, Any] | None,
        result_type: type[ResultT],
        meta: Mapping[str, Any] | None = None,
    ) -> ResultT:
        """Send a request whose result is final."""
        raise NotImplementedError

    async def _ask_open(
        self,
        method: str,
        params: dict[str, Any],
        result_type: type[ResultT],
        meta: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        progress_callback: ProgressFnT | None = None,
        *,
        by_hand: bool = False,
    ) -> ResultT | InputRequiredResult:
        """Send a request whose result may ask for input first.

        Args:
            method: The method.
            params: The params in wire form, without `_meta`.
            result_type: The model of the final result.
            meta: The caller's metadata.
            timeout: Seconds to wait for the answer, if not the session's.
            progress_callback: Receives the request's progress.
            by_hand: Whether the caller answers the questions itself.
        """
        raise NotImplementedError

    async def _notify(self, method: str, params: dict[str, Any] | None) -> None:
        """Send a notification."""
        raise NotImplementedError

    async def _list_tools(self, cursor: str | None, meta: Mapping[str, Any] | None) -> types.ListToolsResult:
        """Send `tools/list` and remember what it says about the tools."""
        raise NotImplementedError

    async def _call_tool(
        self,
        params: dict[str, Any],
        meta: Mapping[str, Any] | None,
        timeout: float | None,
        progress_callback: ProgressFnT | None,
        *,
        by_hand: bool = False,
    ) -> types.CallToolResult | InputRequiredResult:
        """Send `tools/call` with what is known about the tool."""
        raise NotImplementedError

    async def validate_tool_result(self, name: str, result: types.CallToolResult) -> None:
        """Check a result against the output schema that the server lists for the tool."""
        raise NotImplementedError

    async def list_tools(self, *, params: types.PaginatedRequestParams | None = None) -> types.ListToolsResult:
        """List one page of the server's tools, and remember how to check their output.

        Args:
            params: The cursor of the page and metadata.
        """
        if params is None:
            return await self._list_tools(None, None)
        return await self._list_tools(params.cursor, params.meta)

    async def list_prompts(self, *, params: types.PaginatedRequestParams | None = None) -> types.ListPromptsResult:
        """List one page of the server's prompts.

        Args:
            params: The cursor of the page and metadata.
        """
        return await self._ask("prompts/list", *_page(types.ListPromptsResult, params))

    async def list_resources(self, *, params: types.PaginatedRequestParams | None = None) -> types.ListResourcesResult:
        """List one page of the server's resources.

        Args:
            params: The cursor of the page and metadata.
        """
        return await self._ask("resources/list", *_page(types.ListResourcesResult, params))

    async def list_resource_templates(
        self, *, params: types.PaginatedRequestParams | None = None
    ) -> types.ListResourceTemplatesResult:
        """List one page of the server's resource templates.

        Args:
            params: The cursor of the page and metadata.
        """
        return await self._ask("resources/templates/list", *_page(types.ListResourceTemplatesResult, params))

    @overload
    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        read_timeout_seconds: float | None = None,
        progress_callback: ProgressFnT | None = None,
        *,
        input_responses: types.InputResponses | None = None,
        request_state: str | None = None,
        meta: RequestParamsMeta | None = None,
        allow_input_required: Literal[False] = False,
        allow_claimed: Literal[False] = False,
    ) -> types.CallToolResult: ...

    @overload
    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        read_timeout_seconds: float | None = None,
        progress_callback: ProgressFnT | None = None,
        *,
        input_responses: types.InputResponses | None = None,
        request_state: str | None = None,
        meta: RequestParamsMeta | None = None,
        allow_input_required: bool,
        allow_claimed: Literal[False] = False,
    ) -> types.CallToolResult | InputRequiredResult: ...

    @overload
    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        read_timeout_seconds: float | None = None,
        progress_callback: ProgressFnT | None = None,
        *,
        input_responses: types.InputResponses | None = None,
        request_state: str | None = None,
        meta: RequestParamsMeta | None = None,
        allow_input_required: bool = False,
        allow_claimed: bool,
    ) -> types.CallToolResult | InputRequiredResult | types.Result: ...

    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        read_timeout_seconds: float | None = None,
        progress_callback: ProgressFnT | None = None,
        *,
        input_responses: types.InputResponses | None = None,
        request_state: str | None = None,
        meta: RequestParamsMeta | None = None,
        allow_input_required: bool = False,
        allow_claimed: bool = False,
    ) -> types.CallToolResult | InputRequiredResult | types.Result:
        """Call a tool.

        Args:
            name: The tool.
            arguments: Its arguments.
            read_timeout_seconds: Seconds to wait for the answer, if not the session's.
            progress_callback: Receives the call's progress.
            input_responses: Answers to the questions of an earlier `InputRequiredResult`.
            request_state: The state of that result, unchanged.
            meta: Metadata for the request.
            allow_input_required: Return an `InputRequiredResult` instead of raising. The request then declares that
                its questions can be answered, whatever callbacks the session has.
            allow_claimed: Return the result of an extension that claims its shape instead of raising.

        Raises:
            UnexpectedClaimedResult: The result, which it has, is of a shape that an extension claims.
        """
        params = with_given_answers(call_params(name, arguments), input_responses, request_state)
        try:
            result = await self._call_tool(
                params, meta, read_timeout_seconds, progress_callback, by_hand=allow_input_required
            )
        except UnexpectedClaimedResult as claimed:
            if not allow_claimed:
                raise
            return claimed.result
        if isinstance(result, InputRequiredResult) and not allow_input_required:
            raise needs_input("call_tool")
        if isinstance(result, InputRequiredResult):
            return result
        await self.validate_tool_result(name, result)
        return result

    @overload
    async def get_prompt(
        self,
        name: str,
        arguments: dict[str, str] | None = None,
        *,
        input_responses: types.InputResponses | None = None,
        request_state: str | None = None,
        meta: RequestParamsMeta | None = None,
        allow_input_required: Literal[False] = False,
    ) -> types.GetPromptResult: ...

    @overload
    async def get_prompt(
        self,
        name: str,
        arguments: dict[str, str] | None = None,
        *,
        input_responses: types.InputResponses | None = None,
        request_state: str | None = None,
        meta: RequestParamsMeta | None = None,
        allow_input_required: bool,
    ) -> types.GetPromptResult | InputRequiredResult: ...

    async def get_prompt(
        self,
        name: str,
        arguments: dict[str, str] | None = None,
        *,
        input_responses: types.InputResponses | None = None,
        request_state: str | None = None,
        meta: RequestParamsMeta | None = None,
        allow_input_required: bool = False,
    ) -> types.GetPromptResult | InputRequiredResult:
        """Get a prompt, filled in.

        Args:
            name: The prompt.
            arguments: Its arguments.
            input_responses: Answers to the questions of an earlier `InputRequiredResult`.
            request_state: The state of that result, unchanged.
            meta: Metadata for the request.
            allow_input_required: Return an `InputRequiredResult` instead of raising.
        """
        params = with_given_answers(prompt_params(name, arguments), input_responses, request_state)
        result = await self._ask_open("prompts/get", params, types.GetPromptResult, meta, by_hand=allow_input_required)
        if isinstance(result, InputRequiredResult) and not allow_input_required:
            raise needs_input("get_prompt")
        return result

    @overload
    async def read_resource(
        self,
        uri: str,
        *,
        input_responses: types.InputResponses | None = None,
        request_state: str | None = None,
        meta: RequestParamsMeta | None = None,
        allow_input_required: Literal[False] = False,
    ) -> types.ReadResourceResult: ...

    @overload
    async def read_resource(
        self,
        uri: str,
        *,
        input_responses: types.InputResponses | None = None,
        request_state: str | None = None,
        meta: RequestParamsMeta | None = None,
        allow_input_required: bool,
    ) -> types.ReadResourceResult | InputRequiredResult: ...

    async def read_resource(
        self,
        uri: str,
        *,
        input_responses: types.InputResponses | None = None,
        request_state: str | None = None,
        meta: RequestParamsMeta | None = None,
        allow_input_required: bool = False,
    ) -> types.ReadResourceResult | InputRequiredResult:
        """Read a resource.

        Args:
            uri: The resource.
            input_responses: Answers to the questions of an earlier `InputRequiredResult`.
            request_state: The state of that result, unchanged.
            meta: Metadata for the request.
            allow_input_required: Return an `InputRequiredResult` instead of raising.
        """
        params = with_given_answers(uri_params(uri), input_responses, request_state)
        result = await self._ask_open(
            "resources/read", params, types.ReadResourceResult, meta, by_hand=allow_input_required
        )
        if isinstance(result, InputRequiredResult) and not allow_input_required:
            raise needs_input("read_resource")
        return result

    async def complete(
        self,
        ref: types.ResourceTemplateReference | types.PromptReference,
        argument: dict[str, str],
        context_arguments: dict[str, str] | None = None,
    ) -> types.CompleteResult:
        """Ask for completions of an argument of a prompt or a resource template.

        Args:
            ref: The prompt or the template.
            argument: The argument's `name` and the `value` typed so far.
            context_arguments: The other arguments that are known already.
        """
        context = None if context_arguments is None else types.CompletionContext(arguments=context_arguments)
        params = types.CompleteRequestParams(
            ref=ref, argument=types.CompletionArgument.model_validate(argument), context=context
        )
        return await self._ask("completion/complete", dump(params, MODERN), types.CompleteResult)

    async def send_ping(self, *, meta: RequestParamsMeta | None = None) -> types.EmptyResult:
        """Ask whether the server is there (handshake-era servers only)."""
        return await self._ask("ping", None, types.EmptyResult, meta)

    @deprecated(LOGGING_DEPRECATED, category=MCPDeprecationWarning)
    async def set_logging_level(
        self, level: types.LoggingLevel, *, meta: RequestParamsMeta | None = None
    ) -> types.EmptyResult:
        """Set the least severe level to receive (handshake-era servers only)."""
        return await self._ask("logging/setLevel", {"level": level}, types.EmptyResult, meta)

    @deprecated(SUBSCRIBE_REMOVED, category=MCPDeprecationWarning)
    async def subscribe_resource(self, uri: str, *, meta: RequestParamsMeta | None = None) -> types.EmptyResult:
        """Subscribe to a resource's changes (handshake-era servers only)."""
        return await self._ask("resources/subscribe", uri_params(uri), types.EmptyResult, meta)

    @deprecated(UNSUBSCRIBE_REMOVED, category=MCPDeprecationWarning)
    async def unsubscribe_resource(self, uri: str, *, meta: RequestParamsMeta | None = None) -> types.EmptyResult:
        """Unsubscribe from a resource's changes (handshake-era servers only)."""
        return await self._ask("resources/unsubscribe", uri_params(uri), types.EmptyResult, meta)

    @deprecated(PROGRESS_DEPRECATED, category=MCPDeprecationWarning)
    async def send_progress_notification(
        self,
        progress_token: str | int,
        progress: float,
        total: float | None = None,
        message: str | None = None,
        *,
        meta: RequestParamsMeta | None = None,
    ) -> None:
        """Report progress to the server (handshake-era servers only)."""
        await self._notify("notifications/progress", progress_params(progress_token, progress, total, message, meta))

    @deprecated(ROOTS_DEPRECATED, category=MCPDeprecationWarning)
    async def send_roots_list_changed(self) -> None:
        """Tell the server that the roots have changed (handshake-era servers only)."""
        await self._notify("notifications/roots/list_changed", None)


def _page(
    result_type: type[ResultT], params: types.PaginatedRequestParams | None
) -> tuple[dict[str, Any] | None, type[ResultT], Mapping[str, Any] | None]:
    if params is None:
        return None, result_type, None
    return ({} if params.cursor is None else {"cursor": params.cursor}), result_type, params.meta


def needs_input(verb: str) -> RuntimeError:
    """The error for a result that asks for input where the caller wants a final one."""
    return RuntimeError(
        "Server returned InputRequiredResult; pass allow_input_required=True to receive it and retry "
        f"{verb}(..., input_responses=..., request_state=result.request_state)."
    )
