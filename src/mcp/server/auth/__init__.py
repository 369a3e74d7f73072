"""Authorization: verify tokens, serve an authorization server."""
