"""Ask the person at the client: a form to fill in, or a URL to visit.

The functions here ask in the middle of a request, which takes a legacy session. Parameters with resolvers
(`mcp.server.mcpserver.Elicit`) and `InputRequiredResult` work on modern connections.
"""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, ValidationError
from typing_extensions import TypeAliasType, TypeVar

import mcp_types as types
from mcp.server._forms import Form
from mcp.server.session import ServerSession

__all__ = [
    "AcceptedElicitation",
    "AcceptedUrlElicitation",
    "CancelledElicitation",
    "DeclinedElicitation",
    "ElicitSchemaModelT",
    "ElicitationResult",
    "InvalidAnswerError",
    "UrlElicitationResult",
    "elicit_url",
    "elicit_with_validation",
    "render_elicitation_schema",
]

ElicitSchemaModelT = TypeVar("ElicitSchemaModelT", bound=BaseModel, default=Any)


class AcceptedElicitation(BaseModel, Generic[ElicitSchemaModelT]):
    """The user filled in the form."""

    model_config = ConfigDict(defer_build=True)

    action: Literal["accept"] = "accept"
    data: ElicitSchemaModelT
    """What the user filled in."""


class AcceptedUrlElicitation(BaseModel):
    """The user agreed to visit the URL, which does not mean that they are done there."""

    model_config = ConfigDict(defer_build=True)

    action: Literal["accept"] = "accept"


class DeclinedElicitation(BaseModel):
    """The user said no."""

    model_config = ConfigDict(defer_build=True)

    action: Literal["decline"] = "decline"


class CancelledElicitation(BaseModel):
    """The user dismissed the question without an answer."""

    model_config = ConfigDict(defer_build=True)

    action: Literal["cancel"] = "cancel"


ElicitationResult = TypeAliasType(
    "ElicitationResult",
    AcceptedElicitation[ElicitSchemaModelT] | DeclinedElicitation | CancelledElicitation,
    type_params=(ElicitSchemaModelT,),
)
"""What became of a form: accepted with its data, declined, or cancelled."""

UrlElicitationResult: TypeAlias = AcceptedUrlElicitation | DeclinedElicitation | CancelledElicitation
"""What became of a request to visit a URL."""


class InvalidAnswerError(ValueError):
    """The client answered a question with something that is no answer to it.

    The text is made for the model: it never contains what the user typed.

    Attributes:
        problem: What is wrong, as the end of a sentence that begins with who asked.
        advice: What to tell the user when the question is asked again.
    """

    def __init__(self, problem: str, advice: str = "The last answer could not be used.") -> None:
        super().__init__(problem[:1].upper() + problem[1:])
        self.problem = problem
        self.advice = advice


def render_elicitation_schema(schema: type[BaseModel]) -> dict[str, Any]:
    """Render a flat pydantic model as the JSON Schema of a form.

    Fields may be strings (formats `email`, `uri`, `date`, `date-time`), numbers, booleans, a choice of one value
    (`Literal`, `Enum`), or of several (`list[Literal[...]]`, `set[...]`). A field that allows `None` may be left out.

    Raises:
        TypeError: A field is none of these.
    """
    return Form(schema).schema()


async def elicit_with_validation(
    session: ServerSession,
    message: str,
    schema: type[ElicitSchemaModelT],
    related_request_id: types.RequestId | None = None,
) -> ElicitationResult[ElicitSchemaModelT]:
    """Ask the user to fill in a form, and check what they filled in.

    Args:
        session: The session of the request in hand.
        message: What the user is asked.
        schema: A flat pydantic model: the form's fields.
        related_request_id: The request that the question belongs to.

    Raises:
        NoBackChannelError: The request in hand has no way to ask (every modern request).
        MCPError: The client answered with an error, or does not do forms.
        InvalidAnswerError: The answer does not fit the form.
        TypeError: The schema has a field that no form can hold.
    """
    form = Form(schema)
    result = await session.elicit_form(message, form.schema(), related_request_id)
    return read_form_answer(form, result)


async def elicit_url(
    session: ServerSession,
    message: str,
    url: str,
    elicitation_id: str,
    related_request_id: types.RequestId | None = None,
) -> UrlElicitationResult:
    """Ask the user to visit a URL.

    Args:
        session: The session of the request in hand.
        message: Why the user should go there.
        url: Where to go.
        elicitation_id: A name of your choice, for `session.send_elicit_complete` when the user is done there.
        related_request_id: The request that the question belongs to.

    Raises:
        NoBackChannelError: The request in hand has no way to ask (every modern request).
        MCPError: The client answered with an error, or does not open URLs.
    """
    result = await session.elicit_url(message, url, elicitation_id, related_request_id)
    return read_url_answer(result)


def read_form_answer(
    form: Form[ElicitSchemaModelT], result: types.ElicitResult
) -> ElicitationResult[ElicitSchemaModelT]:
    """Turn the answer to a form into its outcome.

    Raises:
        InvalidAnswerError: It was accepted without content, or with content that does not fit.
    """
    if result.action != "accept":
        return _refusal(result)
    if result.content is None:
        raise InvalidAnswerError("received an accepted elicitation with no content", "The last answer was empty.")
    try:
        data = form.read(result.content)
    except ValidationError as error:
        members = ", ".join(form.bad_members(error))
        raise InvalidAnswerError(
            "received an accepted elicitation whose content does not match the requested schema",
            f"The last answer does not fit the form{members and f' (see: {members})'}.",
        ) from None
    return AcceptedElicitation(data=data)


def read_url_answer(result: types.ElicitResult) -> UrlElicitationResult:
    """Turn the answer to a URL into its outcome."""
    return AcceptedUrlElicitation() if result.action == "accept" else _refusal(result)


def _refusal(result: types.ElicitResult) -> DeclinedElicitation | CancelledElicitation:
    return DeclinedElicitation() if result.action == "decline" else CancelledElicitation()
