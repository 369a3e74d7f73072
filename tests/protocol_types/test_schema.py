"""Our types against the schemas that the protocol publishes: whatever a schema allows is read, kept and written."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import Annotated, Any, Final, TypeAlias, cast

import pytest
from pydantic import Field, TypeAdapter, ValidationError

import mcp_types as types
from mcp_types._input_required import AnyInputRequest, AnyInputResponse
from mcp_types.version import KNOWN_PROTOCOL_VERSIONS
from tests.protocol_types.schemas import definitions, instances, validator

ORACLES: Final = KNOWN_PROTOCOL_VERSIONS

RENAMED: Final[dict[str, Any]] = {
    "ContentBlock": Annotated[types.ContentBlock, Field(discriminator="type")],
    "CreateMessageResult": AnyInputResponse,
    "ElicitationCompleteNotification": types.ElicitCompleteNotification,
    "Error": types.ErrorData,
    "InputRequest": AnyInputRequest,
    "InputRequests": dict[str, AnyInputRequest],
    "InputResponse": AnyInputResponse,
    "InputResponses": dict[str, AnyInputResponse],
    "JSONRPCMessage": types.jsonrpc_message_adapter,
    "ResourceReference": types.ResourceTemplateReference,
    "JSONRPCErrorResponse": types.JSONRPCError,
    "JSONRPCResultResponse": types.JSONRPCResponse,
    "RequestMetaObject": types.RequestParamsMeta,
    "SamplingMessageContentBlock": Annotated[types.SamplingMessageContentBlock, Field(discriminator="type")],
}
"""Definitions whose type is called something else here, or is not a class."""

WITHOUT_A_TYPE: Final = {
    "a part of other definitions": ["Annotated", "Icons", "ResourceRequestParams", "TaskAugmentedRequestParams"],
    "a batch, which later revisions took back": ["JSONRPCBatchRequest", "JSONRPCBatchResponse"],
    "any JSON": ["JSONArray", "JSONObject", "JSONValue"],
    "an open map": ["MetaObject", "NotificationMetaObject", "ResultMetaObject", "SubscriptionsListenResultMetaObject"],
    "a plain string": ["Cursor"],
    "the schema of a form, which is a plain dict here": [
        "BooleanSchema",
        "EnumSchema",
        "LegacyTitledEnumSchema",
        "MultiSelectEnumSchema",
        "NumberSchema",
        "PrimitiveSchemaDefinition",
        "SingleSelectEnumSchema",
        "StringSchema",
        "TitledMultiSelectEnumSchema",
        "TitledSingleSelectEnumSchema",
        "UntitledMultiSelectEnumSchema",
        "UntitledSingleSelectEnumSchema",
    ],
    "an error with its code, whose data has a type": [
        "HeaderMismatchError",
        "InternalError",
        "InvalidParamsError",
        "InvalidRequestError",
        "MethodNotFoundError",
        "MissingRequiredClientCapabilityError",
        "ParseError",
        "URLElicitationRequiredError",
        "UnsupportedProtocolVersionError",
    ],
    "a response around a result that has a type": [
        "CallToolResultResponse",
        "CompleteResultResponse",
        "DiscoverResultResponse",
        "GetPromptResultResponse",
        "ListPromptsResultResponse",
        "ListResourceTemplatesResultResponse",
        "ListResourcesResultResponse",
        "ListToolsResultResponse",
        "ReadResourceResultResponse",
        "SubscriptionsListenResultResponse",
    ],
    "a base, whose members belong to its subclasses here": [
        "CacheableResult",
        "Notification",
        "PaginatedRequest",
        "PaginatedResult",
        "Request",
        "Result",
    ],
    "unions with tasks, which are no methods here": [
        "ClientNotification",
        "ClientRequest",
        "ClientResult",
        "JSONRPCResponse",
        "ServerNotification",
        "ServerRequest",
        "ServerResult",
    ],
}
NOT_COMPARED: Final = {name for names in WITHOUT_A_TYPE.values() for name in names}

ENVELOPE: Final = {"jsonrpc": "2.0", "id": 1}


def adapter_of(name: str) -> TypeAdapter[Any]:
    found = RENAMED.get(name) or getattr(types, name)
    return cast("TypeAdapter[Any]", found) if isinstance(found, TypeAdapter) else TypeAdapter(found)


CASES: Final = [
    (version, name) for version in ORACLES for name in sorted(definitions(version)) if name not in NOT_COMPARED
]


Path: TypeAlias = tuple[str, ...]


def differences(sent: Any, written: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Name what of a message did not come back."""
    if isinstance(sent, dict) and isinstance(written, dict):
        after = cast("dict[str, Any]", written)
        for key, value in cast("dict[str, Any]", sent).items():
            if key in after:
                yield from differences(value, after[key], (*path, key))
            elif value is not None:
                yield (*path, key), "is lost"
    elif isinstance(sent, list) and isinstance(written, list):
        pairs = zip_longest(cast("list[Any]", sent), cast("list[Any]", written))
        for index, (one, other) in enumerate(pairs):
            yield from differences(one, other, (*path, str(index)))
    elif sent != written:
        yield path, f"was {sent!r} and is {written!r}"


FLAGS: Final = frozenset(
    "call cancel completions context create createMessage form list logging roots tools url".split()  # noqa: SIM905
)
"""Capabilities whose presence says everything. What stands in them is not kept."""

OLD_FLAGS: Final = FLAGS | {"elicitation", "sampling"}
"""Those of the revisions before 2025-11-25."""


def is_refused(name: str, message: Any) -> bool:
    """Whether we refuse what the schema allows: batches, and what the specification's text forbids."""
    if name == "JSONRPCMessage":
        return isinstance(message, list)
    return name == "InputRequiredResult" and (
        message["resultType"] != "input_required"
        or not (message.get("inputRequests") or message.get("requestState") is not None)
    )


@pytest.mark.rule(
    "BASE-I-01", "BASE-I-03", "BASE-T-01", "BASE-T-02", "BASE-T-03", "BASE-T-04", "BASE-T-05", "BASE-C-01", "BASE-C-02"
)
@pytest.mark.parametrize(("version", "name"), CASES)
def test_what_a_schema_allows_is_read_kept_and_written_as_it_allows(version: str, name: str) -> None:
    adapter = adapter_of(name)
    flags = FLAGS if version >= "2025-11-25" else OLD_FLAGS
    has_envelope = "jsonrpc" in definitions(version)[name].get("properties", {}) and not name.startswith("JSONRPC")
    for sent in instances(version, name, count=20):
        validator(version, name).validate(sent)
        message = {key: value for key, value in sent.items() if key not in ENVELOPE} if has_envelope else sent
        if is_refused(name, message):
            with pytest.raises(ValidationError):
                adapter.validate_python(message)
            continue

        written = adapter.dump_python(adapter.validate_python(message), mode="json", by_alias=True, exclude_none=True)

        assert [each for each in differences(message, written) if not flags.intersection(each[0][-2:-1])] == []
        validator(version, name).validate({**ENVELOPE, **written} if has_envelope else written)


@pytest.mark.parametrize("version", ORACLES)
def test_every_definition_has_a_type_or_a_reason_for_having_none(version: str) -> None:
    assert [name for name in definitions(version) if name not in NOT_COMPARED | RENAMED.keys() | set(dir(types))] == []
