"""Streamable HTTP from the client's side: one POST is one exchange."""
