"""What a server tells in a legacy handshake."""

from pydantic import BaseModel, ConfigDict

from mcp_types import Icon, Implementation, InitializeResult, ServerCapabilities
from mcp_types.version import LATEST_HANDSHAKE_VERSION


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

    def greeting(self) -> InitializeResult:
        """The answer to `initialize`, for the newest legacy revision."""
        identity = Implementation(
            name=self.server_name,
            version=self.server_version,
            title=self.title,
            description=self.description,
            website_url=self.website_url,
            icons=self.icons,
        )
        return InitializeResult(
            protocol_version=LATEST_HANDSHAKE_VERSION,
            capabilities=self.capabilities,
            server_info=identity,
            instructions=self.instructions,
        )


class NotificationOptions:
    """Which changes of its lists a server announces to legacy clients."""

    def __init__(
        self, prompts_changed: bool = False, resources_changed: bool = False, tools_changed: bool = False
    ) -> None:
        self.prompts_changed = prompts_changed
        self.resources_changed = resources_changed
        self.tools_changed = tools_changed

    @property
    def families(self) -> set[str]:
        """The families of offers whose lists these are, by the names of their capabilities."""
        changes = {"tools": self.tools_changed, "resources": self.resources_changed, "prompts": self.prompts_changed}
        return {family for family, announced in changes.items() if announced}
