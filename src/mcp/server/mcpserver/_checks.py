"""What a server is built with, checked."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from mcp.server.context import ServerMiddleware
from mcp.server.mcpserver.exceptions import InvalidSignature
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.subscriptions import InMemorySubscriptionBus, SubscriptionBus
from mcp_types._lazy import lazy_module
from mcp_types.methods import CacheableMethod

if TYPE_CHECKING:
    from mcp.server import caching
    from mcp.server.mcpserver import _signature
    from mcp.server.mcpserver.resolve import plan
else:
    _signature = lazy_module("mcp.server.mcpserver._signature")
    plan = lazy_module("mcp.server.mcpserver.resolve.plan")
    caching = lazy_module("mcp.server.caching")

DEFAULT_NAME: Final = "mcp-server"


def checked_middleware(middleware: Iterable[Any] | None) -> list[ServerMiddleware[Any]]:
    """Return the middleware as a list.

    Raises:
        TypeError: It is no sequence of callables.
    """
    if middleware is None:
        return []
    kind = type(cast("object", middleware)).__name__
    if isinstance(middleware, (str, bytes, Mapping)) or not hasattr(middleware, "__iter__"):
        raise TypeError(f"middleware must be a sequence of callables, got {kind}")
    entries = list(middleware)
    for index, entry in enumerate(entries):
        if not callable(entry):
            raise TypeError(f"middleware[{index}] must be callable, got {type(entry).__name__}")
    return entries


def make_boundary(security: RequestStateSecurity | None, name: str | None) -> RequestStateBoundary:
    """Make the middleware that seals `request_state`.

    Raises:
        TypeError: The policy is none.
        ValueError: A shared key tells this server from no other.
    """
    if security is None:
        # A key of this process binds tokens to this server already; its name adds nothing that could be missing.
        return RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=name or DEFAULT_NAME)
    if not isinstance(security, RequestStateSecurity):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(
            "request_state_security must be a RequestStateSecurity, for example RequestStateSecurity(keys=[key]); "
            f"got {type(security).__name__}"
        )
    if not name and security.audience is None:
        raise ValueError(
            "request_state_security is configured but this server has no name. Servers that share a secret tell their "
            "tokens apart by the name: pass MCPServer(name=...) or RequestStateSecurity(audience=...)."
        )
    return RequestStateBoundary(security, default_audience=name)


def choose_bus(subscriptions: SubscriptionBus | bool | None) -> SubscriptionBus | None:
    """Return the bus for changes.

    Raises:
        TypeError: It is none.
    """
    if subscriptions is None:
        return InMemorySubscriptionBus()
    if subscriptions is False:
        return None
    if isinstance(subscriptions, bool) or not callable(getattr(subscriptions, "publish", None)):
        raise TypeError("subscriptions must be a SubscriptionBus, None (an in-memory bus), or False (off)")
    return subscriptions


def check_visible(visible: object) -> None:
    """Check the filter of what callers see.

    Raises:
        TypeError: It is none.
    """
    if visible is not None and not callable(visible):
        raise TypeError(f"visible must be a function of (ctx, item), got {type(visible).__name__}")


def check_numbers(page_size: int | None, max_answer_retries: int, max_sync_threads: int | None) -> None:
    """Check the server's numbers.

    Raises:
        ValueError: One makes no sense.
    """
    if page_size is not None and page_size < 1:
        raise ValueError(f"page_size must be a positive number or None, got {page_size}")
    if max_answer_retries < 0:
        raise ValueError(f"max_answer_retries must not be negative, got {max_answer_retries}")
    if max_sync_threads is not None and max_sync_threads < 1:
        raise ValueError(f"max_sync_threads must be a positive number or None, got {max_sync_threads}")


def check_workers(workers: object) -> int:
    """Return the number of workers.

    Raises:
        ValueError: It is none.
        RuntimeError: There is more than one, and this system cannot fork.
    """
    if type(workers) is not int or workers < 1:
        raise ValueError(f"workers must be a positive number, got {workers!r}")
    if workers > 1 and not hasattr(os, "fork"):
        raise RuntimeError(
            "run(workers=...) needs a system with fork(). Start several processes instead, for example with "
            "`uvicorn module:app --workers 4`, and give all of them the same keys: "
            "MCPServer(request_state_security=RequestStateSecurity.from_env())"
        )
    return workers


def private_hints(
    cache_hints: Mapping[CacheableMethod, caching.CacheHint] | None,
) -> dict[CacheableMethod, caching.CacheHint]:
    """Return hints under which no cache hands one caller's results to another; how long they hold stays."""
    # What is no hint is left to the check that all hints pass.
    return {
        method: dataclasses.replace(hint, scope="private") if type(hint) is caching.CacheHint else hint
        for method, hint in (cache_hints or {}).items()
    }


def check_static(fn: Callable[..., Any], uri: str, resumable: bool) -> None:
    """Refuse functions that a URI without variables cannot serve.

    Raises:
        ValueError: The function has parameters or wants a `Context`.
        InvalidSignature: It has resolvers, or is to ask in the middle of its body.
    """
    prefix = f"Resource {uri!r} has no URI template variables, but the handler declares"
    if resumable:
        raise InvalidSignature(
            f"Resource {uri!r} has no URI template variables, and only templates can be registered with resumable=True."
        )
    if plan.find_resolved_parameters(fn):
        raise InvalidSignature(
            f"{prefix} Resolve(...) parameters. Resolvers for static resources are not supported. "
            "Add a template variable to the URI or remove the parameters."
        )
    signature = _signature.read_signature(fn, strict=False)
    if signature.context_kwarg is not None:
        raise ValueError(
            f"{prefix} a Context parameter. Context injection for static resources is not supported. "
            "Add a template variable to the URI or remove the Context parameter."
        )
    if signature.parameters:
        names = ", ".join(sorted(repr(parameter.name) for parameter in signature.parameters))
        raise ValueError(
            f"{prefix} parameters {{{names}}}. Add matching {{...}} variables to the URI or remove the parameters."
        )
