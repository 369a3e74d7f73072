"""`Prompt`: a message template that a user selects, and the messages it is made of."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeAlias, cast

from pydantic import BaseModel, ConfigDict, Field

import mcp_types as types
from mcp.server.mcpserver._details import check_texts, read_icons
from mcp.server.mcpserver._failures import is_designed
from mcp.server.mcpserver._function import Function
from mcp.server.mcpserver._output import content_types, text_of
from mcp.server.mcpserver._signature import InvalidArguments
from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.exceptions import PromptError
from mcp.server.mcpserver.tools.base import description_for, name_for
from mcp.server.mcpserver.utilities.types import Audio, File, Image
from mcp.shared.exceptions import MCPError

__all__ = ["AssistantMessage", "Message", "Prompt", "PromptArgument", "PromptResult", "UserMessage"]


class Message(BaseModel):
    """One message of a rendered prompt.

    Args:
        content: A text, a content block, or an image, audio or file.
        role: Who says it.
    """

    model_config = ConfigDict(defer_build=True)

    role: Literal["user", "assistant"]
    content: types.ContentBlock

    def __init__(self, content: str | types.ContentBlock | Image | Audio | File, **kwargs: Any) -> None:
        super().__init__(content=_to_content(content), **kwargs)


class UserMessage(Message):
    """A message of the user."""

    role: Literal["user", "assistant"] = "user"

    def __init__(self, content: str | types.ContentBlock | Image | Audio | File, **kwargs: Any) -> None:
        super().__init__(content, **kwargs)


class AssistantMessage(Message):
    """A message of the assistant."""

    role: Literal["user", "assistant"] = "assistant"

    def __init__(self, content: str | types.ContentBlock | Image | Audio | File, **kwargs: Any) -> None:
        super().__init__(content, **kwargs)


PromptItem: TypeAlias = (
    "str | types.ContentBlock | Image | Audio | File | Message | types.PromptMessage | dict[str, Any]"
)
PromptResult: TypeAlias = (
    "PromptItem | list[PromptItem] | tuple[PromptItem, ...] | types.GetPromptResult | types.InputRequiredResult"
)
"""What a prompt function may return."""


class InvalidPromptRequest(PromptError):
    """The client asked for a prompt that is unknown, or with arguments that do not fit."""


class PromptArgument(BaseModel):
    """One argument of a prompt, as listings show it.

    Attributes:
        name: Its name.
        description: What it is for.
        required: Whether it has to be given.
    """

    model_config = ConfigDict(defer_build=True)

    name: str
    description: str | None = None
    required: bool = False


class Prompt(BaseModel):
    """A message template that a user selects.

    Attributes:
        name: The name it is asked for by.
        title: A name for people.
        description: What it is for.
        arguments: What can be filled in.
        fn: The function that renders it.
        icons: Icons.
        context_kwarg: The parameter that receives the `Context`.
        function: What registration found out about the function.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, defer_build=True)

    name: str
    title: str | None = None
    description: str | None = None
    arguments: list[PromptArgument] | None = None
    fn: Callable[..., Any] = Field(exclude=True)
    icons: list[types.Icon] | None = None
    context_kwarg: str | None = Field(default=None, exclude=True)
    function: Function = Field(exclude=True)

    @classmethod
    def from_function(
        cls,
        fn: Callable[..., PromptResult | Awaitable[PromptResult]],
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        icons: list[types.Icon] | None = None,
        context_kwarg: str | None = None,
        *,
        resumable: bool = False,
    ) -> Prompt:
        """Make a prompt of a function.

        Args:
            fn: The function.
            name: The prompt's name; the function's by default.
            title: A name for people.
            description: What it is for; the function's docstring by default.
            icons: Icons.
            context_kwarg: The parameter that receives the `Context`; found by its annotation by default.
            resumable: Whether the function asks in the middle of its body; see `MCPServer.tool`.

        Raises:
            ValueError: There is no name.
            InvalidSignature: The function cannot be called as it is written.
        """
        prompt_name = name_for(fn, name)
        owner = f"prompt {prompt_name!r}"
        check_texts(owner, name=prompt_name, title=title, description=description)
        function = Function(
            fn,
            owner_kind="prompt",
            owner_name=prompt_name,
            context_kwarg=context_kwarg,
            strict=False,
            resumable=resumable,
        )
        arguments = [
            PromptArgument(name=parameter.wire_name, description=parameter.description, required=parameter.required)
            for parameter in function.arguments.parameters
        ]
        return cls.model_construct(
            name=prompt_name,
            title=title,
            description=description_for(fn, description),
            arguments=arguments,
            fn=fn,
            icons=read_icons(owner, icons),
            context_kwarg=function.context_kwarg,
            function=function,
        )

    def as_listed(self) -> types.Prompt:
        """The prompt as `prompts/list` shows it."""
        return types.Prompt(
            name=self.name,
            title=self.title,
            description=self.description,
            arguments=[
                types.PromptArgument(name=item.name, description=item.description, required=item.required)
                for item in self.arguments or ()
            ],
            icons=self.icons,
        )

    async def render(
        self, arguments: dict[str, Any] | None, context: Context[Any, Any]
    ) -> list[Message] | types.InputRequiredResult:
        """Render the messages.

        Raises:
            PromptError: It cannot be rendered (a `ValueError`).
            MCPError: The function answered with a protocol error.
        """
        result = await self.get(arguments, context, mask=True)
        if isinstance(result, types.InputRequiredResult):
            return result
        return [Message(message.content, role=message.role) for message in result.messages]

    async def get(
        self, arguments: dict[str, Any] | None, context: Context[Any, Any], *, mask: bool
    ) -> types.GetPromptResult | types.InputRequiredResult:
        """Render the messages as the result of `prompts/get`.

        Args:
            arguments: The client's arguments.
            context: The request.
            mask: Whether an unexpected exception is replaced by a `PromptError`, as direct callers want it.

        Raises:
            InvalidPromptRequest: The arguments do not fit.
            PromptError: The function, or a question it needs answered, says that it cannot be rendered.
            MCPError: The function answered with a protocol error.
        """
        try:
            value = await self.function.call(self._complete(arguments or {}), context)
            if isinstance(value, types.InputRequiredResult):
                return value
            return self._to_result(value)
        except InvalidArguments as error:
            raise InvalidPromptRequest(f"Invalid arguments for prompt {self.name}: {error.text}") from error
        except (MCPError, PromptError):
            raise
        except Exception as error:
            if is_designed(error):
                raise PromptError(f"Error rendering prompt {self.name}: {error}") from error
            if mask:
                raise PromptError(f"Error rendering prompt {self.name}") from error
            raise

    def _complete(self, arguments: dict[str, Any]) -> dict[str, Any]:
        missing = [item.name for item in self.arguments or () if item.required and item.name not in arguments]
        if missing:
            names = ", ".join(map(repr, missing))
            raise InvalidPromptRequest(f"Missing required arguments for prompt {self.name}: {names}")
        return arguments

    def _to_result(self, value: Any) -> types.GetPromptResult:
        if isinstance(value, types.GetPromptResult):
            if value.description is not None:
                return value
            return value.model_copy(update={"description": self.description})
        if value is None:
            items: list[Any] = []  # PROMPT-D6
        else:
            items = list(cast("list[Any]", value)) if isinstance(value, (list, tuple)) else [value]
        return types.GetPromptResult(description=self.description, messages=[_to_message(item) for item in items])


def _to_message(value: Any) -> types.PromptMessage:
    if isinstance(value, types.PromptMessage):
        return value
    if isinstance(value, dict):
        value = _read_message(cast("dict[str, Any]", value))
    if isinstance(value, Message):
        return types.PromptMessage(role=value.role, content=value.content)
    return types.PromptMessage(role="user", content=_to_content(value))


def _read_message(value: dict[str, Any]) -> Message:
    if "content" not in value or "role" not in value:
        raise ValueError(f"a prompt message needs 'role' and 'content', got {sorted(map(str, value))}")
    return Message(value["content"], role=value["role"])


def _to_content(value: Any) -> Any:
    """Turn a value into the content of a message; dicts are left to the model, which reads them as a content block."""
    if isinstance(value, (*content_types(), dict)):
        return cast("Any", value)
    if isinstance(value, Image):
        return value.to_image_content()
    if isinstance(value, Audio):
        return value.to_audio_content()
    if isinstance(value, File):
        return value.to_embedded_resource()
    return types.TextContent(type="text", text=value if isinstance(value, str) else text_of(value))
