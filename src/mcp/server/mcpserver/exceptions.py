"""What tools, prompts and resources raise.

```
Exception
├── InvalidSignature                  a function cannot be registered as it is written
└── MCPServerError
    ├── ToolError                     meant for the model: its text is sent
    │   ├── ToolTimeoutError          the tool took longer than it may
    │   └── UnexpectedToolError       wraps what was not meant; only direct callers see it
    ├── PromptError                   meant for the client: its text is sent (also a ValueError)
    └── ResourceError                 meant for the client: its text is sent
        ├── ResourceNotFoundError     there is no such resource
        └── UnexpectedResourceError   wraps what was not meant; its text names only the resource
```
"""


class MCPServerError(Exception):
    """Base of the errors that tools, prompts and resources raise."""


class ToolError(MCPServerError):
    """A failure the model should read: raise it in a tool and its text becomes the tool's error result.

    Example:
        ```python
        @mcp.tool()
        async def withdraw(amount: int) -> str:
            if amount > 100:
                raise ToolError("At most 100 can be withdrawn at once.")
            return "done"
        ```
    """


class ToolTimeoutError(ToolError):
    """A tool took longer than its `timeout`."""


class UnexpectedToolError(ToolError):
    """A tool raised something it did not mean to. The original is the `__cause__`; its text never leaves the server."""


class PromptError(MCPServerError, ValueError):
    """A prompt cannot be rendered, and the client may know why: its text is sent."""


class ResourceError(MCPServerError):
    """A resource cannot be read, and the client may know why: its text is sent."""


class ResourceNotFoundError(ResourceError):
    """There is no such resource."""


class UnexpectedResourceError(ResourceError):
    """Reading a resource raised something it did not mean to. The original is the `__cause__`."""


class InvalidSignature(Exception):
    """A function's signature does not allow what it is registered for."""
