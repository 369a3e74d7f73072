"""Fixtures that every test may use."""

import pytest


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Run each asynchronous test on both event loops."""
    return request.param
