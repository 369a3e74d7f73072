"""A verified access token, and who it speaks for.

Apart from the rest of the package, because the sealing of request state needs only this much of it at import.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict


class AccessToken(BaseModel):
    """An access token that a verifier has accepted.

    Attributes:
        token: The token's text.
        client_id: The OAuth client it was issued to.
        scopes: What it allows.
        expires_at: When it ends, in seconds since the epoch.
        resource: The resource it was issued for (RFC 8707).
        subject: The user it speaks for.
        claims: Further claims.
    """

    model_config = ConfigDict(defer_build=True)

    token: str
    client_id: str
    scopes: list[str]
    expires_at: int | None = None
    resource: str | None = None
    subject: str | None = None
    claims: dict[str, Any] | None = None


def principal_components(token: AccessToken) -> tuple[str, str | None, str | None]:
    """Return who a token speaks for: client id, issuer and subject, the last two `None` where unknown."""
    issuer = token.claims.get("iss") if token.claims else None
    return token.client_id, None if issuer is None else str(issuer), token.subject
