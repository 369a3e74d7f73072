"""A fleet behind nginx, without any affinity: instances die and come back, keys rotate, Redis goes away."""

from __future__ import annotations

import json
import random
import secrets
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from mcp import Client
from mcp.client import ClientRequestContext
from mcp.shared.exceptions import MCPError
from mcp.types import (
    CallToolResult,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestParams,
    ElicitResult,
    InputRequiredResult,
    ListRootsResult,
    TextContent,
)
from tests.external.redis_server import RedisServer, client_of
from tests.programs import ROOT, environment, free_port, wait_for_port

pytestmark = [pytest.mark.timeout(300), pytest.mark.parametrize("anyio_backend", ["asyncio"])]

CALLS = 500
AT_A_TIME = 40
OLD, NEW = secrets.token_hex(32), secrets.token_hex(32)

NGINX = """
daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
    uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
    upstream fleet {{ {servers} }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://fleet; proxy_buffering off; proxy_http_version 1.1; proxy_set_header Host localhost;
        }}
    }}
}}
"""


class Instance:
    """One process of the fleet, always at the same port."""

    def __init__(self, keys: Path, redis: str, log: Path) -> None:
        self.port = free_port()
        self._command = [sys.executable, "-m", "tests.external.fleet_program", str(self.port), str(keys), redis]
        self._log = log
        self.start()

    def start(self) -> None:
        env = environment()
        env["PYTHONPATH"] += f":{ROOT}"
        with self._log.open("a") as log:
            self._process = subprocess.Popen(self._command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stderr=log)

    def wait(self) -> None:
        wait_for_port(self.port, self._process)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(10)


class Fleet:
    """nginx before three instances, with Redis behind them."""

    def __init__(self, folder: Path, redis: RedisServer, stack: ExitStack) -> None:
        self.folder = folder
        self.redis = redis
        self.keys = folder / "keys"
        self.log = folder / "log"
        self.rotate(OLD)
        self.instances = [Instance(self.keys, redis.url, self.log) for _ in range(3)]
        for instance in self.instances:
            stack.callback(instance.kill)
        for instance in self.instances:
            instance.wait()
        port = free_port()
        self.url = f"http://127.0.0.1:{port}/mcp"
        servers = "".join(f"server 127.0.0.1:{instance.port} max_fails=0;" for instance in self.instances)
        config = folder / "nginx.conf"
        config.write_text(NGINX.format(folder=folder, servers=servers, port=port))
        program = shutil.which("nginx") or "/usr/sbin/nginx"
        nginx = subprocess.Popen([program, "-c", str(config), "-e", str(folder / "error.log")])
        stack.callback(nginx.wait, 10)
        stack.callback(nginx.terminate)
        wait_for_port(port, nginx)

    def rotate(self, *keys: str) -> None:
        beside = self.folder / "keys.new"
        beside.write_text("\n".join(keys))
        beside.replace(self.keys)


@contextmanager
def running(folder: Path) -> Generator[Fleet]:
    with ExitStack() as stack:
        redis = RedisServer(folder)
        stack.callback(redis.close)
        yield Fleet(folder, redis, stack)


@pytest.fixture
def fleet(tmp_path: Path) -> Generator[Fleet]:
    with running(tmp_path) as started:
        yield started


async def elicit(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
    return ElicitResult(action="accept", content={"name": f"<{params.message}>"})


async def sample(context: ClientRequestContext, params: CreateMessageRequestParams) -> CreateMessageResult:
    content = params.messages[0].content
    assert isinstance(content, TextContent)
    return CreateMessageResult(role="assistant", content=TextContent(type="text", text=f"[{content.text}]"), model="m")


async def roots(context: ClientRequestContext) -> ListRootsResult:
    return ListRootsResult.model_validate({"roots": [{"uri": "file:///home"}]})


def connect(url: str) -> Client:
    return Client(
        url,
        mode="2026-07-28",
        elicitation_callback=elicit,
        sampling_callback=sample,
        list_roots_callback=roots,
        read_timeout_seconds=30,
    )


def expected(call: str) -> str:
    name = f"<Name for {call}?>"
    return f"{call}: {name}, [Greet {name}], file:///home, effect 1"


def text_of(result: object) -> str:
    assert isinstance(result, CallToolResult)
    content = result.content[0]
    assert isinstance(content, TextContent)
    return content.text


class Orders:
    """Calls that are made until each has its result."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._left = list(range(CALLS))
        self._under_way: dict[int, anyio.Event] = {}
        self.errors: Counter[str] = Counter()
        self.are_enough = False

    async def work(self) -> None:
        """Make one call after the other, and go on when all are made until there were enough."""
        number = CALLS
        while self._left or not self.are_enough:
            number = self._left.pop() if self._left else number + CALLS
            ended = self._under_way[number] = anyio.Event()
            await self._order(number)
            del self._under_way[number]
            ended.set()

    async def _order(self, number: int) -> None:
        for attempt in range(50):
            call = f"{number}.{attempt}.{secrets.token_hex(4)}"
            try:
                async with connect(self._url) as client:
                    text = text_of(await client.call_tool("order", {"call": call}))
            except MCPError as error:
                if not error.is_local:  # only a killed socket explains a failure
                    raise
                self.errors[str(error)[:60]] += 1
            else:
                assert text == expected(call)
                return
        raise AssertionError(f"call {number} never came to its end: {self.errors}")

    async def drain(self) -> None:
        """Wait until no call is under way that is now."""
        for ended in list(self._under_way.values()):
            await ended.wait()


async def test_calls_come_to_their_end_while_instances_die_and_keys_rotate(fleet: Fleet) -> None:
    orders = Orders(fleet.url)
    chaos = random.Random(5)

    async def kill() -> None:
        while True:
            instance = chaos.choice(fleet.instances)
            await anyio.to_thread.run_sync(instance.kill)
            instance.start()
            await anyio.to_thread.run_sync(instance.wait)

    async def rotate() -> None:
        for keys in ((OLD, NEW), (NEW, OLD), (NEW,)):
            await orders.drain()
            fleet.rotate(*keys)
            # Every instance looks at the file within a second; what an old key has sealed until then is drained above.
            await anyio.sleep(2)
        orders.are_enough = True

    with anyio.fail_after(240):
        async with anyio.create_task_group() as disorder:
            disorder.start_soon(kill)
            disorder.start_soon(rotate)
            async with anyio.create_task_group() as group:
                for _ in range(AT_A_TIME):
                    group.start_soon(orders.work)
            disorder.cancel_scope.cancel()
    effects = await effects_of(fleet)
    assert len(effects) >= CALLS
    assert {call: count for call, count in effects.items() if count != 1} == {}
    log = fleet.log.read_text()
    assert "requestState rejected" not in log
    assert OLD not in log
    assert NEW not in log


async def effects_of(fleet: Fleet) -> dict[str, int]:
    client = client_of(fleet.redis.url)
    keys = [key async for key in client.scan_iter("effect:*", count=1000)]
    effects = {key.decode(): int(await client.get(key)) for key in keys}
    await client.aclose()
    return effects


async def test_no_replay_is_accepted_by_any_instance_and_no_state_can_be_read(fleet: Fleet) -> None:
    tokens: list[tuple[dict[str, Any], dict[str, Any]]] = []
    async with connect(fleet.url) as client:
        arguments = {"call": "replayed"}
        result: Any = await client.session.call_tool("order", arguments, allow_input_required=True)
        while isinstance(result, InputRequiredResult):
            assert result.request_state is not None
            assert result.request_state.startswith("r1.")
            answers: dict[str, Any] = {}
            for key, request in (result.input_requests or {}).items():
                if isinstance(request, ElicitRequest):
                    answers[key] = await elicit(None, request.params)  # type: ignore[arg-type]
                elif request.method == "sampling/createMessage":
                    answers[key] = await sample(None, request.params)  # type: ignore[arg-type]
                else:
                    answers[key] = await roots(None)  # type: ignore[arg-type]
            tokens.append(({"request_state": result.request_state}, answers))
            given: dict[str, Any] = {"request_state": result.request_state, "input_responses": answers}
            result = await client.session.call_tool("order", arguments, **given, allow_input_required=True)
        assert text_of(result) == expected("replayed")
        assert len(tokens) == 3
        for _ in range(3):  # once for each instance
            for state, answers in tokens:
                with pytest.raises(MCPError, match="Invalid or expired requestState"):
                    await client.session.call_tool("order", arguments, input_responses=answers, **state)
    assert await effects_of(fleet) == {"effect:replayed": 1}
    wire = json.dumps([state for state, _ in tokens])
    assert "Name for" not in wire
    assert fleet.log.read_text().count("requestState rejected on tools/call: replay") == 9


async def test_while_redis_is_away_calls_that_need_no_store_go_on_and_others_fail_clearly(fleet: Fleet) -> None:
    async with connect(fleet.url) as client:
        fleet.redis.kill()
        processes = {text_of(await client.call_tool("process", {})) for _ in range(6)}
        assert len(processes) == 3
        for _ in range(3):
            with pytest.raises(MCPError) as caught:
                await client.call_tool("order", {"call": "away"})
            assert (caught.value.code, caught.value.is_local) == (-32603, False)
            assert str(caught.value) == "The store for requestState does not answer; try again later"
        fleet.redis.start()
        assert text_of(await client.call_tool("order", {"call": "back"})) == expected("back")
