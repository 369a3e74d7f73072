"""What an authorization server or a resource server supplies."""

from __future__ import annotations

from mcp.server.auth._access_token import AccessToken, principal_components

__all__ = ["AccessToken", "principal_components"]
