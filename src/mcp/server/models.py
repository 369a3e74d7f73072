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


class NotificationOptions:
    """Which changes of its lists a server announces to legacy clients."""

    def __init__(
        self, prompts_changed: bool = False, resources_changed: bool = False, tools_changed: bool = False
    ) -> None:
        self.prompts_changed = prompts_changed
        self.resources_changed = resources_changed
        self.tools_changed = tools_changed
