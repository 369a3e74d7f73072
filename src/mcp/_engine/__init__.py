"""What turns protocol rules into running exchanges: scopes, links, connections (anyio only)."""
