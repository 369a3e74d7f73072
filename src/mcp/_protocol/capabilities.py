"""Capabilities: what a server declares, and whether a client declared what is asked of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final, cast

from pydantic import BaseModel

import mcp_types as types
from mcp._protocol.era import MODERN, Era

# A server that can be called declares it, whether or not its offers can be listed as well.
_FAMILIES: Final[dict[str, frozenset[str]]] = {
    "tools": frozenset({"tools/list", "tools/call"}),
    "resources": frozenset({"resources/list", "resources/templates/list", "resources/read"}),
    "prompts": frozenset({"prompts/list", "prompts/get"}),
}


def derive_capabilities(
    methods: Collection[str],
    era: Era,
    *,
    list_changed: Collection[str] = (),
    experimental: Mapping[str, dict[str, Any]] | None = None,
    extensions: Mapping[str, dict[str, Any]] | None = None,
) -> types.ServerCapabilities:
    """Derive what a server declares from the requests it has handlers for.

    Args:
        methods: The request methods with a handler.
        era: The era the declaration is made in. In the modern one, news of changes come through
            `subscriptions/listen` alone, so its handler decides every flag.
        list_changed: The families (`"tools"`, `"resources"`, `"prompts"`) whose changes a legacy server announces.
        experimental: What is not in the specification, by name.
        extensions: The settings of extensions, by identifier; modern only.
    """
    serves = {family for family, signs in _FAMILIES.items() if not signs.isdisjoint(methods)}
    listens = era is MODERN and "subscriptions/listen" in methods
    tells = set(_FAMILIES) if listens else set[str]() if era is MODERN else set(list_changed)
    subscribes = listens if era is MODERN else "resources/subscribe" in methods
    return types.ServerCapabilities(
        experimental=dict(experimental) if experimental else None,
        logging=types.LoggingCapability() if "logging/setLevel" in methods else None,
        prompts=types.PromptsCapability(list_changed="prompts" in tells) if "prompts" in serves else None,
        resources=types.ResourcesCapability(subscribe=subscribes, list_changed="resources" in tells)
        if "resources" in serves
        else None,
        tools=types.ToolsCapability(list_changed="tools" in tells) if "tools" in serves else None,
        completions=types.CompletionsCapability() if "completion/complete" in methods else None,
        extensions=dict(extensions) if extensions and era is MODERN else None,
    )


def missing_capability(
    request: types.InputRequest, declared: types.ClientCapabilities
) -> tuple[str, dict[str, Any]] | None:
    """Say which capability a question needs that the client did not declare.

    Returns:
        Its name as error texts call it, and what the client would have to declare (`requiredCapabilities`);
        `None` if nothing is missing.
    """
    if isinstance(request, types.ElicitRequest):
        return missing_elicitation(
            "url" if isinstance(request.params, types.ElicitRequestURLParams) else "form", declared
        )
    if isinstance(request, types.CreateMessageRequest):
        return _missing_for_sampling(request, declared)
    return None if declared.roots is not None else ("roots", {"roots": {}})


def missing_elicitation(mode: str, declared: types.ClientCapabilities) -> tuple[str, dict[str, Any]] | None:
    """The same for a question to the user, by its mode alone."""
    if _elicits(declared.elicitation, mode):
        return None
    return f"{mode} elicitation", {"elicitation": {mode: {}}}


def declares(declared: types.ClientCapabilities, wanted: types.ClientCapabilities) -> bool:
    """Whether a client declared everything that is set in `wanted`.

    Extensions count by their identifier; of experimental capabilities every setting that is wanted has to be
    declared with the same value.
    """
    for identifier in wanted.extensions or ():
        if identifier not in (declared.extensions or {}):
            return False
    if not _elicits_all(declared.elicitation, wanted.elicitation):
        return False
    return all(
        _covers(getattr(declared, member), getattr(wanted, member))
        for member in ("experimental", "sampling", "roots", "tasks")
    )


def _missing_for_sampling(
    request: types.CreateMessageRequest, declared: types.ClientCapabilities
) -> tuple[str, dict[str, Any]] | None:
    params, sampling = request.params, declared.sampling
    missing: dict[str, Any] = {}
    if (params.tools is not None or params.tool_choice is not None) and (sampling is None or sampling.tools is None):
        missing["tools"] = {}
    if params.include_context not in (None, "none") and (sampling is None or sampling.context is None):
        missing["context"] = {}
    if missing:
        return f"sampling.{next(iter(missing))}", {"sampling": missing}
    return None if sampling is not None else ("sampling", {"sampling": {}})


def _elicits(declared: types.ElicitationCapability | None, mode: str) -> bool:
    if declared is None:
        return False
    if mode == "url":
        return declared.url is not None
    # base: `elicitation: {}` means forms.
    return declared.form is not None or declared.url is None


def _elicits_all(declared: types.ElicitationCapability | None, wanted: types.ElicitationCapability | None) -> bool:
    if wanted is None:
        return True
    modes = [mode for mode in ("form", "url") if getattr(wanted, mode) is not None]
    return all(_elicits(declared, mode) for mode in modes or ["form"])


def _covers(declared: Any, wanted: Any) -> bool:
    """Whether every part of `wanted` stands in `declared` too; what is unset or false is not wanted."""
    if wanted is None or wanted is False:
        return True
    if isinstance(wanted, BaseModel):
        members = type(wanted).model_fields
        return declared is not None and all(_covers(getattr(declared, name), getattr(wanted, name)) for name in members)
    if isinstance(wanted, Mapping) and isinstance(declared, Mapping):
        settings = cast("Mapping[str, Any]", wanted).items()
        found = cast("Mapping[str, Any]", declared)
        return all(name in found and _covers(found[name], value) for name, value in settings)
    return bool(declared == wanted)
