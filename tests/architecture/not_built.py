"""What the recorded public interface has and this package does not have yet, or has differently.

Written by `python -m tests.architecture.surface`. Entries only ever leave.
"""

MODULES = {
    "mcp.client.auth",
    "mcp.client.auth.exceptions",
    "mcp.client.auth.extensions.client_credentials",
    "mcp.client.auth.extensions.identity_assertion",
    "mcp.client.auth.oauth2",
    "mcp.client.auth.utils",
    "mcp.server.auth.errors",
    "mcp.server.auth.handlers.authorize",
    "mcp.server.auth.handlers.metadata",
    "mcp.server.auth.handlers.register",
    "mcp.server.auth.handlers.revoke",
    "mcp.server.auth.handlers.token",
    "mcp.server.auth.json_response",
    "mcp.server.auth.middleware.client_auth",
    "mcp.server.auth.routes",
    "mcp.server.auth.settings",
    "mcp.shared.auth",
    "mcp.client.session_group",
    "mcp.shared.auth_utils",
    "mcp.shared.inbound",
    "mcp.shared.jsonrpc_dispatcher",
}

NAMES: dict[str, set[str]] = {
    "mcp.server.auth.middleware.bearer_auth": {
        "AuthorizationContext",  # is missing
        "BearerAuthBackend",  # is missing
        "RequireAuthMiddleware",  # is missing
        "authorization_context",  # is missing
    },
    "mcp.server.auth.provider": {
        "AccessTokenT",  # is missing
        "AuthorizationCode",  # is missing
        "AuthorizationCodeT",  # is missing
        "AuthorizationParams",  # is missing
        "AuthorizeError",  # is missing
        "IdentityAssertionParams",  # is missing
        "OAuthAuthorizationServerProvider",  # is missing
        "ProviderTokenVerifier",  # is missing
        "RefreshToken",  # is missing
        "RefreshTokenT",  # is missing
        "RegistrationError",  # is missing
        "TokenError",  # is missing
        "TokenVerifier",  # is missing
        "construct_redirect_uri",  # is missing
    },
    "mcp.client.client": {
        "_evicting_message_handler",  # is missing
        "_fold_extensions",  # is missing
        "_synthesize_discover",  # is missing
        "negotiate_auto",  # is missing
    },
    "mcp.client.session": {
        "MCP_NAME_HEADER",  # is missing
        "NAME_BEARING_METHODS",  # is missing
        "ReceiveResultT",  # is missing
    },
    "mcp.client.streamable_http": {
        "RequestContext",  # is missing
        "StreamableHTTPTransport.handle_get_stream",  # is missing
        "StreamableHTTPTransport.post_writer",  # is missing
        "StreamableHTTPTransport.terminate_session",  # is missing
    },
    "mcp": {
        "ClientSessionGroup",  # is missing
    },
}
