"""Result shapes that a client's extensions claim: which are active, and what is declared because of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import mcp_types as types
from mcp_types.version import MODERN_PROTOCOL_VERSIONS


class Claim(Protocol):
    """What a session needs to know of a `ResultClaim`."""

    @property
    def result_type(self) -> str: ...
    @property
    def model(self) -> type[types.Result]: ...
    @property
    def protocol_versions(self) -> frozenset[str] | None: ...


class UnexpectedClaimedResult(RuntimeError):
    """A server answered with a shape that an extension claims, and the caller did not ask for it.

    Attributes:
        result: The result, read with the claim's model.
    """

    def __init__(self, result: types.Result) -> None:
        super().__init__(
            f"Server returned a claimed result ({type(result).__name__}); pass the owning extension to "
            "Client(extensions=[...]) for transparent resolution, or call with allow_claimed=True and handle the "
            "shape. The carried result may reference server-side state needing cleanup."
        )
        self.result = result


class Claims:
    """The extensions of a session, and the shapes that they claim.

    Args:
        extensions: The settings of each extension, by identifier.
        claims: What each of them claims, by identifier.

    Raises:
        ValueError: A claim has no extension that is declared, or two claim the same.
    """

    def __init__(
        self, extensions: Mapping[str, dict[str, Any]] | None, claims: Mapping[str, Sequence[Claim]] | None
    ) -> None:
        self._extensions = dict(extensions or {})
        self._claims = {identifier: tuple(claimed) for identifier, claimed in (claims or {}).items()}
        self._by_type: dict[str, Claim] = {}
        for identifier, claimed in self._claims.items():
            if identifier not in self._extensions:
                raise ValueError(
                    f"result_claims key {identifier!r} has no extensions entry; a claim is only advertised through "
                    "its extension's capability ad"
                )
            if not claimed:
                raise ValueError(
                    f"result_claims[{identifier!r}] is empty and would drop the extension from the capability ad at "
                    "every version. Omit the key instead"
                )
            for claim in claimed:
                if claim.result_type in self._by_type:
                    raise ValueError(f"duplicate result claim for resultType {claim.result_type!r}")
                self._by_type[claim.result_type] = claim

    def declared(self, version: str) -> dict[str, dict[str, Any]] | None:
        """The extensions to declare under a revision: not those whose results could not be delivered under it."""
        told = {
            identifier: settings
            for identifier, settings in self._extensions.items()
            if identifier not in self._claims or any(_is_active(claim, version) for claim in self._claims[identifier])
        }
        return told or None

    def find(self, result_type: object, version: str | None) -> Claim | None:
        """The claim on a `resultType` under a revision."""
        claim = self._by_type.get(result_type) if isinstance(result_type, str) else None
        return claim if claim is not None and version is not None and _is_active(claim, version) else None


def _is_active(claim: Claim, version: str) -> bool:
    if version not in MODERN_PROTOCOL_VERSIONS:
        return False
    return claim.protocol_versions is None or version in claim.protocol_versions
