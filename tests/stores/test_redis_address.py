"""What a Redis adapter sees without a server: whether its package is there, and whether its address is one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mcp.server.redis import RedisEventStore, RedisSubscriptionBus
from mcp.stores import RedisStore
from tests.programs import run_program

ADAPTERS = [RedisStore, RedisSubscriptionBus, RedisEventStore]


def test_without_the_package_every_adapter_says_at_once_how_to_get_it() -> None:
    program = """
import sys
sys.modules["redis"] = None
from mcp.server.redis import RedisEventStore, RedisSubscriptionBus
from mcp.stores import RedisStore
for adapter in (RedisStore, RedisSubscriptionBus, RedisEventStore):
    try:
        adapter("redis://localhost")
    except ImportError as error:
        print(error)
"""
    line = "the package redis is not installed, which a Redis URL needs: pip install 'rondo-mcp[redis]'\n"
    assert run_program("-c", program) == line * 3


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_an_address_of_something_else_is_refused_at_once(adapter: Callable[[str], Any]) -> None:
    with pytest.raises(ValueError, match="redis://"):
        adapter("localhost:6379")
