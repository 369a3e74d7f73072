"""Bearer tokens on HTTP requests."""

from __future__ import annotations

from starlette.authentication import SimpleUser

from mcp.server.auth._access_token import AccessToken

__all__ = ["AuthenticatedUser"]


class AuthenticatedUser(SimpleUser):
    """The user of a request whose bearer token was verified.

    Args:
        auth_info: The verified token.
    """

    def __init__(self, auth_info: AccessToken) -> None:
        super().__init__(auth_info.client_id)
        self.access_token = auth_info
        self.scopes = auth_info.scopes
