"""`Client`: connect to a server, whatever and wherever it is, and use it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import KW_ONLY, dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar, cast, overload

import anyio
from pydantic import BaseModel
from typing_extensions import Self

import mcp_types as types
from mcp._engine.link import Link
from mcp._protocol.metadata import LOG_LEVELS
from mcp.client._cached import Asking, CachedAnswers, ListVerb, check_cache_mode
from mcp.client._claims import UnexpectedClaimedResult
from mcp.client._connect import (
    ASGIApp,
    InProcessServer,
    Way,
    assumed_discovery,
    check_mode,
    check_target,
    open_target,
)
from mcp.client._extensions import Folded, fold
from mcp.client._http.backend import TransportFailure
from mcp.client._input_required import Send, answer_rounds
from mcp.client._pages import AllPages
from mcp.client._params import call_params, progress_params, prompt_params, uri_params, with_given_answers
from mcp.client._transport import Transport
from mcp.client._verbs import (
    LOGGING_DEPRECATED,
    PING_REMOVED,
    PROGRESS_DEPRECATED,
    ROOTS_DEPRECATED,
    SUBSCRIBE_REMOVED,
    UNSUBSCRIBE_REMOVED,
)
from mcp.client.caching import CacheConfig, CacheMode, CacheStats
from mcp.client.extension import ClientExtension
from mcp.client.session import (
    ClientSession,
    ElicitationFnT,
    ListRootsFnT,
    LoggingFnT,
    MessageHandlerFnT,
    SamplingFnT,
)
from mcp.client.subscriptions import Subscription, listen
from mcp.client.watch import DEFAULT_MAX_RETRIES, DEFAULT_MAX_RETRY_DELAY, DEFAULT_RETRY_DELAY, Watch, watch
from mcp.shared._deprecated import deprecated
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp_types import InputRequiredResult, RequestParamsMeta
from mcp_types.jsonrpc import REQUEST_TIMEOUT
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

if TYPE_CHECKING:
    from mcp.client._durable import Sender
    from mcp.client.pending import CallResult, PendingCall, PendingCalls
    from mcp.client.stdio import StdioServerParameters

__all__ = ["DEFAULT_INPUT_REQUIRED_MAX_ROUNDS", "CacheMode", "Client", "ConnectMode"]

DEFAULT_INPUT_REQUIRED_MAX_ROUNDS: Final = 10

ConnectMode: TypeAlias = Literal["auto", "legacy"] | str
"""`"auto"`, `"legacy"`, or a protocol version without a handshake to speak without asking."""

_NOT_NEGATIVE = ("read_timeout_seconds", "total_timeout_seconds", "input_required_timeout", "input_required_max_rounds")

ResultT = TypeVar("ResultT", bound=BaseModel)
PageT = TypeVar("PageT", bound=types.CacheableResult)


@dataclass
class Client(AllPages):
    """A client of one MCP server.

    ```python
    async with Client("https://example.com/mcp") as client:
        result = await client.call_tool("search", {"query": "weather"})
    ```

    Args:
        server: A server object of this process, the URL of an MCP endpoint, `StdioServerParameters` that say how to
            start a server as a child process, or a transport: any async context manager that yields a pair of message
            streams.
        raise_exceptions: Show the text and the cause of a server object's unexpected exceptions.
        read_timeout_seconds: Seconds to wait for each answer; `None` for any time.
        sampling_callback: Answers questions to a model.
        sampling_capabilities: Refines what `sampling_callback` declares.
        list_roots_callback: Lists the roots.
        logging_callback: Receives the server's log messages, if `log_level` asks for any.
        log_level: The least severe log message to ask for.
        message_handler: Receives every notification, and faults of the transport.
        client_info: Who this client is.
        mode: `"auto"` asks the server which protocol version to speak and falls back to the handshake of older
            versions; `"legacy"` begins with that handshake; a version is spoken without asking.
        prior_discover: With a version as `mode`: what the server answered to `server/discover` earlier.
        elicitation_callback: Answers questions to the user.
        input_required_max_rounds: How often a call may be sent again with answers or state; 0 answers nothing.
        extensions: The client's extensions.
        cache: How lists and resources are kept for as long as the server allows (`cache_mode=` of their verbs); by
            default in memory, for this client alone. `None` asks the server every time.
        elicitation_capabilities: Refines what `elicitation_callback` declares.
        input_required_timeout: Seconds for a whole call, with all its rounds and answers; `None` for any time.
        reset_timeout_on_progress: Whether progress starts a request's timeout anew.
        total_timeout_seconds: Seconds for one request whatever its progress; `None` for any time.
        tracing: Whether requests have spans, where the application traces with OpenTelemetry.
        validate_results: Whether results are checked against the output schemas that the server lists for its tools.

        transport: How a server object of this process is reached: `"memory"` calls it directly, `"http"` goes through
            its web application (`streamable_http_app()`, or such an application in place of the server) without a
            port, so that headers, sessions and streams are those of a deployed server.

    Raises:
        TypeError: `server` is nothing to connect to.
        ValueError: A value is out of range.
    """

    server: InProcessServer | StdioServerParameters | Transport | ASGIApp | str
    _: KW_ONLY
    raise_exceptions: bool = False
    read_timeout_seconds: float | None = None
    sampling_callback: SamplingFnT | None = None
    sampling_capabilities: types.SamplingCapability | None = None
    list_roots_callback: ListRootsFnT | None = None
    logging_callback: LoggingFnT | None = None
    log_level: types.LoggingLevel | None = None
    message_handler: MessageHandlerFnT | None = None
    client_info: types.Implementation | None = None
    mode: ConnectMode = "auto"
    prior_discover: types.DiscoverResult | None = None
    elicitation_callback: ElicitationFnT | None = None
    input_required_max_rounds: int = DEFAULT_INPUT_REQUIRED_MAX_ROUNDS
    extensions: Sequence[ClientExtension] | None = None
    cache: CacheConfig | None = field(default_factory=CacheConfig)
    elicitation_capabilities: types.ElicitationCapability | None = None
    input_required_timeout: float | None = None
    reset_timeout_on_progress: bool = True
    total_timeout_seconds: float | None = None
    tracing: bool = True
    validate_results: bool = True
    transport: Way = "memory"
    _connecting: ClientSession | None = field(default=None, init=False, repr=False)
    _session: ClientSession | None = field(default=None, init=False, repr=False)
    _entered: bool = field(default=False, init=False, repr=False)
    _folded: Folded | None = field(default=None, init=False, repr=False)
    _cached: CachedAnswers = field(init=False, repr=False)
    _exit_stack: AsyncExitStack = field(default_factory=AsyncExitStack, init=False, repr=False)

    def __post_init__(self) -> None:
        check_mode(self.mode)
        for name in _NOT_NEGATIVE:
            value = getattr(self, name)
            if value is not None and not value >= 0:  # NaN is refused, too
                raise ValueError(f"{name} must be 0 or more, got {value!r}")
        if self.log_level is not None and self.log_level not in LOG_LEVELS:
            raise ValueError(f"log_level must be one of {list(LOG_LEVELS)}, got {self.log_level!r}")
        check_target(self.server, self.transport)
        self._cached = CachedAnswers(self.cache, self.server, self._negotiated_version)
        self._folded = None if self.extensions is None else fold(self.extensions)

    async def __aenter__(self) -> Self:
        if self._entered:
            raise RuntimeError("Client is already entered; cannot reenter")
        self._entered = True
        try:
            link = await self._exit_stack.enter_async_context(
                open_target(self.server, self.mode, self.transport, self.raise_exceptions, self._report)
            )
            self._connecting = await self._exit_stack.enter_async_context(self._make_session(link))
            await self._negotiate(self._connecting)
        except BaseException as error:
            await self._exit_stack.__aexit__(type(error), error, error.__traceback__)
            raise
        self._session = self._connecting
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        self._session = None
        await self._exit_stack.__aexit__(exc_type, exc_val, exc_tb)

    async def _report(self, fault: Exception) -> None:
        if self._connecting is not None:
            await self._connecting._notifications.fault(fault)

    def _negotiated_version(self) -> str | None:
        return None if self._connecting is None else self._connecting.protocol_version

    def _make_session(self, link: Link) -> ClientSession:
        folded = self._folded
        session = ClientSession(
            None,
            None,
            self.read_timeout_seconds,
            self.sampling_callback,
            self.elicitation_callback,
            self.list_roots_callback,
            self.logging_callback,
            self.message_handler,
            self.client_info,
            log_level=self.log_level,
            sampling_capabilities=self.sampling_capabilities,
            extensions=None if folded is None else folded.settings,
            result_claims=None if folded is None else folded.claims,
            notification_bindings=None if folded is None else folded.bindings,
            link=link,
            elicitation_capabilities=self.elicitation_capabilities,
            reset_timeout_on_progress=self.reset_timeout_on_progress,
            total_timeout_seconds=self.total_timeout_seconds,
            tracing=self.tracing,
        )
        if self.cache is not None:
            session._notifications.on_change = self._cached.evict
        return session

    async def _negotiate(self, session: ClientSession) -> None:
        if self.mode in MODERN_PROTOCOL_VERSIONS:
            session.adopt(self.prior_discover or assumed_discovery(self.mode))
            return
        try:
            suspected = await session._climb(legacy=self.mode == "legacy")
        except TransportFailure as error:
            if error.connect_error is None:
                raise
            raise error.connect_error from error.connect_error.__cause__
        if suspected is not None:
            raise suspected.error()

    @property
    def session(self) -> ClientSession:
        """The session underneath, for what a verb of the client does not offer."""
        if self._session is None:
            raise RuntimeError("Client must be used within an async context manager")
        return self._session

    @property
    def protocol_version(self) -> str:
        """The negotiated protocol version."""
        return cast("str", self.session.protocol_version)

    @property
    def era(self) -> Literal["modern", "legacy"]:
        """The era of that version: modern (each request stands alone) or legacy (a handshake opens a session)."""
        return cast('Literal["modern", "legacy"]', self.session.era)

    @property
    def server_info(self) -> types.Implementation | None:
        """Who the server says it is; `None` if it does not say."""
        return self.session.server_info

    @property
    def server_capabilities(self) -> types.ServerCapabilities:
        """What the server says it can do."""
        return self.session.server_capabilities or types.ServerCapabilities()

    @property
    def instructions(self) -> str | None:
        """How the server wants to be used; `None` if it does not say."""
        return self.session.instructions

    @property
    def cache_stats(self) -> CacheStats:
        """How many calls the response cache has answered so far, and how many it could not."""
        return self._cached.stats

    async def list_tools(
        self, *, cursor: str | None = None, meta: RequestParamsMeta | None = None, cache_mode: CacheMode = "use"
    ) -> types.ListToolsResult:
        """List one page of the server's tools.

        Args:
            cursor: The page; the first one by default.
            meta: Metadata for the request.
            cache_mode: `"use"` lets the response cache answer, `"refresh"` asks the server and keeps the answer,
                `"bypass"` asks and leaves the cache as it is. Only first pages are kept. `meta` makes `"use"` a
                `"refresh"`.

        Raises:
            MCPError: The server answered an error, or there was no answer.
            ValueError: `cache_mode` is none of these.
        """
        session = self.session

        def learn(page: types.ListToolsResult) -> None:
            session._learn_tools(page, whole=page.next_cursor is None)

        return await self._list("tools/list", session.list_tools, cursor, meta, cache_mode, learn)

    async def list_prompts(
        self, *, cursor: str | None = None, meta: RequestParamsMeta | None = None, cache_mode: CacheMode = "use"
    ) -> types.ListPromptsResult:
        """List one page of the server's prompts; arguments as in `list_tools`."""
        return await self._list("prompts/list", self.session.list_prompts, cursor, meta, cache_mode)

    async def list_resources(
        self, *, cursor: str | None = None, meta: RequestParamsMeta | None = None, cache_mode: CacheMode = "use"
    ) -> types.ListResourcesResult:
        """List one page of the server's resources; arguments as in `list_tools`."""
        return await self._list("resources/list", self.session.list_resources, cursor, meta, cache_mode)

    async def list_resource_templates(
        self, *, cursor: str | None = None, meta: RequestParamsMeta | None = None, cache_mode: CacheMode = "use"
    ) -> types.ListResourceTemplatesResult:
        """List one page of the server's resource templates; arguments as in `list_tools`."""
        return await self._list(
            "resources/templates/list", self.session.list_resource_templates, cursor, meta, cache_mode
        )

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
    ) -> types.CallToolResult:
        """Call a tool, answering with the callbacks what the server asks on the way.

        Args:
            name: The tool.
            arguments: Its arguments.
            read_timeout_seconds: Seconds to wait for each answer, if not the client's.
            progress_callback: Receives the call's progress.
            input_responses: Answers to the questions of an earlier `InputRequiredResult`.
            request_state: The state of that result, unchanged.
            meta: Metadata for each request.

        Raises:
            MCPError: The server answered an error, there was no answer, or a callback refused.
            InputRequiredRoundsExceededError: The server kept asking.
            InvalidToolResultError: The result, which it has, does not fit the tool's output schema.
        """
        session = self.session
        params = with_given_answers(call_params(name, arguments), input_responses, request_state)

        def send(params: dict[str, Any]) -> Awaitable[types.CallToolResult | InputRequiredResult]:
            return self._call_tool(params, meta, read_timeout_seconds, progress_callback)

        result = await self._send_with_input(send, params)
        if self.validate_results:
            await session.validate_tool_result(name, result)
        return result

    async def get_prompt(
        self,
        name: str,
        arguments: dict[str, str] | None = None,
        *,
        input_responses: types.InputResponses | None = None,
        request_state: str | None = None,
        meta: RequestParamsMeta | None = None,
    ) -> types.GetPromptResult:
        """Get a prompt, filled in, answering with the callbacks what the server asks on the way.

        Args:
            name: The prompt.
            arguments: Its arguments.
            input_responses: Answers to the questions of an earlier `InputRequiredResult`.
            request_state: The state of that result, unchanged.
            meta: Metadata for each request.
        """
        session = self.session
        params = with_given_answers(prompt_params(name, arguments), input_responses, request_state)
        return await self._send_with_input(
            lambda params: session._ask_open("prompts/get", params, types.GetPromptResult, meta), params
        )

    async def read_resource(
        self,
        uri: str,
        *,
        input_responses: types.InputResponses | None = None,
        request_state: str | None = None,
        meta: RequestParamsMeta | None = None,
        cache_mode: CacheMode = "use",
    ) -> types.ReadResourceResult:
        """Read a resource, answering with the callbacks what the server asks on the way.

        Args:
            uri: The resource.
            input_responses: Answers to the questions of an earlier `InputRequiredResult`.
            request_state: The state of that result, unchanged.
            meta: Metadata for each request.
            cache_mode: As in `list_tools`. What took questions to answer is not kept.
        """
        session = self.session
        params = with_given_answers(uri_params(uri), input_responses, request_state)

        async def fetch(asking: Asking) -> types.ReadResourceResult:
            async def send(params: dict[str, Any]) -> types.ReadResourceResult | InputRequiredResult:
                result = await session._ask_open("resources/read", params, types.ReadResourceResult, meta)
                if isinstance(result, InputRequiredResult):
                    asking.keep_nothing()
                return result

            return await self._send_with_input(send, params)

        if input_responses is not None or request_state is not None:
            check_cache_mode(cache_mode)
            cache_mode = "bypass"
        return await self._cached.answer("resources/read", params["uri"], fetch, cache_mode, has_meta=meta is not None)

    @overload
    async def begin(
        self,
        verb: Literal["call_tool"],
        target: str,
        arguments: dict[str, Any] | None = None,
        *,
        store: PendingCalls | None = None,
        deadline_seconds: float | None = None,
    ) -> types.CallToolResult | PendingCall: ...

    @overload
    async def begin(
        self,
        verb: Literal["get_prompt"],
        target: str,
        arguments: dict[str, str] | None = None,
        *,
        store: PendingCalls | None = None,
        deadline_seconds: float | None = None,
    ) -> types.GetPromptResult | PendingCall: ...

    @overload
    async def begin(
        self,
        verb: Literal["read_resource"],
        target: str,
        *,
        store: PendingCalls | None = None,
        deadline_seconds: float | None = None,
    ) -> types.ReadResourceResult | PendingCall: ...

    async def begin(
        self,
        verb: Literal["call_tool", "get_prompt", "read_resource"],
        target: str,
        arguments: dict[str, Any] | None = None,
        *,
        store: PendingCalls | None = None,
        deadline_seconds: float | None = None,
    ) -> CallResult | PendingCall:
        """Begin a call whose questions are answered later, by whoever can: no callback answers them.

        On connections of an older revision there are no pending calls: the server asks the callbacks.

        Args:
            verb: What to do.
            target: The name of the tool or the prompt, or the URI of the resource.
            arguments: The arguments.
            store: Keeps the call from before it is sent, so that it is known even if this process dies.
            deadline_seconds: How long the call may wait, on this side; then a store forgets it. By default for ever.

        Returns:
            The result; or the call with the server's questions, for `resume`.

        Raises:
            MCPError: The server answered an error, or there was no answer.
        """
        from mcp.client._durable import begin

        return await begin(self._sender(), verb, target, arguments, store, deadline_seconds)

    async def resume(
        self,
        call: PendingCall,
        responses: Mapping[str, types.InputResponse] | None = None,
        *,
        store: PendingCalls | None = None,
        retry: bool = False,
    ) -> CallResult | PendingCall:
        """Go on with a call that `begin` or an earlier `resume` returned, in this or another process.

        With a store, one worker at a time sends the call, and what became of it is written down before and after. A
        call that has an outcome already returns or raises it.

        Args:
            call: The call.
            responses: The answers, by the keys of the questions. Without any, those that were sent last are sent again.
            store: Where the call is kept.
            retry: Whether to send what may have been sent before, or what failed.

        Returns:
            The result; or the call with further questions.

        Raises:
            PendingCallBusy: Another worker sends the call, or it has gone on.
            PendingCallUncertain: It was sent, and nobody knows what became of it; `retry=True` sends it again.
            PendingCallGone: The store does not know it any more.
            MCPError: The server answered an error, or there was no answer.
            ValueError: The call belongs elsewhere, or an answer to no question.
        """
        from mcp.client._durable import resume

        return await resume(self._sender(), call, responses, store, retry)

    def _sender(self) -> Sender:
        from mcp.client._durable import Sender

        return Sender(self.session, self._call_tool, self.input_required_max_rounds, self.validate_results)

    async def _call_tool(
        self,
        params: dict[str, Any],
        meta: RequestParamsMeta | None = None,
        timeout: float | None = None,
        progress_callback: ProgressFnT | None = None,
        *,
        by_hand: bool = False,
    ) -> types.CallToolResult | InputRequiredResult:
        """Send one round of a call; a result that an extension claims is turned into a tool's."""
        session = self.session
        try:
            return await session._call_tool(params, meta, timeout, progress_callback, by_hand=by_hand)
        except UnexpectedClaimedResult as claimed:
            if self._folded is None:
                raise
            return await self._folded.resolve(claimed, session, params["name"], timeout)

    async def _list(
        self,
        method: str,
        ask: ListVerb[PageT],
        cursor: str | None,
        meta: RequestParamsMeta | None,
        mode: CacheMode,
        on_hit: Callable[[PageT], None] | None = None,
    ) -> PageT:
        """List one page; only the first one may come from the cache."""

        def fetch(_: Asking) -> Awaitable[PageT]:
            return ask(params=_page(cursor, meta))

        if cursor is not None:
            return await self._cached.continue_list(method, fetch, mode)
        return await self._cached.answer(method, "", fetch, mode, has_meta=meta is not None, on_hit=on_hit)

    async def _send_with_input(self, send: Send[ResultT], params: dict[str, Any]) -> ResultT:
        if self.input_required_timeout is not None:
            return await self._send_in_time(send, params, self.input_required_timeout)
        result = await send(params)
        if not isinstance(result, InputRequiredResult):
            return result
        return await answer_rounds(self.session, send, params, result, self.input_required_max_rounds)

    async def _send_in_time(self, send: Send[ResultT], params: dict[str, Any], seconds: float) -> ResultT:
        with anyio.move_on_after(seconds):
            result = await send(params)
            if not isinstance(result, InputRequiredResult):
                return result
            return await answer_rounds(self.session, send, params, result, self.input_required_max_rounds)
        text = f"The call was not finished within {seconds:g} s, all its rounds included"
        raise MCPError(REQUEST_TIMEOUT, text, is_local=True)

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
        return await self.session.complete(ref, argument, context_arguments)

    def listen(
        self,
        *,
        tools_list_changed: bool = False,
        prompts_list_changed: bool = False,
        resources_list_changed: bool = False,
        resource_subscriptions: Sequence[str] = (),
        timeout: float | None = None,
    ) -> AbstractAsyncContextManager[Subscription]:
        """Open a subscription to the server's changes; iterate what the block yields.

        Args:
            tools_list_changed: Whether to hear of changes of the list of tools.
            prompts_list_changed: Whether to hear of changes of the list of prompts.
            resources_list_changed: Whether to hear of changes of the list of resources.
            resource_subscriptions: The URIs of resources whose changes to hear of.
            timeout: Seconds to wait for the server's acknowledgement; by default the read timeout, else 30.
        """
        return listen(
            self.session,
            tools_list_changed=tools_list_changed,
            prompts_list_changed=prompts_list_changed,
            resources_list_changed=resources_list_changed,
            resource_subscriptions=resource_subscriptions,
            timeout=timeout,
        )

    def watch(
        self,
        *,
        tools_list_changed: bool = False,
        prompts_list_changed: bool = False,
        resources_list_changed: bool = False,
        resource_subscriptions: Sequence[str] = (),
        timeout: float | None = None,
        max_retries: int | None = DEFAULT_MAX_RETRIES,
        retry_delay: float = DEFAULT_RETRY_DELAY,
        max_retry_delay: float = DEFAULT_MAX_RETRY_DELAY,
    ) -> AbstractAsyncContextManager[Watch]:
        """Watch the server's changes: as `listen`, but listening again whenever the subscription ends.

        What the block yields is iterated for the same events, and a `Reconnected()` after each gap.

        Args:
            tools_list_changed: Whether to hear of changes of the list of tools.
            prompts_list_changed: Whether to hear of changes of the list of prompts.
            resources_list_changed: Whether to hear of changes of the list of resources.
            resource_subscriptions: The URIs of resources whose changes to hear of.
            timeout: Seconds to wait for each acknowledgement; by default the read timeout, else 30.
            max_retries: How often in a row to listen again in vain before `SubscriptionLost`; `None` for no limit.
            retry_delay: Seconds to wait before the first retry, at most; each further wait is twice as long.
            max_retry_delay: Seconds to wait before any retry, at most.
        """
        return watch(
            self.session,
            tools_list_changed=tools_list_changed,
            prompts_list_changed=prompts_list_changed,
            resources_list_changed=resources_list_changed,
            resource_subscriptions=resource_subscriptions,
            timeout=timeout,
            max_retries=max_retries,
            retry_delay=retry_delay,
            max_retry_delay=max_retry_delay,
        )

    @deprecated(PING_REMOVED, category=MCPDeprecationWarning)
    async def send_ping(self, *, meta: RequestParamsMeta | None = None) -> types.EmptyResult:
        """Ask whether the server is there (handshake-era servers only)."""
        return await self.session.send_ping(meta=meta)

    @deprecated(LOGGING_DEPRECATED, category=MCPDeprecationWarning)
    async def set_logging_level(
        self, level: types.LoggingLevel, *, meta: RequestParamsMeta | None = None
    ) -> types.EmptyResult:
        """Set the least severe level to receive (handshake-era servers only)."""
        return await self.session._ask("logging/setLevel", {"level": level}, types.EmptyResult, meta)

    @deprecated(SUBSCRIBE_REMOVED, category=MCPDeprecationWarning)
    async def subscribe_resource(self, uri: str, *, meta: RequestParamsMeta | None = None) -> types.EmptyResult:
        """Subscribe to a resource's changes (handshake-era servers only)."""
        return await self.session._ask("resources/subscribe", uri_params(uri), types.EmptyResult, meta)

    @deprecated(UNSUBSCRIBE_REMOVED, category=MCPDeprecationWarning)
    async def unsubscribe_resource(self, uri: str, *, meta: RequestParamsMeta | None = None) -> types.EmptyResult:
        """Unsubscribe from a resource's changes (handshake-era servers only)."""
        return await self.session._ask("resources/unsubscribe", uri_params(uri), types.EmptyResult, meta)

    @deprecated(PROGRESS_DEPRECATED, category=MCPDeprecationWarning)
    async def send_progress_notification(
        self, progress_token: str | int, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Report progress to the server (handshake-era servers only)."""
        params = progress_params(progress_token, progress, total, message)
        await self.session._notify("notifications/progress", params)

    @deprecated(ROOTS_DEPRECATED, category=MCPDeprecationWarning)
    async def send_roots_list_changed(self) -> None:
        """Tell the server that the roots have changed (handshake-era servers only)."""
        await self.session._notify("notifications/roots/list_changed", None)


def _page(cursor: str | None, meta: RequestParamsMeta | None) -> types.PaginatedRequestParams | None:
    if cursor is None and meta is None:
        return None
    return types.PaginatedRequestParams.model_validate({"cursor": cursor, "_meta": meta})
