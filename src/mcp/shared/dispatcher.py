"""What carries requests and notifications between two peers, as those see it who bring a transport of their own."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, TypeAlias, TypedDict, TypeVar, cast

import mcp_types as types

__all__ = ["CallOptions", "DispatchContext", "Dispatcher", "OnNotify", "OnRequest", "Outbound", "ProgressFnT"]

TransportT_co = TypeVar("TransportT_co", covariant=True)


class ProgressFnT(Protocol):
    """Hears how far a request is."""

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        """Hear of it.

        Args:
            progress: How far the work is.
            total: What `progress` will be at the end, if the peer knows.
            message: A text for the user.
        """
        ...


async def tell_progress(callback: ProgressFnT, params: types.ProgressNotificationParams) -> None:
    """Tell a callback how far a request is; one that is no async function has heard when it returns."""
    told = cast("object", callback(params.progress, params.total, params.message))
    if inspect.isawaitable(told):
        await told


class CallOptions(TypedDict, total=False):
    """How a request is sent.

    Attributes:
        timeout: Seconds to wait for the answer.
        on_progress: Hears how far the peer is.
    """

    timeout: float
    on_progress: ProgressFnT


class Outbound(Protocol):
    """A way to the peer."""

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        """Ask the peer and wait for its result in wire form.

        Raises:
            MCPError: The peer answered an error, did not answer in time, or is gone.
        """
        ...

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None) -> None:
        """Tell the peer something."""
        ...


class DispatchContext(Outbound, Protocol[TransportT_co]):
    """One inbound message, and the way back to who sent it."""

    @property
    def transport(self) -> TransportT_co:
        """What the transport says about itself."""
        ...

    @property
    def request_id(self) -> types.RequestId | None:
        """The id of the request; `None` for a notification."""
        ...


OnRequest: TypeAlias = Callable[[DispatchContext[Any], str, Mapping[str, Any] | None], Awaitable[dict[str, Any]]]
"""Handles one request: its context, method and params. It returns the result in wire form or raises `MCPError`."""

OnNotify: TypeAlias = Callable[[DispatchContext[Any], str, Mapping[str, Any] | None], Awaitable[None]]
"""Handles one notification."""


class Dispatcher(Outbound, Protocol[TransportT_co]):
    """Carries a whole conversation: hands out what arrives, and sends."""

    async def run(self, on_request: OnRequest, on_notify: OnNotify) -> None:
        """Hand out what arrives until the conversation ends."""
        ...
