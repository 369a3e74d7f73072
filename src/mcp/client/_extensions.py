"""The extensions of a client, folded into what a session needs of them."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import mcp_types as types
from mcp._protocol.jsonrpc import dumps
from mcp.client._claims import UnexpectedClaimedResult
from mcp.client.extension import ClaimContext, ClientExtension, NotificationBinding, ResultClaim
from mcp.client.session import ClientSession
from mcp.shared.extension import validate_extension_identifier


class Folded(NamedTuple):
    """What all extensions together declare, claim and hear."""

    settings: dict[str, dict[str, Any]]
    claims: dict[str, Sequence[ResultClaim[Any]]]
    bindings: list[NotificationBinding[Any]]

    async def resolve(
        self, unexpected: UnexpectedClaimedResult, session: ClientSession, name: str, timeout: float | None
    ) -> types.CallToolResult:
        """Turn a claimed result into a tool's, as its extension does."""
        [claim] = [
            claim for claims in self.claims.values() for claim in claims if type(unexpected.result) is claim.model
        ]
        context = ClaimContext(session=session, tool_name=name, read_timeout_seconds=timeout)
        result: object = await claim.resolve(unexpected.result, context)
        if not isinstance(result, types.CallToolResult):
            raise TypeError(
                f"resolver for resultType {claim.result_type!r} returned {type(result).__name__}; "
                "expected CallToolResult"
            )
        return result


def fold(extensions: Sequence[ClientExtension] | None) -> Folded:
    """Read every extension, once.

    Raises:
        TypeError: There is something else among them, or one has no proper identifier or settings.
        ValueError: One has no identifier, or two want the same.
    """
    if isinstance(extensions, Mapping):
        raise TypeError(
            "extensions= takes a sequence of ClientExtension instances. The mapping form was replaced: "
            "use advertise(identifier, settings) for advertise-only entries"
        )
    folded = Folded({}, {}, [])
    claimed: dict[str, str] = {}
    bound: dict[str, str] = {}
    for extension in extensions or ():
        identifier = _identifier(extension)
        if identifier in folded.settings:
            raise ValueError(f"extension identifier {identifier!r} is passed more than once")
        folded.settings[identifier] = _settings(extension, identifier)
        if claims := tuple(extension.claims()):
            folded.claims[identifier] = claims
        for claim in claims:
            _refuse_second(claimed, claim.result_type, identifier)
        for binding in extension.notifications():
            if binding.method in bound:
                raise ValueError(
                    f"extensions {bound[binding.method]!r} and {identifier!r} both bind notification method "
                    f"{binding.method!r}; a method can have only one observer"
                )
            bound[binding.method] = identifier
            folded.bindings.append(binding)
    return folded


def _refuse_second(claimed: dict[str, str], tag: str, identifier: str) -> None:
    other = claimed.get(tag)
    if other is not None:
        both = f"extensions {other!r} and {identifier!r} both claim"
        who = f"extension {identifier!r} claims" if other == identifier else both
        raise ValueError(f"{who} resultType {tag!r}; a wire tag can have only one resolver")
    claimed[tag] = identifier


def _identifier(extension: object) -> str:
    if not isinstance(extension, ClientExtension):
        raise TypeError(f"extensions= takes ClientExtension instances, not {type(extension).__name__}")
    identifier = getattr(extension, "identifier", None)
    if identifier is None:
        name = type(extension).__name__
        raise ValueError(
            f"{name} has no `identifier`; a ClientExtension must set the `identifier` class attribute "
            "(or assign one in `__init__`) before it can be used"
        )
    validate_extension_identifier(identifier, owner=type(extension).__name__)
    return identifier


def _settings(extension: ClientExtension, identifier: str) -> dict[str, Any]:
    settings: object = extension.settings()
    if not isinstance(settings, dict):
        raise TypeError(f"the settings of extension {identifier!r} must be a dict, got {type(settings).__name__}")
    try:
        dumps(settings)
    except (ValueError, TypeError) as error:
        raise TypeError(f"the settings of extension {identifier!r} have no JSON form: {error}") from error
    return copy.deepcopy(settings)  # pyright: ignore[reportUnknownVariableType]  # JSON
