"""What clients and servers can do."""

from typing import Any

from mcp_types._model import MCPModel


class RootsCapability(MCPModel):
    """The client has roots."""

    list_changed: bool | None = None
    """Whether it tells when they change (legacy revisions only)."""


class SamplingContextCapability(MCPModel):
    """Sampling requests may ask for context from servers."""


class SamplingToolsCapability(MCPModel):
    """Sampling requests may bring tools."""


class SamplingCapability(MCPModel):
    """The client lets servers ask its model."""

    context: SamplingContextCapability | None = None
    """Present if `include_context` may be other than `none`."""
    tools: SamplingToolsCapability | None = None
    """Present if `tools` and `tool_choice` may be set."""


class FormElicitationCapability(MCPModel):
    """The client can show forms."""


class UrlElicitationCapability(MCPModel):
    """The client can send its user to a URL."""


class ElicitationCapability(MCPModel):
    """The client lets servers ask its user. Without a mode it means forms."""

    form: FormElicitationCapability | None = None
    """Present if the client can show forms."""
    url: UrlElicitationCapability | None = None
    """Present if the client can send its user to a URL."""


class TasksListCapability(MCPModel):
    """Tasks can be listed."""


class TasksCancelCapability(MCPModel):
    """Tasks can be cancelled."""


class TasksCreateMessageCapability(MCPModel):
    """Sampling can run as a task."""


class TasksSamplingCapability(MCPModel):
    """Which sampling requests can run as tasks."""

    create_message: TasksCreateMessageCapability | None = None


class TasksCreateElicitationCapability(MCPModel):
    """Elicitation can run as a task."""


class TasksElicitationCapability(MCPModel):
    """Which elicitation requests can run as tasks."""

    create: TasksCreateElicitationCapability | None = None


class ClientTasksRequestsCapability(MCPModel):
    """Which requests the client can run as tasks."""

    sampling: TasksSamplingCapability | None = None
    elicitation: TasksElicitationCapability | None = None


class ClientTasksCapability(MCPModel):
    """The client runs tasks (2025-11-25 only)."""

    list: TasksListCapability | None = None
    cancel: TasksCancelCapability | None = None
    requests: ClientTasksRequestsCapability | None = None


class ClientCapabilities(MCPModel):
    """What a client can do. Whatever is None, it cannot."""

    experimental: dict[str, dict[str, Any]] | None = None
    """What is not in the specification, by name."""
    sampling: SamplingCapability | None = None
    elicitation: ElicitationCapability | None = None
    roots: RootsCapability | None = None
    tasks: ClientTasksCapability | None = None
    extensions: dict[str, dict[str, Any]] | None = None
    """Settings of the extensions it understands, by identifier (modern revisions only)."""


class PromptsCapability(MCPModel):
    """The server has prompts."""

    list_changed: bool | None = None
    """Whether it tells when their list changes."""


class ResourcesCapability(MCPModel):
    """The server has resources."""

    subscribe: bool | None = None
    """Whether it tells when one of them changes."""
    list_changed: bool | None = None
    """Whether it tells when their list changes."""


class ToolsCapability(MCPModel):
    """The server has tools."""

    list_changed: bool | None = None
    """Whether it tells when their list changes."""


class LoggingCapability(MCPModel):
    """The server sends log messages."""


class CompletionsCapability(MCPModel):
    """The server completes arguments."""


class TasksCallCapability(MCPModel):
    """Tool calls can run as tasks."""


class TasksToolsCapability(MCPModel):
    """Which tool requests can run as tasks."""

    call: TasksCallCapability | None = None


class ServerTasksRequestsCapability(MCPModel):
    """Which requests the server can run as tasks."""

    tools: TasksToolsCapability | None = None


class ServerTasksCapability(MCPModel):
    """The server runs tasks (2025-11-25 only)."""

    list: TasksListCapability | None = None
    cancel: TasksCancelCapability | None = None
    requests: ServerTasksRequestsCapability | None = None


class ServerCapabilities(MCPModel):
    """What a server can do. Whatever is None, it cannot."""

    experimental: dict[str, dict[str, Any]] | None = None
    """What is not in the specification, by name."""
    logging: LoggingCapability | None = None
    prompts: PromptsCapability | None = None
    resources: ResourcesCapability | None = None
    tools: ToolsCapability | None = None
    completions: CompletionsCapability | None = None
    tasks: ServerTasksCapability | None = None
    extensions: dict[str, dict[str, Any]] | None = None
    """Settings of the extensions it understands, by identifier (modern revisions only)."""


class MissingRequiredClientCapabilityErrorData(MCPModel):
    """The `data` of a `MISSING_REQUIRED_CLIENT_CAPABILITY` error."""

    required_capabilities: ClientCapabilities
    """What the client would have to declare."""


__all__ = [
    "ClientCapabilities",
    "ClientTasksCapability",
    "ClientTasksRequestsCapability",
    "CompletionsCapability",
    "ElicitationCapability",
    "FormElicitationCapability",
    "LoggingCapability",
    "MissingRequiredClientCapabilityErrorData",
    "PromptsCapability",
    "ResourcesCapability",
    "RootsCapability",
    "SamplingCapability",
    "SamplingContextCapability",
    "SamplingToolsCapability",
    "ServerCapabilities",
    "ServerTasksCapability",
    "ServerTasksRequestsCapability",
    "TasksCallCapability",
    "TasksCancelCapability",
    "TasksCreateElicitationCapability",
    "TasksCreateMessageCapability",
    "TasksElicitationCapability",
    "TasksListCapability",
    "TasksSamplingCapability",
    "TasksToolsCapability",
    "ToolsCapability",
    "UrlElicitationCapability",
]
