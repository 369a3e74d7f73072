"""The ways from a client to a server, and a record of what goes over them.

Every test of this folder runs over all of them. What crossed is written down at the client's edge, in wire form, and
must be the same for each way.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from typing_extensions import TypedDict, Unpack

import mcp_types as types
from mcp._engine.link import Link, OnNotification, OutgoingRequest
from mcp._protocol.jsonrpc import dumps, error_message, loads, notification_message, request_message, result_message
from mcp.client import Client
from mcp.client.session import ElicitationFnT, ListRootsFnT, LoggingFnT, MessageHandlerFnT, SamplingFnT
from mcp.client.streamable_http import StreamableHTTPTransport
from mcp.shared.exceptions import MCPError
from tests.server.http.serving import serving

Way: TypeAlias = Literal["memory", "wire", "http", "legacy"]
WAYS: tuple[Way, ...] = ("memory", "wire", "http")
"""The ways of the modern era. The fourth is a conversation of the handshake era in memory."""


class AnyServer(Protocol):
    """`MCPServer` or the low-level `Server`."""

    def connect_in_process(self, mode: str, *, raise_exceptions: bool) -> AbstractAsyncContextManager[Link]: ...
    def streamable_http_app(self) -> Any: ...


class Options(TypedDict, total=False):
    """What the tests set on a client."""

    read_timeout_seconds: float
    sampling_callback: SamplingFnT
    list_roots_callback: ListRootsFnT
    logging_callback: LoggingFnT
    log_level: types.LoggingLevel
    message_handler: MessageHandlerFnT
    client_info: types.Implementation
    elicitation_callback: ElicitationFnT
    elicitation_capabilities: types.ElicitationCapability
    sampling_capabilities: types.SamplingCapability
    input_required_max_rounds: int
    mode: str


class WireLink:
    """A link in memory that makes everything pass as JSON text, as on a wire."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def exchange(self, request: OutgoingRequest, on_notification: OnNotification) -> dict[str, Any]:
        async def deliver(method: str, params: dict[str, Any] | None) -> None:
            message = _through_bytes(notification_message(method, params))
            await on_notification(message["method"], message.get("params"))

        text = dumps(request_message(request.request_id, request.method, request.params))
        try:
            sent = loads(text)
        except ValueError:
            raise MCPError(types.PARSE_ERROR, "Parse error") from None
        inner = OutgoingRequest(sent["id"], sent["method"], sent.get("params"), request.version, request.headers)
        try:
            result = await self._link.exchange(inner, deliver)
        except MCPError as error:
            answer = _through_bytes(error_message(inner.request_id, error.error))["error"]
        else:
            return _through_bytes(result_message(inner.request_id, result))["result"]
        raise MCPError(answer["code"], answer["message"], answer.get("data"))

    async def notify(self, method: str, params: dict[str, Any] | None, version: str | None) -> None:
        message = _through_bytes(notification_message(method, params))
        await self._link.notify(message["method"], message.get("params"), version)


def _through_bytes(message: dict[str, Any]) -> Any:
    return loads(dumps(message))


@dataclass
class Exchange:
    """A request and its answer, in wire form; `result` or `error` is `None`, and so are both of a call given up."""

    request_id: types.RequestId
    method: str
    params: dict[str, Any]
    told: list[Any] = field(default_factory=list[Any])
    result: Any = None
    error: Any = None


class Record:
    """What crossed, in wire form.

    Attributes:
        exchanges: The requests in the order in which they were sent.
    """

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []
        self._compared = True

    def forget(self) -> None:
        """Compare nothing: the test is about a difference."""
        self._compared = False

    def of(self, method: str) -> list[Exchange]:
        """Return the exchanges of one method."""
        return [exchange for exchange in self.exchanges if exchange.method == method]

    @property
    def lines(self) -> list[str]:
        """The exchanges for comparing, in an order that does not depend on which of many calls was faster.

        Ids, progress tokens and sealed states differ from run to run and are left out. A call that was given up has no
        outcome, and how much of it was heard until then is a matter of timing.
        """
        if not self._compared:
            return []
        done = [exchange for exchange in self.exchanges if exchange.result is not None or exchange.error is not None]
        return sorted(
            json.dumps(
                _comparable([each.method, each.params, each.told, each.result, each.error]), sort_keys=True, indent=1
            )
            for each in done
        )


def _comparable(value: Any, name: str = "") -> Any:
    if isinstance(value, dict):
        return {key: _comparable(item, key) for key, item in value.items() if key != "progressToken"}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, list):
        return [_comparable(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    if name == "requestState" and isinstance(value, str) and value.startswith("r1."):
        return "(sealed)"
    return value


class RecordingLink:
    """Notes each exchange at the client's edge of a link."""

    def __init__(self, link: Link, record: Record) -> None:
        self._link = link
        self._record = record

    async def exchange(self, request: OutgoingRequest, on_notification: OnNotification) -> dict[str, Any]:
        exchange = Exchange(request.request_id, request.method, deepcopy(request.params or {}))
        self._record.exchanges.append(exchange)

        async def deliver(method: str, params: dict[str, Any] | None) -> None:
            exchange.told.append([method, deepcopy(params)])
            await on_notification(method, params)

        try:
            result = await self._link.exchange(request, deliver)
        except MCPError as error:
            exchange.error = [error.code, error.message, error.data]
            raise
        exchange.result = deepcopy(result)
        return result

    async def notify(self, method: str, params: dict[str, Any] | None, version: str | None) -> None:
        await self._link.notify(method, params, version)


class Target:
    """What a `Client` connects to: a server behind one of the ways.

    Args:
        open_link: Opens the way.
        record: Where to note what crosses.
    """

    def __init__(
        self, open_link: Callable[[str, bool], AbstractAsyncContextManager[Link]], record: Record | None
    ) -> None:
        self._open_link = open_link
        self._record = record

    @asynccontextmanager
    async def connect_in_process(self, mode: str, *, raise_exceptions: bool) -> AsyncGenerator[Link]:
        async with self._open_link(mode, raise_exceptions) as link:
            yield link if self._record is None or mode == "legacy" else RecordingLink(link, self._record)


class Connector:
    """Connects clients to servers in one of the ways, and keeps the record.

    Attributes:
        way: Which one.
        record: What crossed.
    """

    def __init__(self, way: Way) -> None:
        self.way: Way = way
        self.record = Record()

    @property
    def in_process(self) -> bool:
        """Whether client and server share tasks, and with them context variables."""
        return self.way != "http"

    @asynccontextmanager
    async def __call__(self, server: AnyServer, **options: Unpack[Options]) -> AsyncGenerator[Client]:
        """Serve, connect, and tidy up after both."""
        if self.way == "legacy":
            options["mode"] = "legacy"
        with self.serve(server) as target:
            async with Client(target, **options) as client:
                yield client

    @contextmanager
    def serve(self, server: AnyServer) -> Generator[Target]:
        """Make a server reachable; clients connect to what this yields."""
        if self.way != "http":
            yield Target(lambda mode, show: _in_memory(server, mode, show, wire=self.way == "wire"), self.record)
            return
        with serving(server.streamable_http_app()) as port:
            yield Target(lambda mode, show: _over_http(f"http://127.0.0.1:{port}/mcp"), self.record)


@asynccontextmanager
async def _in_memory(server: AnyServer, mode: str, show: bool, *, wire: bool) -> AsyncGenerator[Link]:
    async with server.connect_in_process(mode, raise_exceptions=show) as link:
        yield WireLink(link) if wire else link


@asynccontextmanager
async def _over_http(url: str) -> AsyncGenerator[Link]:
    link = StreamableHTTPTransport(url).open_link()
    try:
        yield link
    finally:
        await link.aclose()
