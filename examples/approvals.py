"""A question on a web page, answered by whoever comes by, and a worker that goes on with the call.

Two processes and one file:

    .venv/bin/python examples/approvals.py page calls.db 8001
    .venv/bin/python examples/approvals.py worker calls.db

The worker begins a call. Its question appears on http://127.0.0.1:8001, and when somebody has answered it there the
worker resumes the call and prints the result. Either of them may be stopped and started again in between.
"""

from __future__ import annotations

import html
import json
import sys
from typing import Annotated

import anyio
import uvicorn
from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from mcp import Client
from mcp.client import PendingCall, PendingCalls
from mcp.client.forms import FormError, FormField, fill_form, form_fields
from mcp.server.mcpserver import Elicit, MCPServer, RequestStateSecurity, Resolve
from mcp.stores import SQLiteStore
from mcp.types import CallToolResult, ElicitRequest, ElicitRequestFormParams, ElicitResult

DAY = 86_400.0

# The server. Its key outlives a process; a real one would not stand here.
security = RequestStateSecurity(keys=["a key for this example, and no other use"], ttl=DAY)
server = MCPServer("Purchases", request_state_security=security)


class Decision(BaseModel):
    approved: bool
    remark: str = ""


async def ask(item: str, price: int) -> Elicit[Decision]:
    return Elicit(f"Buy {item} for {price} EUR?", Decision)


@server.tool()
async def buy(item: str, price: int, decision: Annotated[Decision, Resolve(ask)]) -> str:
    """Buy something, if somebody approves."""
    return f"{'bought' if decision.approved else 'did not buy'} {item} ({decision.remark or 'no remark'})"


# The worker: begins a call if none waits, and goes on with those that were answered.


async def work(store: SQLiteStore) -> None:
    calls = PendingCalls(store)
    async with Client(server) as client:
        if not await calls.list("waiting"):
            await client.begin("call_tool", "buy", {"item": "a boat", "price": 900}, store=calls, deadline_seconds=DAY)
        print("waiting for somebody to answer", flush=True)
        while waiting := await calls.list("waiting"):
            for call in waiting:
                answers = await store.take(f"answers:{call.id}")
                if answers is not None:
                    responses = {key: ElicitResult.model_validate(each) for key, each in json.loads(answers).items()}
                    await client.resume(call, responses, store=calls)
            await anyio.sleep(0.1)
    for call in await calls.list("done"):
        result = call.result()
        assert isinstance(result, CallToolResult)
        print(result.structured_content, flush=True)
        await calls.remove(call.id)


# The page: shows what waits, checks what is filled in, and leaves it for the worker.


def page(store: SQLiteStore) -> Starlette:
    calls = PendingCalls(store)

    async def show(request: Request) -> Response:
        forms = [form_of(call) for call in await calls.list("waiting")]
        return HTMLResponse("<h1>Questions</h1>" + ("".join(forms) or "<p>None.</p>"))

    async def answer(request: Request) -> Response:
        call = await calls.get(request.path_params["call_id"])
        if call is None or call.status != "waiting":
            return HTMLResponse("<p>Somebody was faster.</p>", 409)
        values = await request.form()
        answers: dict[str, ElicitResult] = {}
        for key, params in questions_of(call).items():
            if "decline" in values:
                answers[key] = ElicitResult(action="decline")
                continue
            filled = {
                field.name: [str(value) for value in values.getlist(f"{key}/{field.name}")]
                if field.kind == "choices"
                else str(values.get(f"{key}/{field.name}", ""))
                for field in form_fields(params)
            }
            try:
                answers[key] = fill_form(params, filled)
            except FormError as error:
                return HTMLResponse(f"<p>{html.escape(str(error))}</p>", 422)
        text = json.dumps({key: result.model_dump(mode="json", exclude_none=True) for key, result in answers.items()})
        await store.put(f"answers:{call.id}", text.encode(), DAY)
        return RedirectResponse("/", 303)

    return Starlette(routes=[Route("/", show), Route("/{call_id}", answer, methods=["POST"])])


def questions_of(call: PendingCall) -> dict[str, ElicitRequestFormParams]:
    return {
        key: request.params
        for key, request in call.requests.items()
        if isinstance(request, ElicitRequest) and isinstance(request.params, ElicitRequestFormParams)
    }


def form_of(call: PendingCall) -> str:
    parts: list[str] = []
    for key, params in questions_of(call).items():
        parts.append(f"<p>{html.escape(params.message)}</p>")
        parts += [f"<label>{html.escape(each.label)} {widget(key, each)}</label><br>" for each in form_fields(params)]
    buttons = '<button>Answer</button> <button name="decline" value="1" formnovalidate>Decline</button>'
    return f'<form method="post" action="/{call.id}">{"".join(parts)}{buttons}</form>'


def widget(key: str, field: FormField) -> str:
    name = html.escape(f"{key}/{field.name}")
    if field.kind == "boolean":
        return f'<input type="checkbox" name="{name}">'
    if field.kind in ("choice", "choices"):
        options = "".join(
            f'<option value="{html.escape(each.value)}">{html.escape(each.label)}</option>' for each in field.choices
        )
        return f'<select name="{name}" {"multiple" if field.kind == "choices" else ""}>{options}</select>'
    kind = {"number": "number", "integer": "number"}.get(field.kind, "text")
    return f'<input type="{kind}" name="{name}" {"required" if field.required else ""}>'


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["page", path, port] if port.isdecimal():
            uvicorn.run(page(SQLiteStore(path)), port=int(port), log_level="warning")
        case ["worker", path]:
            anyio.run(work, SQLiteStore(path))
        case _:
            sys.exit("usage: approvals.py page FILE PORT, or approvals.py worker FILE")
