"""`run("streamable-http", workers=N)`: several processes, one address, one key that nobody had to configure."""

from __future__ import annotations

import os
import re
import signal
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from mcp.server._fleet_check import FleetServer, sign_in_command, warn_of_what_is_not_shared
from mcp.server.mcpserver import MCPServer, RequestStateSecurity
from mcp.stores import MemoryStore, SQLiteStore
from tests.interaction.processes import ServerProcess, uvicorn, workers
from tests.interaction.test_fleet import NEW, ask, asleep, call, text_in
from tests.server.boundaries import tallied_log
from tests.server.http.serving import connected, post

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs fork()")

SEVERAL = "Several workers serve"
KEY_OF_ITS_OWN = "each one seals requestState with a key of its own"


@pytest.mark.rule("MRTR-26")
def test_a_call_that_one_worker_began_is_finished_by_another_with_no_configuration() -> None:
    with workers(2) as served, connected(served.port) as connection:
        worker = int(text_in(ask(connection, call("process"))))
        asked = ask(connection, call("provision", {"name": "db"}))
        who = ask(connection, call("pay"))
        with asleep(worker):
            done = post(served.port, call("provision", {"name": "db"}, after=asked))
            how_much = post(served.port, call("pay", after=who))
        paid = ask(connection, call("pay", after=how_much))
    text = text_in(done)
    assert text.startswith(f"db in eu, asked by {worker}, done by ")
    assert not text.endswith(f" {worker}")
    assert text_in(paid) == "bob pays 3"
    assert not any(KEY_OF_ITS_OWN in line for line in served.log)


def test_a_worker_that_is_killed_is_replaced_by_one_that_knows_the_key() -> None:
    with workers(2) as served:
        with connected(served.port) as connection:
            worker = int(text_in(ask(connection, call("process"))))
            asked = ask(connection, call("provision", {"name": "db"}))
            os.kill(worker, signal.SIGKILL)
        served.wait_for(rf"Worker {worker} ended \(killed by SIGKILL\); another one takes its place")
        served.wait_for("is ready", times=3)
        ready = [int(found[1]) for line in served.log if (found := re.search(r"Worker (\d+) is ready", line))]
        [other] = {*ready[:2]} - {worker}
        with asleep(other):
            done = post(served.port, call("provision", {"name": "db"}, after=asked))
    assert text_in(done) == f"db in eu, asked by {worker}, done by {ready[2]}"


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, -signal.SIGTERM), (signal.SIGINT, 0)])
def test_a_signal_ends_all_workers_in_good_order(number: int, status: int) -> None:
    with workers(3) as served:
        served.signal(number)
        assert served.wait() == status
    assert sum("cleaned up" in line for line in served.log) == 3
    assert not any("takes its place" in line for line in served.log)
    assert not any("Traceback" in line for line in served.log)


def test_workers_end_with_the_process_that_started_them_even_if_it_was_killed() -> None:
    with workers(2) as served:
        served.signal(signal.SIGKILL)
        assert served.wait() == -signal.SIGKILL
    assert sum("cleaned up" in line for line in served.log) == 2


def test_a_worker_that_does_not_end_is_killed() -> None:
    with workers(2) as served, connected(served.port) as connection:
        worker = int(text_in(ask(connection, call("process"))))
        with asleep(worker):
            served.signal(signal.SIGTERM)
            served.wait_for("cleaned up")
            served.signal(signal.SIGTERM)  # a second one does not wait
            assert served.wait() == -signal.SIGTERM


def test_an_application_that_does_not_start_ends_everything_with_uvicorns_status() -> None:
    served = ServerProcess("-m", "tests.interaction.workers_program", "2", "fails")
    try:
        assert served.wait() == 3
    finally:
        served.stop()
    assert any("no database" in line for line in served.log)


def test_an_address_in_use_is_one_line_in_the_log() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        served = ServerProcess("-m", "tests.interaction.workers_program", "2", str(port))
        try:
            assert served.wait() == 1
        finally:
            served.stop()
    assert any(f"Cannot listen on 127.0.0.1, port {port}: " in line for line in served.log)
    assert not any("Traceback" in line for line in served.log)


@pytest.mark.parametrize("count", [0, -1, True, 1.5, "2", None])
def test_a_number_of_workers_that_is_none_is_refused(count: object) -> None:
    with pytest.raises(ValueError, match=rf"^workers must be a positive number, got {count!r}$"):
        MCPServer("s").run("streamable-http", workers=count)


@pytest.mark.parametrize("transport", ["stdio", "sse"])
def test_other_transports_have_no_workers(transport: str) -> None:
    with pytest.raises(TypeError, match="got an unexpected keyword argument 'workers'"):
        MCPServer("s").run(transport, workers=2)  # type: ignore[arg-type]


def test_a_system_without_fork_is_told_another_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "fork")
    with pytest.raises(RuntimeError, match=r"uvicorn module:app --workers 4.*RequestStateSecurity\.from_env\(\)"):
        MCPServer("s").run("streamable-http", workers=2)


# Workers that somebody else starts


def test_workers_of_uvicorn_without_a_shared_key_are_a_warning_when_they_start() -> None:
    with uvicorn(None, workers=2) as [served]:
        served.wait_for(rf"{SEVERAL} \(2 workers of uvicorn\).*RequestStateSecurity\.from_env\(\)", times=2)


def test_workers_of_uvicorn_with_a_shared_key_are_none() -> None:
    with uvicorn(NEW, workers=2) as [served]:
        pass
    assert not any(KEY_OF_ITS_OWN in line for line in served.log)


@pytest.mark.parametrize(
    ("command", "environ", "sign"),
    [
        (["/usr/bin/gunicorn", "-w", "4", "app:app"], {}, "4 workers"),
        (["/usr/bin/gunicorn", "-w4", "app:app"], {}, "4 workers"),
        (["/usr/lib/python3/gunicorn/__main__.py", "--workers=2", "app:app"], {}, "2 workers"),
        (["hypercorn", "--workers", "3", "app:app"], {}, "3 workers"),
        (["granian", "app:app", "--workers", "2"], {}, "2 workers"),
        (["gunicorn", "app:app"], {"WEB_CONCURRENCY": "8"}, "8 workers"),
        (["gunicorn", "-w", "1", "app:app"], {"WEB_CONCURRENCY": "8"}, None),
        (["gunicorn", "app:app"], {}, None),
        (["gunicorn", "app:app", "--workers"], {}, None),
        (["server.py", "--workers", "4"], {"WEB_CONCURRENCY": "8"}, None),
        ([], {}, None),
        ([""], {}, None),
    ],
)
def test_other_servers_say_on_their_command_line_how_many_workers_there_are(
    command: list[str], environ: dict[str, str], sign: str | None
) -> None:
    assert sign_in_command(command, environ) == sign


def low_level(security: RequestStateSecurity | None) -> FleetServer:
    return MCPServer("s", request_state_security=security)._lowlevel_server


@pytest.mark.parametrize("use", ["single_use", "park"])
def test_a_store_in_memory_is_not_shared_by_workers(use: str, tmp_path: Path) -> None:
    in_memory: dict[str, Any] = {use: MemoryStore()}
    in_a_file: dict[str, Any] = {use: SQLiteStore(tmp_path / "state.db")}
    with tallied_log() as lines:
        for options in (in_memory, in_a_file, {}):
            server = low_level(RequestStateSecurity(keys=[NEW], **options))
            warn_of_what_is_not_shared(server, "run(workers=...)", stateless=True)
    [line] = lines
    assert f"{use}=MemoryStore() is in the memory of each" in line
    assert "mcp.stores.SQLiteStore(path)" in line


def test_a_key_of_this_process_is_not_shared_by_workers_that_others_start() -> None:
    with tallied_log() as lines:
        warn_of_what_is_not_shared(low_level(None), "4 workers", stateless=True)
    [line] = lines
    assert line.startswith(f"WARNING {SEVERAL} (4 workers), and each one seals requestState with a key of its own")
