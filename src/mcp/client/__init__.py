"""Clients: connect to a server and use it. Names load when they are first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_types._lazy import lazy_names

if TYPE_CHECKING:
    from mcp._protocol.input_required import InputRequiredRoundsExceededError as InputRequiredRoundsExceededError
    from mcp.client._notifications import IncomingMessage as IncomingMessage
    from mcp.client._tool_schemas import InvalidToolResultError as InvalidToolResultError
    from mcp.client._transport import Transport as Transport
    from mcp.client.caching import CacheConfig as CacheConfig
    from mcp.client.caching import CacheEntry as CacheEntry
    from mcp.client.caching import CacheKey as CacheKey
    from mcp.client.caching import CacheMode as CacheMode
    from mcp.client.caching import CacheStats as CacheStats
    from mcp.client.caching import InMemoryResponseCacheStore as InMemoryResponseCacheStore
    from mcp.client.caching import ResponseCacheStore as ResponseCacheStore
    from mcp.client.client import Client as Client
    from mcp.client.extension import ClaimContext as ClaimContext
    from mcp.client.extension import ClientExtension as ClientExtension
    from mcp.client.extension import NotificationBinding as NotificationBinding
    from mcp.client.extension import ResultClaim as ResultClaim
    from mcp.client.extension import UnexpectedClaimedResult as UnexpectedClaimedResult
    from mcp.client.extension import advertise as advertise
    from mcp.client.pending import PendingCall as PendingCall
    from mcp.client.pending import PendingCalls as PendingCalls
    from mcp.client.session import ClientRequestContext as ClientRequestContext
    from mcp.client.session import ClientSession as ClientSession

__all__ = [
    "CacheConfig",
    "CacheEntry",
    "CacheKey",
    "CacheMode",
    "CacheStats",
    "ClaimContext",
    "Client",
    "ClientExtension",
    "ClientRequestContext",
    "ClientSession",
    "InMemoryResponseCacheStore",
    "IncomingMessage",
    "InputRequiredRoundsExceededError",
    "InvalidToolResultError",
    "NotificationBinding",
    "PendingCall",
    "PendingCalls",
    "ResponseCacheStore",
    "ResultClaim",
    "Transport",
    "UnexpectedClaimedResult",
    "advertise",
]

_HOMES = {
    "CacheConfig": "mcp.client.caching",
    "CacheEntry": "mcp.client.caching",
    "CacheKey": "mcp.client.caching",
    "CacheMode": "mcp.client.caching",
    "CacheStats": "mcp.client.caching",
    "InMemoryResponseCacheStore": "mcp.client.caching",
    "ResponseCacheStore": "mcp.client.caching",
    "ClaimContext": "mcp.client.extension",
    "Client": "mcp.client.client",
    "ClientExtension": "mcp.client.extension",
    "ClientRequestContext": "mcp.client.session",
    "ClientSession": "mcp.client.session",
    "IncomingMessage": "mcp.client._notifications",
    "InputRequiredRoundsExceededError": "mcp._protocol.input_required",
    "InvalidToolResultError": "mcp.client._tool_schemas",
    "NotificationBinding": "mcp.client.extension",
    "ResultClaim": "mcp.client.extension",
    "PendingCall": "mcp.client.pending",
    "PendingCalls": "mcp.client.pending",
    "Transport": "mcp.client._transport",
    "UnexpectedClaimedResult": "mcp.client.extension",
    "advertise": "mcp.client.extension",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
