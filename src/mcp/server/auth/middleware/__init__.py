"""ASGI middleware for authorization."""
