"""The base of every type of the protocol."""

from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

# The same few names come up in many classes.
_camel = cache(to_camel)


def _alias(name: str) -> str:
    return name if name.isalpha() and name.islower() else _camel(name)


class MCPModel(BaseModel):
    """Base of every protocol type: camelCase on the wire, snake_case in Python, unknown members ignored."""

    # Deferred, because most programs use few of the types and building a validator costs far more than the class.
    model_config = ConfigDict(alias_generator=_alias, populate_by_name=True, defer_build=True)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            try:
                return super().__getattr__(name)  # private attributes
            except AttributeError as error:
                for field, info in type(self).model_fields.items():
                    if info.alias == name:
                        hint = f"in Python its name is {field!r}, and {name!r} on the wire"
                        raise AttributeError(f"{error}: {hint}", name=name, obj=self) from None
                raise


__all__ = ["MCPModel"]
