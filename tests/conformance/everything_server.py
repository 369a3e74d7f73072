"""A server with one of everything, for the public conformance suite: `python everything_server.py --port 3001`.

The suite fixes the names, texts and shapes of what is here. Both eras are served on one URL: the handlers do not ask
which one a client speaks, with the exception of the two methods that only the handshake era has.
"""

import argparse
import base64
import json
from collections import deque
from typing import Annotated, Any, Literal

import anyio
from pydantic import BaseModel, Field

from mcp.server import CacheHint, ServerRequestContext
from mcp.server.context import CallNext, HandlerResult
from mcp.server.mcpserver import (
    AcceptedElicitation,
    Audio,
    Context,
    Elicit,
    ElicitationResult,
    Image,
    MCPServer,
    Resolve,
    Sample,
    UserMessage,
)
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.types import (
    ClientCapabilities,
    Completion,
    CompletionArgument,
    CompletionContext,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    CreateMessageResultWithTools,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    EmbeddedResource,
    InputRequest,
    InputRequiredResult,
    JSONRPCMessage,
    ListRootsRequest,
    ListRootsResult,
    PromptReference,
    ResourceTemplateReference,
    SamplingMessage,
    TextContent,
    TextResourceContents,
)
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
WAV = base64.b64decode("UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA==")

JSON_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


SUBSCRIBE_METHODS = ("resources/subscribe", "resources/unsubscribe")


async def test_simple_text() -> str:
    """Return a text."""
    return "This is a simple text response for testing."


async def contact(name: str = "", phone: str = "", email: str = "") -> str:
    return f"{name or 'Somebody'}: {phone or email}"


contact_tool = Tool.from_function(
    contact, "json_schema_2020_12_tool", description="Tool with JSON Schema 2020-12 features"
)
contact_tool.parameters = JSON_SCHEMA


async def accept_subscriptions(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Let clients of the handshake era subscribe; those of this one listen, and are told that the method is gone."""
    if ctx.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS and ctx.method in SUBSCRIBE_METHODS:
        return {}
    return await call_next(ctx)


server = MCPServer(
    "Everything",
    version="1.0.0",
    tools=[test_simple_text, contact_tool],  # the suite calls the first tool, without arguments
    description="One of everything that a server can offer.",
    cache_hints={"tools/list": CacheHint(ttl_ms=1000, scope="public")},
    middleware=[accept_subscriptions],
    log_level="ERROR",  # the suite sends much that is refused with a warning
)


# What tools return


@server.tool()
async def test_image_content() -> Image:
    """Return an image."""
    return Image(data=PNG, format="png")


@server.tool()
async def test_audio_content() -> Audio:
    """Return a sound."""
    return Audio(data=WAV, format="wav")


def embedded(uri: str, mime_type: str, text: str) -> EmbeddedResource:
    return EmbeddedResource(type="resource", resource=TextResourceContents(uri=uri, mime_type=mime_type, text=text))


@server.tool()
async def test_embedded_resource() -> EmbeddedResource:
    """Return a resource."""
    return embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")


@server.tool(structured_output=False)
async def test_multiple_content_types() -> list[str | Image | EmbeddedResource]:
    """Return a text, an image and a resource."""
    return [
        "Multiple content types test:",
        Image(data=PNG, format="png"),
        embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ]


@server.tool()
async def test_error_handling() -> str:
    """Fail."""
    raise ToolError("This tool intentionally returns an error for testing")


@server.tool()
async def test_tool_with_progress(ctx: Context) -> str:
    """Report progress on the way."""
    for done in (0, 50, 100):
        await ctx.report_progress(done, total=100)
        await anyio.sleep(0.05)
    return "Progress reported."


@server.tool()
async def test_tool_with_logging(ctx: Context) -> str:
    """Log on the way."""
    for text in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await ctx.info(text)  # pyright: ignore[reportDeprecated]
        await anyio.sleep(0.05)
    return "Messages logged."


@server.tool()
async def test_logging_tool(ctx: Context) -> str:
    """Log something; only clients that ask for it hear of it."""
    await ctx.info("A message for those who want it")  # pyright: ignore[reportDeprecated]
    return "Message logged."


@server.tool()
async def test_reconnection(ctx: Context) -> str:
    """Let the client come back for the result."""
    await ctx.close_sse_stream()
    await anyio.sleep(0.1)
    return "Reconnected."


@server.tool()
async def test_x_mcp_header(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]) -> str:
    """Take an argument that clients mirror into a header, for those on the way who route by it."""
    return f"Region: {region}"


# Changes


async def extra() -> str:
    """Be there every other time."""
    return "extra"


@server.tool()
async def test_trigger_tool_change(ctx: Context) -> str:
    """Change the list of tools."""
    if any(tool.name == "extra" for tool in await ctx.mcp_server.list_tools()):
        ctx.mcp_server.remove_tool("extra")
    else:
        ctx.mcp_server.add_tool(extra)
    await ctx.notify_tools_changed()
    return "Tools changed."


@server.tool()
async def test_trigger_prompt_change(ctx: Context) -> str:
    """Tell that the list of prompts changed."""
    await ctx.notify_prompts_changed()
    return "Prompts changed."


# Questions asked by resolvers: one code for both eras


async def ask_model(prompt: str) -> Sample:
    return Sample(
        [SamplingMessage(role="user", content=TextContent(type="text", text=prompt))],
        max_tokens=100,
    )


def text_of(answer: CreateMessageResult | CreateMessageResultWithTools) -> str:
    blocks = answer.content if isinstance(answer.content, list) else [answer.content]
    return " ".join(block.text for block in blocks if isinstance(block, TextContent))


@server.tool()
async def test_sampling(prompt: str, answer: Annotated[CreateMessageResult, Resolve(ask_model)]) -> str:
    """Ask the client's model."""
    return f"LLM response: {text_of(answer)}"


async def ask_for_nothing() -> Sample:
    return await ask_model("Say anything.")


@server.tool()
async def test_missing_capability(answer: Annotated[CreateMessageResult, Resolve(ask_for_nothing)]) -> str:
    """Need a model: a client without one is refused."""
    return text_of(answer)


class Account(BaseModel):
    username: Annotated[str, Field(description="User's response")]
    email: Annotated[str, Field(description="User's email address")]


async def ask_account(message: str) -> Elicit[Account]:
    return Elicit(message, Account)


class Profile(BaseModel):
    name: str = "John Doe"
    age: int = 30
    score: float = 95.5
    status: Literal["active", "inactive", "pending"] = "active"
    verified: bool = True


async def ask_profile() -> Elicit[Profile]:
    return Elicit("Please check your profile.", Profile)


def outcome(result: ElicitationResult[Any]) -> str:
    content = result.data.model_dump_json() if isinstance(result, AcceptedElicitation) else "{}"
    return f"action={result.action}, content={content}"


@server.tool()
async def test_elicitation(message: str, account: Annotated[ElicitationResult[Account], Resolve(ask_account)]) -> str:
    """Ask the user."""
    return f"User response: {outcome(account)}"


@server.tool()
async def test_elicitation_sep1034_defaults(
    profile: Annotated[ElicitationResult[Profile], Resolve(ask_profile)],
) -> str:
    """Ask the user with a form that is filled in already."""
    return f"Elicitation completed: {outcome(profile)}"


@server.tool()
async def test_streaming_elicitation(profile: Annotated[Profile, Resolve(ask_profile)]) -> str:
    """Ask the user in a round of its own, never on the stream."""
    return f"Hello, {profile.name}!"


CHOICES = [
    {"const": f"value{number}", "title": f"{word} Option"}
    for number, word in enumerate(("First", "Second", "Third"), 1)
]
MANY_CHOICES = [
    {"const": f"value{number}", "title": f"{word} Choice"}
    for number, word in enumerate(("First", "Second", "Third"), 1)
]
OPTIONS = ["option1", "option2", "option3"]

ENUMS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "untitledSingle": {"type": "string", "enum": OPTIONS},
        "titledSingle": {"type": "string", "oneOf": CHOICES},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": OPTIONS}},
        "titledMulti": {"type": "array", "items": {"anyOf": MANY_CHOICES}},
    },
}


@server.tool()
async def test_elicitation_sep1330_enums(ctx: Context) -> str:
    """Ask with every kind of choice; a form written by hand goes where a model's form goes."""
    answer = await ctx.session.elicit_form("Please choose.", ENUMS, ctx.request_context.request_id)
    return f"Elicitation completed: action={answer.action}, content={json.dumps(answer.content)}"


# Questions returned by hand: the keys and the state are the author's


def ask(message: str, **properties: str) -> ElicitRequest:
    """Make a question whose form has these fields, all of them required."""
    return ElicitRequest(
        params=ElicitRequestFormParams(
            message=message,
            requested_schema={
                "type": "object",
                "properties": {name: {"type": kind} for name, kind in properties.items()},
                "required": list(properties),
            },
        )
    )


def sample(prompt: str, max_tokens: int = 100) -> CreateMessageRequest:
    message = SamplingMessage(role="user", content=TextContent(type="text", text=prompt))
    return CreateMessageRequest(params=CreateMessageRequestParams(messages=[message], max_tokens=max_tokens))


ASK_NAME = ask("What is your name?", name="string")


def answer_to(ctx: Context, key: str) -> Any:
    return (ctx.input_responses or {}).get(key)


def field(answer: object, name: str) -> Any:
    """Read one field of an accepted form; `None` if there is no such answer."""
    return answer.content.get(name) if isinstance(answer, ElicitResult) and answer.content else None


@server.tool(name="test_input_required_result_elicitation")
async def ask_user(ctx: Context) -> str | InputRequiredResult:
    """Ask for a name."""
    name = field(answer_to(ctx, "user_name"), "name")
    return f"Hello, {name}!" if name else InputRequiredResult(input_requests={"user_name": ASK_NAME})


@server.tool(name="test_input_required_result_sampling")
async def ask_capital(ctx: Context) -> str | InputRequiredResult:
    """Ask the client's model for a capital."""
    answer = answer_to(ctx, "capital_question")
    if not isinstance(answer, CreateMessageResult | CreateMessageResultWithTools):
        return InputRequiredResult(input_requests={"capital_question": sample("What is the capital of France?")})
    return text_of(answer)


@server.tool(name="test_input_required_result_list_roots")
async def ask_roots(ctx: Context) -> str | InputRequiredResult:
    """Ask for the roots."""
    answer = answer_to(ctx, "client_roots")
    if not isinstance(answer, ListRootsResult):
        return InputRequiredResult(input_requests={"client_roots": ListRootsRequest()})
    return f"Roots: {', '.join(str(root.uri) for root in answer.roots)}"


@server.tool(name="test_input_required_result_request_state")
async def ask_with_state(ctx: Context) -> str | InputRequiredResult:
    """Ask, and remember by a state that the client carries."""
    if ctx.request_state == "confirming" and field(answer_to(ctx, "confirm"), "ok") is not None:
        return "state-ok"
    return InputRequiredResult(
        input_requests={"confirm": ask("Please confirm", ok="boolean")}, request_state="confirming"
    )


@server.tool(name="test_input_required_result_tampered_state")
async def ask_with_sealed_state(ctx: Context) -> str | InputRequiredResult:
    """Ask, with a state that nobody can change unnoticed: every server seals its states."""
    if ctx.request_state == "sealed":
        return "state-ok"
    return InputRequiredResult(input_requests={"confirm": ask("Please confirm", ok="boolean")}, request_state="sealed")


@server.tool(name="test_input_required_result_multiple_inputs")
async def ask_everybody(ctx: Context) -> str | InputRequiredResult:
    """Ask the user, the model and the client at once."""
    questions: dict[str, InputRequest] = {
        "user_name": ASK_NAME,
        "greeting": sample("Generate a greeting", max_tokens=50),
        "client_roots": ListRootsRequest(),
    }
    if questions.keys() <= (ctx.input_responses or {}).keys():
        return f"{text_of(answer_to(ctx, 'greeting'))} {field(answer_to(ctx, 'user_name'), 'name')}"
    return InputRequiredResult(input_requests=questions, request_state="asked")


@server.tool(name="test_input_required_result_multi_round")
async def ask_twice(ctx: Context) -> str | InputRequiredResult:
    """Ask one question after the other; the state remembers the first answer."""
    earlier = json.loads(ctx.request_state or "{}")
    name = earlier.get("name") or field(answer_to(ctx, "step1"), "name")
    if not name:
        question = ask("Step 1: What is your name?", name="string")
        return InputRequiredResult(input_requests={"step1": question}, request_state="{}")
    color = field(answer_to(ctx, "step2"), "color")
    if not color:
        question = ask("Step 2: What is your favorite color?", color="string")
        return InputRequiredResult(input_requests={"step2": question}, request_state=json.dumps({"name": name}))
    return f"{name} likes {color}."


@server.tool(name="test_input_required_result_capabilities")
async def ask_who_can_answer(ctx: Context) -> str | InputRequiredResult:
    """Ask only what this client can answer."""
    if ctx.input_responses:
        return f"Answered: {', '.join(sorted(ctx.input_responses))}"
    able = ctx.client_capabilities or ClientCapabilities()
    questions: dict[str, InputRequest] = {}
    if able.elicitation is not None:
        questions["user_name"] = ASK_NAME
    if able.sampling is not None:
        questions["greeting"] = sample("Generate a greeting")
    if able.roots is not None:
        questions["client_roots"] = ListRootsRequest()
    return InputRequiredResult(input_requests=questions) if questions else "Nobody can be asked."


# Prompts


@server.prompt()
async def test_simple_prompt() -> str:
    """Say one thing."""
    return "This is a simple prompt for testing."


@server.prompt()
async def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    """Use two arguments."""
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@server.prompt()
async def test_prompt_with_embedded_resource(resourceUri: str) -> list[UserMessage]:
    """Bring a resource."""
    return [
        UserMessage(embedded(resourceUri, "text/plain", "Embedded resource content for testing.")),
        UserMessage("Please process the embedded resource above."),
    ]


@server.prompt()
async def test_prompt_with_image() -> list[UserMessage]:
    """Bring an image."""
    return [UserMessage(Image(data=PNG, format="png")), UserMessage("Please analyze the image above.")]


@server.prompt()
async def test_input_required_result_prompt(ctx: Context) -> str | InputRequiredResult:
    """Ask what it needs to know."""
    context = field(answer_to(ctx, "user_context"), "context")
    if context is None:
        question = ask("What context should the prompt use?", context="string")
        return InputRequiredResult(input_requests={"user_context": question})
    return f"Consider this: {context}"


@server.completion()
async def complete(
    ref: PromptReference | ResourceTemplateReference, argument: CompletionArgument, context: CompletionContext | None
) -> Completion | None:
    """Suggest values."""
    return Completion(values=[value for value in ("testValue1", "testValue2") if value.startswith(argument.value)])


# Resources


@server.resource("test://static-text", mime_type="text/plain")
async def static_text() -> str:
    """A text."""
    return "This is the content of the static text resource."


@server.resource("test://static-binary", mime_type="image/png")
async def static_binary() -> bytes:
    """An image."""
    return PNG


@server.resource("test://watched-resource", mime_type="text/plain")
async def watched_resource() -> str:
    """A text that can be watched."""
    return "Nothing has happened yet."


@server.resource("test://template/{id}/data", mime_type="application/json")
async def template_data(id: str) -> str:
    """Something for each id."""
    return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})


class LatestEvents(EventStore):
    """Keeps the latest events of all streams in memory."""

    def __init__(self, limit: int = 1000) -> None:
        self._events: deque[tuple[int, str, JSONRPCMessage | None]] = deque(maxlen=limit)
        self._count = 0

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        self._count += 1
        self._events.append((self._count, stream_id, message))
        return str(self._count)

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        events = list(self._events)
        stream_id = next((stream for number, stream, _ in events if str(number) == last_event_id), None)
        for number, stream, message in events:
            if stream == stream_id and number > int(last_event_id) and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream_id


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=3001)
    port = parser.parse_args().port
    server.run("streamable-http", port=port, event_store=LatestEvents(), retry_interval=500)


if __name__ == "__main__":
    main()
