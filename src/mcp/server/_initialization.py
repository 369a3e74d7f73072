"""The server's side of a legacy handshake, as a model."""

from pydantic import BaseModel, ConfigDict

import mcp_types as types
from mcp_types.version import LATEST_HANDSHAKE_VERSION


class InitializationOptions(BaseModel):
    """The server's side of an `initialize` answer."""

    model_config = ConfigDict(defer_build=True)

    server_name: str
    server_version: str
    title: str | None = None
    description: str | None = None
    capabilities: types.ServerCapabilities
    instructions: str | None = None
    website_url: str | None = None
    icons: list[types.Icon] | None = None

    def greeting(self) -> types.InitializeResult:
        """The answer to `initialize`, for the newest legacy revision."""
        identity = types.Implementation(
            name=self.server_name,
            version=self.server_version,
            title=self.title,
            description=self.description,
            website_url=self.website_url,
            icons=self.icons,
        )
        return types.InitializeResult(
            protocol_version=LATEST_HANDSHAKE_VERSION,
            capabilities=self.capabilities,
            server_info=identity,
            instructions=self.instructions,
        )
