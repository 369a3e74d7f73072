"""The part of `Context` that asks the client in the middle of a function."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from pydantic import BaseModel

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import NoBackChannelError
from mcp_types._lazy import lazy_module

if TYPE_CHECKING:
    from mcp.server import _asking, _questions, elicitation
    from mcp.server import session as _session
else:
    _asking = lazy_module("mcp.server._asking")
    _questions = lazy_module("mcp.server._questions")
    elicitation = lazy_module("mcp.server.elicitation")
    _session = lazy_module("mcp.server.session")

OutcomeT = TypeVar("OutcomeT")
ElicitSchemaModelT = TypeVar("ElicitSchemaModelT", bound=BaseModel)

_CURES: Final = (
    "Register the function with resumable=True, or give it a parameter with a resolver (Resolve), or return an "
    "InputRequiredResult."
)


class Journal(Protocol):
    """How a resumable function asks, and what it has done."""

    async def ask(self, kind: str, question: _questions.Question[OutcomeT]) -> OutcomeT: ...
    async def once(self, key: str, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any: ...


class AskingContext:
    """What a `Context` asks with."""

    __slots__ = ()

    _journal: Journal | None

    @property
    def request_context(self) -> ServerRequestContext[Any, Any]:
        """The request, as the low-level server sees it."""
        raise NotImplementedError

    @property
    def session(self) -> _session.ServerSession:
        """The way back to the client."""
        raise NotImplementedError

    async def elicit(
        self, message: str, schema: type[ElicitSchemaModelT]
    ) -> elicitation.ElicitationResult[ElicitSchemaModelT]:
        """Ask the user to fill in a form, in the middle of this request.

        On modern connections the function has to be registered with `resumable=True`. There it is suspended, and runs
        again from its start when the answer is there; this call then returns it.

        Args:
            message: What the user is asked.
            schema: The form: a pydantic model with plain fields.

        Raises:
            NoBackChannelError: The connection has no way to ask, and the function is not resumable.
            InvalidAnswerError: The answer does not fit the form.
        """
        if self._journal is not None:
            return await self._journal.ask("elicit", _questions.FormQuestion(message, schema))
        with _name_cures():
            return await elicitation.elicit_with_validation(
                self.session, message, schema, self.request_context.request_id
            )

    async def elicit_url(self, message: str, url: str, elicitation_id: str) -> elicitation.UrlElicitationResult:
        """Ask the user to open a URL, in the middle of this request. See `elicit`.

        Args:
            message: Why the user should go there.
            url: Where to go.
            elicitation_id: A name of your choice; legacy connections only.

        Raises:
            NoBackChannelError: The connection has no way to ask, and the function is not resumable.
        """
        if self._journal is not None:
            return await self._journal.ask("elicit_url", _questions.UrlQuestion(message, url, elicitation_id))
        with _name_cures():
            return await elicitation.elicit_url(
                self.session, message, url, elicitation_id, self.request_context.request_id
            )

    async def sample(
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
    ) -> types.CreateMessageResult | types.CreateMessageResultWithTools:
        """Ask the client's model, in the middle of this request. See `elicit`, and `Sample` for the arguments.

        Raises:
            NoBackChannelError: The connection has no way to ask, and the function is not resumable.
            InvalidAnswerError: The answer is no message.
        """
        params = types.CreateMessageRequestParams(
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
        return await self._ask("sample", _questions.SamplingQuestion(params))

    async def list_roots(self) -> types.ListRootsResult:
        """Ask the client for its roots, in the middle of this request. See `elicit`.

        Raises:
            NoBackChannelError: The connection has no way to ask, and the function is not resumable.
            InvalidAnswerError: The answer is no list of roots.
        """
        return await self._ask("list_roots", _questions.RootsQuestion())

    async def _ask(self, kind: str, question: _questions.Question[OutcomeT]) -> OutcomeT:
        if self._journal is not None:
            return await self._journal.ask(kind, question)
        scope = self.session.scope
        with _name_cures():
            return await _asking.AskNow(scope.ask, scope.client, asker="a call of")(f"ctx.{kind}", question)

    async def once(self, key: str, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a function for its effect, and do not repeat it when the body runs again (`resumable=True`).

        Its result travels in the sealed state, so it has to be JSON, or a model or dataclass, of which the JSON form is
        returned. It runs exactly once while every response arrives; after a lost response at most once if the server
        counts uses of tokens (`single_use`), else at least once. A function that raises has not run.

        ```python
        receipt = await ctx.once("charge", charge, amount=order.amount)
        ```

        Args:
            key: Names the effect within this call; one name for each turn of a loop.
            fn: The function, asynchronous or not.
            args: Its arguments by position.
            kwargs: Its arguments by name.

        Returns:
            What the function returned, as JSON.

        Raises:
            TypeError: The result is nothing that JSON can carry.
            RuntimeError: The function that serves this request is not resumable.
        """
        if self._journal is None:
            raise RuntimeError("ctx.once(...) is for functions that run again: register this one with resumable=True")
        return await self._journal.once(key, fn, args, kwargs)


@contextmanager
def _name_cures() -> Generator[None]:
    try:
        yield
    except NoBackChannelError as error:
        error.message = f"{error.message} {_CURES}"
        raise
