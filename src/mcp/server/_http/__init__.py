"""The server side of streamable HTTP: ASGI in, exchanges out."""
