"""What a server tells in a legacy handshake."""

from pydantic import BaseModel, ConfigDict

from mcp_types import Icon, ServerCapabilities


class InitializationOptions(BaseModel):
    """The server's side of an `initialize` answer."""

    model_config = ConfigDict(defer_build=True)

    server_name: str
    server_version: str
    title: str | None = None
    description: str | None = None
    capabilities: ServerCapabilities
    instructions: str | None = None
    website_url: str | None = None
    icons: list[Icon] | None = None
