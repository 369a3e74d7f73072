"""Random cancellations among many calls. The numbers are small here; `load.py` runs larger ones."""

from __future__ import annotations

import gc

import anyio
import pytest

from tests.interaction.load import Load, load_in_memory, load_over_http


@pytest.mark.rule("CANC-11", "CANC-14")
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_calls_in_memory_survive_the_giving_up_of_others() -> None:
    with anyio.fail_after(60):
        load = await load_in_memory(1_000)
    assert sum(load.outcomes.values()) == 1_000
    assert load.outcomes["given up"] > 50


@pytest.mark.rule("CANC-11", "CANC-14", "CANC-24")
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_calls_over_http_survive_the_giving_up_of_others() -> None:
    with anyio.fail_after(60):
        load = await load_over_http(300)
    assert sum(load.outcomes.values()) == 300
    assert load.outcomes["given up"] > 15
    gc.collect()  # what was not closed would complain here


@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_calls_on_trio_survive_the_giving_up_of_others() -> None:
    load = Load(1_000)
    with anyio.fail_after(60):
        await load.run(load.server)
        await load.settle()
    assert sum(load.outcomes.values()) == 1_000
