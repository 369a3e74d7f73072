"""The handlers that are registered with a server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic

from typing_extensions import TypeVar

import mcp_types as types
from mcp.server.lowlevel import handlers as h
from mcp_types._lazy import lazy_module

if TYPE_CHECKING:
    import pydantic

    from mcp.server import context
else:
    pydantic = lazy_module("pydantic")
    context = lazy_module("mcp.server.context")

LifespanResultT = TypeVar("LifespanResultT", default=Any)
_ParamsT = TypeVar("_ParamsT", bound="pydantic.BaseModel")


@dataclass
class HandlerEntry(Generic[LifespanResultT]):
    """A registered handler.

    Attributes:
        params_type: The model its params are read into.
        handler: `async (ctx, params)`.
    """

    params_type: type[pydantic.BaseModel]
    handler: Callable[[context.ServerRequestContext[LifespanResultT], Any], Awaitable[Any]]


class NamedEntry(HandlerEntry[LifespanResultT]):
    """A handler of one of the protocol's methods, whose params' model loads with the first message.

    Args:
        params: The model's name in `mcp_types`.
        handler: The handler.
    """

    def __init__(
        self, params: str, handler: Callable[[context.ServerRequestContext[LifespanResultT], Any], Awaitable[Any]]
    ) -> None:
        self._params = params
        self.handler = handler

    def __getattr__(self, name: str) -> Any:
        if name != "params_type":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self.params_type = getattr(types, self._params)
        return self.params_type


class HandlerRegistry(Generic[LifespanResultT]):
    """The handlers of a server, by method."""

    def __init__(self) -> None:
        self._request_handlers: dict[str, HandlerEntry[LifespanResultT]] = {}
        self._notification_handlers: dict[str, HandlerEntry[LifespanResultT]] = {}

    def add_request_handler(
        self,
        method: str,
        params_type: type[_ParamsT],
        handler: Callable[[context.ServerRequestContext[LifespanResultT, Any], _ParamsT], Awaitable[Any]],
    ) -> None:
        """Register the handler of a request method, or replace it; it serves from the next request on.

        Args:
            method: The method; a vendor's own is as good as the protocol's.
            params_type: The model of its params, derived from `RequestParams` so that `_meta` is kept.
            handler: `async (ctx, params)`; returns a result model, a dict in wire form, or `None`.

        Raises:
            ValueError: The method is empty or reserved.
            TypeError: The method is no string, or the handler cannot be called.
        """
        h.check_registration(method, handler)
        if method == "initialize":
            raise ValueError(h.INITIALIZE_IS_RESERVED)
        self._request_handlers[method] = HandlerEntry(params_type, handler)

    def add_notification_handler(
        self,
        method: str,
        params_type: type[_ParamsT],
        handler: Callable[[context.ServerRequestContext[LifespanResultT, Any], _ParamsT], Awaitable[None]],
    ) -> None:
        """Register the handler of a notification method, or replace it.

        Raises:
            ValueError: The method is empty.
            TypeError: The method is no string, or the handler cannot be called.
        """
        h.check_registration(method, handler)
        self._notification_handlers[method] = HandlerEntry(params_type, handler)

    def get_request_handler(self, method: str) -> HandlerEntry[LifespanResultT] | None:
        """Return what serves a request method, or `None`."""
        return self._request_handlers.get(method)

    def get_notification_handler(self, method: str) -> HandlerEntry[LifespanResultT] | None:
        """Return what serves a notification method, or `None`."""
        return self._notification_handlers.get(method)

    def serve_method(self, keyword: str, handler: Callable[..., Awaitable[Any]]) -> None:
        """Register the handler of one of the protocol's methods by its keyword in the constructor of `Server`.

        Raises:
            TypeError: The handler cannot be called.
        """
        method, params = (h.REQUESTS | h.NOTIFICATIONS)[keyword]
        h.check_registration(method, handler)
        handlers = self._request_handlers if keyword in h.REQUESTS else self._notification_handlers
        handlers[method] = NamedEntry(params, handler)
