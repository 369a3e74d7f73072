"""What a server tells in a legacy handshake."""

from typing import TYPE_CHECKING

from mcp_types._lazy import lazy_names

if TYPE_CHECKING:
    from mcp.server._initialization import InitializationOptions
else:
    __getattr__, __dir__ = lazy_names(__name__, {"InitializationOptions": "mcp.server._initialization"})

__all__ = ["InitializationOptions", "NotificationOptions"]


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
