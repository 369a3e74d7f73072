"""Which tool names every client can use (SEP-986)."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass, field

__all__ = [
    "SEP_986_URL",
    "ToolNameValidationResult",
    "issue_tool_name_warning",
    "validate_and_warn_tool_name",
    "validate_tool_name",
]

logger = logging.getLogger(__name__)

SEP_986_URL = "https://modelcontextprotocol.io/specification/2025-11-25/server/tools#tool-names"

_MAX_LENGTH = 128
_BAD_CHARACTER = re.compile(r"[^A-Za-z0-9_.-]")


@dataclass
class ToolNameValidationResult:
    """What is to be said about a tool name.

    Attributes:
        is_valid: Whether the name follows the rule; a valid name may still have warnings.
        warnings: One sentence for each finding.
    """

    is_valid: bool
    warnings: list[str] = field(default_factory=list[str])


def validate_tool_name(name: str) -> ToolNameValidationResult:
    """Compare a tool name with the rule: 1 to 128 characters out of `A-Z a-z 0-9 _ - .`."""
    if not name:
        return ToolNameValidationResult(False, ["Tool name cannot be empty"])
    if len(name) > _MAX_LENGTH:
        text = f"Tool name exceeds maximum length of {_MAX_LENGTH} characters (current: {len(name)})"
        return ToolNameValidationResult(False, [text])
    warnings: list[str] = []
    if " " in name:
        warnings.append("Tool name contains spaces, which may cause parsing issues")
    if "," in name:
        warnings.append("Tool name contains commas, which may cause parsing issues")
    for character, word in (("-", "dash"), (".", "dot")):
        if name.startswith(character) or name.endswith(character):
            warnings.append(f"Tool name starts or ends with a {word}, which may cause parsing issues in some contexts")
    # dict keeps the first occurrence of each, in order
    bad = ", ".join(map(repr, dict.fromkeys(_BAD_CHARACTER.findall(name))))
    if bad:
        warnings.append(f"Tool name contains invalid characters: {bad}")
        warnings.append("Allowed characters are: A-Z, a-z, 0-9, underscore (_), dash (-), and dot (.)")
    return ToolNameValidationResult(not bad, warnings)


def issue_tool_name_warning(name: str, warnings: list[str]) -> None:
    """Log the findings about a tool name; without any, say nothing."""
    if not warnings:
        return
    logger.warning('Tool name validation warning for "%s":', name)
    for warning in warnings:
        logger.warning("  - %s", warning)
    logger.warning("Tool registration will proceed, but this may cause compatibility issues.")
    logger.warning("Consider updating the tool name to conform to the MCP tool naming standard.")
    logger.warning("See SEP-986 (%s) for more details.", SEP_986_URL)


def validate_and_warn_tool_name(name: str) -> bool:
    """Validate a tool name, log what was found, and return whether it is valid."""
    result = validate_tool_name(name)
    issue_tool_name_warning(name, result.warnings)
    return result.is_valid
