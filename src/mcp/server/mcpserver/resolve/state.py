"""What a call has asked and learned, as the text that travels in `requestState` (sealed on its way out)."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any, Final, TypeGuard, cast

from mcp._protocol.codec import encode_input_response
from mcp._protocol.jsonrpc import dumps, loads
from mcp.server._asking import Answer, Record
from mcp.server._claims import RECORD_MARKER, RECORD_PREFIX

logger = logging.getLogger(__name__)

_VERSION: Final = 1
_LARGE: Final = 64 * 1024


def dump_record(record: Record) -> str:
    """Write a record as compact JSON. Members that hold nothing are left out."""
    members: dict[str, Any] = {RECORD_MARKER: _VERSION}
    if record.asked:
        members["asked"] = record.asked
    if record.answers:
        members["answers"] = {key: [answer.digest, _wire(answer)] for key, answer in record.answers.items()}
    if record.changed:
        members["changed"] = record.changed
    if record.refused:
        members["refused"] = record.refused
    if record.warned:
        members["warned"] = True
    if record.once:
        members["once"] = record.once
    if record.places:
        members["places"] = record.places
    text = dumps(members).decode("utf-8")
    if len(text) > _LARGE:
        logger.warning(
            "The recorded answers of this call take %d characters of requestState, and travel with every further round",
            len(text),
        )
    return text


def load_record(state: str | None) -> Record:
    """Read a record; anything that is none, such as a state that an author wrote, is an empty one."""
    if state is None or not state.startswith(RECORD_PREFIX):
        return Record()
    try:
        members: Any = loads(state)
    except ValueError:
        return Record()
    if members.get(RECORD_MARKER) != _VERSION:
        return Record()
    record = Record(warned=members.get("warned") is True)
    for key, digest in _items(members, "asked"):
        if isinstance(digest, str):
            record.asked[key] = digest
    for key, pair in _items(members, "answers"):
        if _is_answer(pair):
            record.answers[key] = Answer(pair[0], wire=pair[1])
    record.once.update(_items(members, "once"))
    record.places.update((key, place) for key, place in _items(members, "places") if isinstance(place, str))
    for counts, name in ((record.changed, "changed"), (record.refused, "refused")):
        counts.update((key, count) for key, count in _items(members, name) if type(count) is int)
    return record


def _wire(answer: Answer) -> dict[str, Any]:
    """An answer in wire form, its content exactly as the client sent it."""
    if answer.wire is None:
        assert answer.response is not None
        answer.wire = encode_input_response(answer.response)
    return answer.wire


def _items(members: dict[str, Any], name: str) -> Iterable[tuple[str, Any]]:
    value = members.get(name)
    return cast("dict[str, Any]", value).items() if isinstance(value, dict) else ()


def _is_answer(value: Any) -> TypeGuard[tuple[str, dict[str, Any]]]:
    return (
        isinstance(value, list)
        and len(cast("list[Any]", value)) == 2
        and isinstance(value[0], str)
        and isinstance(value[1], dict)
    )
