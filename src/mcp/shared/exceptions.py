"""The errors of the protocol.

```
MCPError(code, message, data)        the peer, or a rule of the protocol, said no
├── NoBackChannelError               this request has no way to ask its sender
└── UrlElicitationRequiredError      the request needs a visit to a URL first (-32042)
```

An error that the peer answered and one that arose on this side (a time limit, a closed connection, an answer that
cannot be read) have the same shape; `is_local` tells them apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import mcp_types as types
from mcp_types._renamed import renamed_names
from mcp_types.jsonrpc import INVALID_REQUEST, URL_ELICITATION_REQUIRED
from mcp_types.version import MCPDeprecationWarning

__all__ = [
    "MCPDeprecationWarning",
    "MCPError",
    "NoBackChannelError",
    "UrlElicitationRequiredError",
]


if not TYPE_CHECKING:
    __getattr__ = renamed_names(__name__, {"McpError": "MCPError"})


class MCPError(Exception):
    """A JSON-RPC error: raised by the side that asked, or raised by a handler to answer with it.

    ```python
    raise MCPError(INVALID_PARAMS, "quota used up", {"retryAfter": 30})
    ```

    Args:
        code: The JSON-RPC error code.
        message: What went wrong, in one sentence.
        data: Further JSON values for the peer.
        is_local: Whether it arose on this side, instead of being answered by the peer (base protocol: "Error Codes").

    Attributes:
        code: The JSON-RPC error code.
        message: What went wrong.
        data: Further JSON values.
        is_local: Whether it arose on this side: nobody else has said any of this, and the code is only a name for it.

    Raises:
        ValueError: The code is no integer, or the message no text: no peer could be told.
    """

    def __init__(self, code: int, message: str, data: Any = None, *, is_local: bool = False) -> None:
        if not (isinstance(cast("object", code), int) and isinstance(cast("object", message), str)):
            read = types.ErrorData(code=code, message=message)
            code, message = read.code, read.message
        super().__init__(code, message, data)
        self.code = code
        self.message = message
        self.data = data
        self.is_local = is_local

    @property
    def error(self) -> types.ErrorData:
        """The error as it crosses the wire."""
        # Errors are made on hot paths and mostly read by attribute: the model is built for those who want it.
        return types.ErrorData(code=self.code, message=self.message, data=self.data)

    @classmethod
    def from_error_data(cls, error: types.ErrorData) -> MCPError:
        """Return the exception for an error object."""
        return cls(error.code, error.message, error.data)

    @classmethod
    def from_jsonrpc_error(cls, error: types.JSONRPCError) -> MCPError:
        """Return the exception for an error response."""
        return cls.from_error_data(error.error)

    def __str__(self) -> str:
        return self.message


class NoBackChannelError(MCPError):
    """The request in hand gives the server no way to send requests to the client.

    Args:
        method: The method that could not be sent.
    """

    def __init__(self, method: str) -> None:
        super().__init__(
            INVALID_REQUEST,
            f"Cannot send {method!r}: this transport context has no back-channel for server-initiated requests.",
            is_local=True,
        )
        self.method = method

    def __reduce__(self) -> tuple[type[NoBackChannelError], tuple[str]]:
        return type(self), (self.method,)


class UrlElicitationRequiredError(MCPError):
    """The request cannot go on before the user has visited one or more URLs.

    Args:
        elicitations: The URLs to visit.
        message: The error's message; a fixed sentence by default.
    """

    def __init__(self, elicitations: list[types.ElicitRequestURLParams], message: str | None = None) -> None:
        if message is None:
            message = f"URL elicitation{'s' if len(elicitations) > 1 else ''} required"
        data = {
            "elicitations": [item.model_dump(mode="json", by_alias=True, exclude_none=True) for item in elicitations]
        }
        super().__init__(URL_ELICITATION_REQUIRED, message, data)
        self._elicitations = elicitations

    @property
    def elicitations(self) -> list[types.ElicitRequestURLParams]:
        """The URLs to visit."""
        return self._elicitations

    @classmethod
    def from_error(cls, error: types.ErrorData) -> UrlElicitationRequiredError:
        """Read the elicitations back from an error object.

        Raises:
            ValueError: The error has another code, or its data is not of this form.
        """
        if error.code != URL_ELICITATION_REQUIRED:
            raise ValueError(f"Expected error code {URL_ELICITATION_REQUIRED}, got {error.code}")
        data = cast("object", error.data)
        found: object = cast("dict[str, object]", data).get("elicitations", ()) if isinstance(data, dict) else ()
        if not isinstance(found, (list, tuple)):
            raise ValueError(f"Error data of code {URL_ELICITATION_REQUIRED} needs a list of elicitations")
        items = [types.ElicitRequestURLParams.model_validate(item) for item in cast("list[object]", found)]
        return cls(items, error.message)

    @classmethod
    def from_error_data(cls, error: types.ErrorData) -> UrlElicitationRequiredError:
        """Return the exception for an error object; the same as `from_error`."""
        return cls.from_error(error)

    def __reduce__(self) -> tuple[type[UrlElicitationRequiredError], tuple[list[types.ElicitRequestURLParams], str]]:
        return type(self), (self._elicitations, self.message)
