"""What authors write: `Resolve` in an annotation, and the questions that a resolver may return."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from uuid import uuid4

from pydantic import BaseModel

import mcp_types as types
from mcp_types._lazy import lazy_module

if TYPE_CHECKING:
    from mcp.server import _questions, elicitation
else:
    _questions = lazy_module("mcp.server._questions")
    elicitation = lazy_module("mcp.server.elicitation")

T = TypeVar("T", bound=BaseModel)


class Resolve:
    """Says, inside `Annotated`, that the server fills the parameter by calling `fn`.

    The parameter is no argument of the tool: the model neither sees nor sends it. `fn` may take a `Context`, other
    resolved parameters, and arguments of the tool by name. It returns the value, or a question to the client whose
    answer is the value.

    ```python
    async def ask_quantity(item: str) -> Elicit[Quantity]:
        return Elicit(f"How many {item}?", Quantity)

    @mcp.tool()
    async def order(item: str, quantity: Annotated[Quantity, Resolve(ask_quantity)]) -> str:
        return f"{quantity.count} × {item}"
    ```

    Args:
        fn: The resolver: a sync or async function, a method, a class, or any other callable.
    """

    __slots__ = ("fn",)

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = fn


class Elicit(Generic[T]):
    """A question to the user: a form to fill in.

    Derive the message from arguments and earlier answers only. A text that changes from round to round (a time, a live
    value) is another question each time, and no answer to it is ever accepted.

    Args:
        message: What the user is asked.
        schema: The form: a pydantic model with plain fields.
    """

    __slots__ = ("message", "schema")

    def __init__(self, message: str, schema: type[T]) -> None:
        self.message = message
        self.schema = schema

    def question(self) -> _questions.Question[elicitation.ElicitationResult[T]]:
        """Return what is sent, and how its answer is read."""
        return _questions.FormQuestion(self.message, self.schema)


class ElicitUrl:
    """A question to the user: whether they will visit a URL.

    The value is `AcceptedUrlElicitation` when they agree, which does not mean that they are done there.

    Args:
        message: Why the user should go there.
        url: Where to go.
    """

    __slots__ = ("message", "url")

    def __init__(self, message: str, url: str) -> None:
        self.message = message
        self.url = url

    def question(self) -> _questions.Question[elicitation.UrlElicitationResult]:
        """Return what is sent, and how its answer is read."""
        # Older revisions require an id; on the modern wire it is left out.
        return _questions.UrlQuestion(self.message, self.url, uuid4().hex)


class Sample:
    """A question to the client's model.

    The value is a `CreateMessageResult`, or with `tools` or `tool_choice` a `CreateMessageResultWithTools`.

    Args:
        messages: The conversation.
        max_tokens: How long the answer may be.
        system_prompt: The system prompt.
        include_context: Whose context the client should add.
        temperature: The sampling temperature.
        stop_sequences: Texts that end the answer.
        metadata: Settings of the client's model provider.
        model_preferences: What kind of model is wanted.
        tools: The tools that the model may call.
        tool_choice: Whether it must call one.
    """

    __slots__ = ("params",)

    def __init__(
        self,
        messages: list[types.SamplingMessage],
        *,
        max_tokens: int,
        system_prompt: str | None = None,
        include_context: types.IncludeContext | None = None,
        temperature: float | None = None,
        stop_sequences: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        model_preferences: types.ModelPreferences | None = None,
        tools: list[types.Tool] | None = None,
        tool_choice: types.ToolChoice | None = None,
    ) -> None:
        self.params = types.CreateMessageRequestParams(
            messages=messages,
            max_tokens=max_tokens,
            system_prompt=system_prompt,
            include_context=include_context,
            temperature=temperature,
            stop_sequences=stop_sequences,
            metadata=metadata,
            model_preferences=model_preferences,
            tools=tools,
            tool_choice=tool_choice,
        )

    def question(self) -> _questions.Question[types.CreateMessageResult | types.CreateMessageResultWithTools]:
        """Return what is sent, and how its answer is read."""
        return _questions.SamplingQuestion(self.params)


class ListRoots:
    """A question to the client: its roots. The value is a `ListRootsResult`."""

    __slots__ = ()

    def question(self) -> _questions.Question[types.ListRootsResult]:
        """Return what is sent, and how its answer is read."""
        return _questions.RootsQuestion()


Marker = Elicit[Any] | ElicitUrl | Sample | ListRoots
MARKER_TYPES: tuple[type, ...] = (Elicit, ElicitUrl, Sample, ListRoots)
