from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp._protocol.freshness import MAX_TTL_MS, is_fresh, lifetime_ms, partitions, stale_after, target_of


@pytest.mark.rule("CACHE-12", "CACHE-13", "CACHE-14", "CACHE-15", "CACHE-C-06", "CACHE-C-07")
@pytest.mark.parametrize(
    ("said", "default", "modern", "lifetime"),
    [
        (5, 0, True, 5),
        (5, 9, True, 5),
        (0, 9, True, 0),
        (-1, 9, True, 0),
        (None, 9, True, 9),
        (None, 0, True, 0),
        (5, 9, False, 9),
        (5, 0, False, 0),
        (10**12, 0, True, MAX_TTL_MS),
        (None, 10**12, False, MAX_TTL_MS),
    ],
)
def test_how_long_a_result_may_be_kept(said: int | None, default: int, modern: bool, lifetime: int) -> None:
    assert lifetime_ms(said, default, modern=modern) == lifetime


@pytest.mark.rule("CACHE-16", "CACHE-C-05")
def test_a_result_is_fresh_until_the_moment_it_ends() -> None:
    assert is_fresh(10, 9.999)
    assert not is_fresh(10, 10)
    assert not is_fresh(None, 0)


@pytest.mark.rule("CACHE-23", "CACHE-29", "CACHE-D2")
def test_what_a_notification_makes_stale() -> None:
    assert stale_after("notifications/tools/list_changed", None) == [("tools/list", "")]
    assert stale_after("notifications/prompts/list_changed", {}) == [("prompts/list", "")]
    resources = [("resources/list", ""), ("resources/templates/list", "")]
    assert stale_after("notifications/resources/list_changed", {}) == resources
    assert stale_after("notifications/resources/updated", {"uri": "a://b"}) == [("resources/read", "a://b")]
    assert stale_after("notifications/resources/updated", {"uri": 3}) == []
    assert stale_after("notifications/message", {}) == []


@pytest.mark.rule("CACHE-32")
def test_a_target_is_the_url_without_its_user() -> None:
    plain = hashlib.sha256(b"https://host/mcp?a=1#b@c").hexdigest()
    assert target_of("https://host/mcp?a=1#b@c") == target_of("https://user:p@ss@host/mcp?a=1#b@c") == plain
    assert target_of("https://host/mcp") != target_of("https://host/mcp/") != target_of("https://HOST/mcp/")
    assert target_of("my@server") == hashlib.sha256(b"my@server").hexdigest()


@pytest.mark.rule("CACHE-31")
def test_partitions_are_json_arrays() -> None:
    private, public = partitions("v", "t", "u", share_public=False)
    assert (json.loads(private), json.loads(public)) == (["private", "v", "t", "u"], ["public", "v", "t", "u"])
    assert json.loads(partitions("v", "t", "u", share_public=True)[1]) == ["public", "v", "t"]


@given(first=st.tuples(st.text(), st.text(), st.text()), second=st.tuples(st.text(), st.text(), st.text()))
def test_what_differs_is_kept_apart(first: tuple[str, str, str], second: tuple[str, str, str]) -> None:
    same = partitions(*first, share_public=False) == partitions(*second, share_public=False)
    assert same == (first == second)
