"""Make the verified user of an HTTP request visible to whatever runs for it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from contextvars import ContextVar
from typing import Any, Protocol, TypeAlias, cast

from mcp.server.auth._access_token import AccessToken

__all__ = ["AuthContextMiddleware", "VerifiedUser", "auth_context_var", "get_access_token", "verified_user"]

_Scope: TypeAlias = MutableMapping[str, Any]
_Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
_Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
_App: TypeAlias = Callable[[_Scope, _Receive, _Send], Awaitable[None]]


class VerifiedUser(Protocol):
    """A user with a verified token; `bearer_auth.AuthenticatedUser` is one."""

    access_token: AccessToken


auth_context_var: ContextVar[VerifiedUser | None] = ContextVar("auth_context", default=None)


def get_access_token() -> AccessToken | None:
    """Return the verified token of the request being handled; `None` without one."""
    user = auth_context_var.get()
    return None if user is None else user.access_token


def verified_user(scope: object) -> VerifiedUser | None:
    """Return the verified user of an ASGI scope; `None` without one, and for anything that is no scope."""
    if not isinstance(scope, MutableMapping):
        return None
    user = cast("MutableMapping[str, object]", scope).get("user")
    # By what it has rather than by class: the class needs Starlette, and this module loads without it.
    return cast("VerifiedUser", user) if isinstance(getattr(user, "access_token", None), AccessToken) else None


class AuthContextMiddleware:
    """ASGI middleware that keeps the scope's verified user in `auth_context_var` while the request runs.

    Args:
        app: The application inside.
    """

    def __init__(self, app: _App) -> None:
        self.app = app

    async def __call__(self, scope: _Scope, receive: _Receive, send: _Send) -> None:
        """Run the application."""
        user = verified_user(scope)
        if user is None:
            await self.app(scope, receive, send)
            return
        token = auth_context_var.set(user)
        try:
            await self.app(scope, receive, send)
        finally:
            auth_context_var.reset(token)
