"""`Connection`: a server's view of one client, beside the messages that the client sends.

For those who serve messages of their own making with `mcp.server.runner`, and who keep something for each client.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, cast

from pydantic import BaseModel

import mcp_types as types
from mcp._engine.scope import Ask, Channel, Notify, RequestScope
from mcp._protocol.capabilities import declares
from mcp._protocol.era import MODERN, era_of
from mcp._protocol.fields import dump
from mcp._protocol.handshake import Handshake
from mcp._protocol.metadata import ClientFacts
from mcp.server._telling import as_handshake, drops_change, progress_to, wants_log
from mcp.shared.dispatcher import CallOptions, DispatchContext, Outbound
from mcp.shared.exceptions import NoBackChannelError
from mcp_types import LoggingLevel
from mcp_types.methods import MONOLITH_RESULTS
from mcp_types.version import LATEST_HANDSHAKE_VERSION

__all__ = ["Connection"]

logger = logging.getLogger(__name__)

Meta = dict[str, Any]


class _NoChannel:
    """Leads nowhere: the client hears nothing but answers."""

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        raise NoBackChannelError(method)

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None) -> None:
        logger.debug("Dropping %s: the connection has no channel of its own", method)


_NO_CHANNEL = _NoChannel()


class Connection:
    """One client, as long as its conversation lasts.

    Args:
        outbound: The way to the client for what belongs to no request of its own.
        protocol_version: The protocol revision spoken.
        session_id: The id of the session; `None` where there is none.
        client_params: What the client said in its handshake; `None` before that, and where there is none.
    """

    def __init__(
        self,
        outbound: Outbound,
        *,
        protocol_version: str,
        session_id: str | None = None,
        client_params: types.InitializeRequestParams | None = None,
    ) -> None:
        self.outbound = outbound
        self.session_id = session_id
        self.handshake = Handshake()
        self._facts = ClientFacts(protocol_version, types.ClientCapabilities())
        if client_params is not None:
            facts = ClientFacts(protocol_version, client_params.capabilities, client_params.client_info)
            self._facts = self.handshake.client = facts
            self.handshake.era = era_of(protocol_version)

    @classmethod
    def for_loop(
        cls, outbound: Outbound, *, session_id: str | None = None, protocol_version_hint: str | None = None
    ) -> Connection:
        """Make the connection of a conversation that is about to begin.

        Args:
            outbound: The way to the client.
            session_id: The id of the session.
            protocol_version_hint: The revision to assume until the client says which.
        """
        return cls(outbound, protocol_version=protocol_version_hint or LATEST_HANDSHAKE_VERSION, session_id=session_id)

    @classmethod
    def from_envelope(
        cls,
        protocol_version: str,
        client_info: Any,
        client_capabilities: Any,
        *,
        outbound: Outbound = _NO_CHANNEL,
    ) -> Connection:
        """Make the connection of one modern request from what its metadata says.

        Args:
            protocol_version: The revision.
            client_info: The client's name and version, as a model or in wire form.
            client_capabilities: What it declared, as a model or in wire form.
            outbound: The way to the client.

        Raises:
            ValidationError: One of them is malformed.
        """
        made = cls(outbound, protocol_version=protocol_version)
        made.handshake.era = era_of(protocol_version)
        made._facts = ClientFacts(
            protocol_version,
            types.ClientCapabilities.model_validate({} if client_capabilities is None else client_capabilities),
            None if client_info is None else types.Implementation.model_validate(client_info),
        )
        return made

    @property
    def facts(self) -> ClientFacts:
        """What is known of the client."""
        return self.handshake.client or self._facts

    @property
    def protocol_version(self) -> str:
        """The protocol revision spoken."""
        return self.facts.version

    @property
    def client_params(self) -> types.InitializeRequestParams | None:
        """What the client said about itself, in the shape of a handshake; `None` before it said anything."""
        return None if self.handshake.era is None else as_handshake(self.facts)

    @property
    def has_standalone_channel(self) -> bool:
        """Whether anything beside answers reaches the client."""
        return self.outbound is not _NO_CHANNEL

    @property
    def initialize_accepted(self) -> bool:
        """Whether a handshake has been agreed on."""
        return self.handshake.client is not None

    def check_capability(self, capability: types.ClientCapabilities) -> bool:
        """Whether the client declared everything that is set in `capability`."""
        return declares(self.facts.capabilities, capability)

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        """Ask the client and wait for its result in wire form.

        Raises:
            NoBackChannelError: There is no way to ask.
            MCPError: The client answered an error, did not answer in time, or is gone.
        """
        if not era_of(self.protocol_version).may_ask:
            raise NoBackChannelError(method)
        return await self.outbound.send_raw_request(method, params, opts)

    async def send_request(
        self,
        req: types.Request[Any, Any],
        *,
        result_type: type[BaseModel] | None = None,
        opts: CallOptions | None = None,
    ) -> BaseModel:
        """Ask the client.

        Args:
            req: The request.
            result_type: The model of its result; the protocol's own by default.
            opts: How it is sent.

        Raises:
            TypeError: The request is none of the protocol's, and no `result_type` is given.
            NoBackChannelError: There is no way to ask.
            MCPError: The client answered an error, did not answer in time, or is gone.
        """
        expected: Any = result_type or MONOLITH_RESULTS.get(req.method)
        if expected is None:
            raise TypeError(f"{req.method!r} is no method of the protocol; say what answers it with result_type=")
        params = None if req.params is None else dump(req.params, era_of(self.protocol_version))
        answer = await self.send_raw_request(req.method, params, opts)
        return cast("BaseModel", expected.model_validate(answer))

    async def ping(self, *, meta: Meta | None = None, opts: CallOptions | None = None) -> None:
        """Check that the client answers."""
        await self.send_raw_request("ping", _with_meta(None, meta), opts)

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None) -> None:
        """Tell the client something that belongs to no request."""
        await self.outbound.notify(method, params, opts)

    async def log(self, level: LoggingLevel, data: Any, logger: str | None = None, *, meta: Meta | None = None) -> None:
        """Send a log message, if the client wants messages of this level.

        Raises:
            ValueError: The level is none of the eight.
        """
        if wants_log(level, self.facts, self.handshake if self.initialize_accepted else None):
            params: dict[str, Any] = {"level": level, "data": data}
            if logger is not None:
                params["logger"] = logger
            await self.notify("notifications/message", _with_meta(params, meta))

    async def send_tool_list_changed(self, *, meta: Meta | None = None) -> None:
        """Tell a legacy client that the list of tools changed."""
        await self._notify_change("notifications/tools/list_changed", None, meta)

    async def send_prompt_list_changed(self, *, meta: Meta | None = None) -> None:
        """Tell a legacy client that the list of prompts changed."""
        await self._notify_change("notifications/prompts/list_changed", None, meta)

    async def send_resource_list_changed(self, *, meta: Meta | None = None) -> None:
        """Tell a legacy client that the list of resources changed."""
        await self._notify_change("notifications/resources/list_changed", None, meta)

    async def send_resource_updated(self, uri: str, *, meta: Meta | None = None) -> None:
        """Tell a legacy client that a resource changed."""
        await self._notify_change("notifications/resources/updated", {"uri": str(uri)}, meta)

    async def _notify_change(self, method: str, params: dict[str, Any] | None, meta: Meta | None) -> None:
        if not drops_change(method, self.protocol_version):
            await self.notify(method, _with_meta(params, meta))


class ShownConnection(Connection):
    """The connection of a conversation that this package carries itself.

    Args:
        channel: The way to the client for what belongs to no request of its own.
        handshake: What opens the conversation.
        session_id: The id of the session.
    """

    def __init__(self, channel: Channel, handshake: Handshake, session_id: str | None = None) -> None:
        version = LATEST_HANDSHAKE_VERSION
        super().__init__(_ChannelOutbound(channel), protocol_version=version, session_id=session_id)
        self.handshake = handshake


class _ChannelOutbound:
    """A channel of the engine as the way to a client."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        options = opts or {}
        progress = options.get("on_progress")
        hear = None if progress is None else progress_to(progress)
        return await self._channel.ask(method, _own(params), timeout=options.get("timeout"), hear=hear)

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None) -> None:
        await self._channel.notify(method, _own(params))


def _own(params: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if params is None else dict(params)


class _OutboundChannel:
    """A connection as a channel of the engine."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.ask = asking_through(connection)

    @property
    def is_open(self) -> bool:
        return self._connection.has_standalone_channel

    async def notify(self, method: str, params: dict[str, Any] | None) -> None:
        await self._connection.notify(method, params)


def asking_through(outbound: Outbound) -> Ask:
    """Make an engine's function that asks of a way to the client."""

    async def ask(
        method: str, params: dict[str, Any] | None, /, *, timeout: float | None = None, hear: Notify | None = None
    ) -> dict[str, Any]:
        options: CallOptions = {}
        if timeout is not None:
            options["timeout"] = timeout
        if hear is not None:

            async def on_progress(progress: float, total: float | None, message: str | None) -> None:
                # The token was the dispatcher's; nobody further up looks at it.
                said = {"progressToken": "", "progress": progress, "total": total, "message": message}
                await hear("notifications/progress", {key: value for key, value in said.items() if value is not None})

            options["on_progress"] = on_progress
        return await outbound.send_raw_request(method, params, options)

    return ask


def scope_of(
    context: DispatchContext[Any],
    connection: Connection,
    *,
    method: str = "",
    params: Mapping[str, Any] | None = None,
    client: ClientFacts | None = None,
    lifespan_context: object = None,
) -> RequestScope:
    """Make the engine's scope of a message that somebody else's dispatcher received.

    Args:
        context: The message.
        connection: Who sent it.
        method: Its method.
        params: Its params.
        client: What is known of the sender, where the message itself says so.
        lifespan_context: What the server's lifespan yielded.
    """
    client = client or connection.facts
    era = era_of(client.version)
    transport = context.transport
    may_ask = era.may_ask and getattr(transport, "can_send_request", True)
    return RequestScope(
        method=method,
        params=params,
        request_id=context.request_id,
        version=client.version,
        era=era,
        client=client,
        notify=context.notify,
        ask=asking_through(context) if may_ask else None,
        channel=_OutboundChannel(connection) if connection.has_standalone_channel else None,
        handshake=None if era is MODERN else connection.handshake,
        lifespan_context=lifespan_context,
        headers=getattr(transport, "headers", None),
        connection=connection,
    )


def connection_of(scope: RequestScope) -> Connection:
    """The connection that a message came through; one of its own where there is nothing but the message."""
    if scope.connection is None:
        facts = scope.client
        scope.connection = Connection.from_envelope(facts.version, facts.info, facts.capabilities)
    return cast("Connection", scope.connection)


def _with_meta(params: dict[str, Any] | None, meta: Meta | None) -> dict[str, Any] | None:
    return params if meta is None else {**(params or {}), "_meta": meta}
