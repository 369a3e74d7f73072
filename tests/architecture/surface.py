"""Compare what can be imported with the recorded public interface of `mcp` 2.x (`tests/data/surface`).

Every recorded name, parameter, kind and default has to be there. Ours may add keyword-only parameters with defaults.

A difference has a key: ``Name``, ``Name.member``, ``Name(parameter)``, ``Name.member(parameter)``, ``Name[field]``.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import importlib
import importlib.util
import inspect
import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

SURFACE = Path(__file__).resolve().parents[1] / "data" / "surface"

# pydantic gives this to models with private attributes; nobody calls it.
MADE_BY_PYDANTIC = ("model_post_init",)

Record = Mapping[str, Any]
Difference = tuple[str, str]


def read_surface() -> dict[str, dict[str, Record]]:
    """Return the recorded names of every module, without what it merely imports for its own use."""
    modules: dict[str, dict[str, Record]] = {}
    for path in sorted(SURFACE.glob("*.json")):
        modules.update(json.loads(path.read_text(encoding="utf-8")))
    homes = {
        name for module, names in modules.items() if module.startswith(("mcp.types", "mcp.shared")) for name in names
    }
    return {
        module: {name: record for name, record in names.items() if not _is_incidental(module, name, record, homes)}
        for module, names in modules.items()
    }


def _is_incidental(module: str, name: str, record: Record, homes: set[str]) -> bool:
    """Whether a constant is recorded only because the module imports it: nobody asks for it there."""
    if record["wanted_by"] != ["module"] or record["kind"] not in ("value", "alias"):
        return False
    return name == "TYPE_CHECKING" or (name in homes and not module.startswith(("mcp.types", "mcp.shared")))


def exists(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def differences(module: str, names: Mapping[str, Record]) -> dict[str, str]:
    """Return how a module differs from its record: key and explanation."""
    found: dict[str, str] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecated names warn when they are touched
        home = importlib.import_module(module)
        for name, record in names.items():
            try:
                value = getattr(home, name)
            except AttributeError:
                found[name] = "is missing"
            else:
                found.update(_compare(name, value, record))
    return found


def _compare(name: str, value: object, record: Record) -> Iterator[Difference]:
    kind = record["kind"]
    if kind == "reexport":
        yield from _compare_reexport(name, value, record["of"])
    elif kind == "value":
        yield from _compare_value(name, value, record["value"])
    elif kind == "function":
        if record.get("async") and not _is_awaited(value):
            yield name, "is not to be awaited"
        yield from _compare_parameters(name, value, record.get("params", ()))
    elif kind == "class":
        if not inspect.isclass(value):
            yield name, "is no class"
            return
        yield from _compare_class(name, value, record)


def _compare_reexport(name: str, value: object, origin: str) -> Iterator[Difference]:
    home, _, attribute = origin.rpartition(".")
    if any(part.startswith("_") for part in home.split(".")) or not exists(home):
        return
    if getattr(importlib.import_module(home), attribute, value) is not value:
        yield name, f"is not {origin}"


def _compare_value(name: str, value: object, recorded: str) -> Iterator[Difference]:
    try:
        expected = ast.literal_eval(recorded)
    except (ValueError, SyntaxError):
        return  # an object without a literal form
    if isinstance(value, (frozenset, set)):
        expected = set(cast("Sequence[object]", expected))
    if value != expected:
        yield name, f"is {value!r} instead of {recorded}"


def _compare_class(name: str, value: type[Any], record: Record) -> Iterator[Difference]:
    if issubclass(value, BaseException):
        ancestors = {ancestor.__name__ for ancestor in value.__mro__}
        for base in record.get("bases", ()):
            if base not in ancestors:
                yield name, f"is no {base}"
    if "init" in record:
        yield from _compare_parameters(name, value, record["init"].get("params", ()))
    if "fields" in record:
        yield from _compare_fields(name, value, record["fields"])
    if "dataclass_fields" in record:
        ours = {field.name for field in dataclasses.fields(value)} if dataclasses.is_dataclass(value) else set[str]()
        for field in record["dataclass_fields"]:
            if field not in ours and not field.startswith("_"):
                yield f"{name}[{field}]", "is missing"
    for member, details in record.get("members_", {}).items():
        if member in MADE_BY_PYDANTIC:
            continue
        yield from _compare_member(name, value, member, details)


def _compare_member(name: str, value: type[Any], member: str, details: Record) -> Iterator[Difference]:
    try:
        attribute = inspect.getattr_static(value, member)
    except AttributeError:
        # Attributes of instances: their names stand in the code that sets them.
        if member not in getattr(value, "__annotations__", {}) and member not in value.__init__.__code__.co_names:
            yield f"{name}.{member}", "is missing"
        return
    if (kind := _member_kind(attribute)) != details["kind"]:
        yield f"{name}.{member}", f"is a {kind} instead of a {details['kind']}"
    if "params" not in details:
        return
    if details.get("async") and not _is_awaited(attribute):
        yield f"{name}.{member}", "is not to be awaited"
    if isinstance(attribute, (staticmethod, classmethod)):
        attribute = cast("staticmethod[..., Any]", attribute).__func__
    if callable(attribute):
        yield from _compare_parameters(f"{name}.{member}", attribute, details["params"])
    else:
        yield f"{name}.{member}", "cannot be called"


def _member_kind(attribute: object) -> str:
    if isinstance(attribute, (staticmethod, classmethod)):
        return type(attribute).__name__  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return "method" if callable(attribute) else "property"  # a plain value reads like a property


def _is_awaited(attribute: object) -> bool:
    function: Any = getattr(attribute, "__func__", attribute)
    returned = str(inspect.unwrap(function).__annotations__.get("return", ""))
    return inspect.iscoroutinefunction(inspect.unwrap(function)) or returned.startswith(("Awaitable[", "Coroutine["))


def _compare_fields(name: str, value: type[Any], recorded: Mapping[str, Record]) -> Iterator[Difference]:
    ours: Mapping[str, Any] = getattr(value, "model_fields", {})
    for field, details in recorded.items():
        key = f"{name}[{field}]"
        if field not in ours:
            yield key, "is missing"
            continue
        info = ours[field]
        if bool(details.get("required")) != info.is_required():
            yield key, "is required" if info.is_required() else "is not required"
        elif "default" in details and not _same_default(info.default, details["default"], info.default_factory):
            yield key, f"has the default {info.default!r} instead of {details['default']}"
        if details.get("alias") not in (None, info.alias or field):
            yield key, f"has the alias {info.alias!r} instead of {details['alias']!r}"


def _compare_parameters(name: str, function: object, recorded: Sequence[Record]) -> Iterator[Difference]:
    if not callable(function):
        yield name, "cannot be called"
        return
    try:
        ours = {
            parameter.name: parameter
            for parameter in inspect.signature(function).parameters.values()
            if parameter.name != "self" and parameter.name != "cls"
        }
    except ValueError:
        yield name, "has no signature"
        return
    private = [name for name in ours if name.startswith("_")]
    for parameter in private:
        del ours[parameter]
    expected = [
        parameter
        for parameter in recorded
        if parameter["name"] not in ("self", "cls") and not parameter["name"].startswith("_")
    ]
    for details in expected:
        parameter = ours.pop(details["name"].lstrip("*"), None)
        key = f"{name}({details['name']})"
        if parameter is None:
            yield key, "is missing"
        elif (problem := _parameter_problem(parameter, details)) is not None:
            yield key, problem
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    for parameter in ours.values():
        added = parameter.kind is inspect.Parameter.KEYWORD_ONLY and parameter.default is not inspect.Parameter.empty
        if not added and parameter.kind not in variable:
            yield f"{name}({parameter.name})", "was added and is no keyword with a default"
    yield from _order_problem(name, function, expected)


def _order_problem(name: str, function: object, expected: Sequence[Record]) -> Iterator[Difference]:
    positional = ("positional_only", "positional_or_keyword")
    order = [details["name"] for details in expected if details["kind"] in positional]
    signature = inspect.signature(cast("Any", function))
    ours = [parameter for parameter in signature.parameters if parameter in order]
    if ours != [parameter for parameter in order if parameter in ours]:
        yield name, f"takes its parameters in the order {', '.join(ours)} instead of {', '.join(order)}"


def _parameter_problem(parameter: inspect.Parameter, details: Record) -> str | None:
    kind = parameter.kind.name.lower()
    if kind != details["kind"]:
        return f"is {kind} instead of {details['kind']}"
    if kind.startswith("var_"):
        return None
    if "default" not in details:
        return None if parameter.default is inspect.Parameter.empty else "has a default"
    if parameter.default is inspect.Parameter.empty:
        return "has no default"
    if not _same_default(parameter.default, details["default"]):
        return f"has the default {parameter.default!r} instead of {details['default']}"
    return None


def _same_default(value: object, recorded: str, factory: object = None) -> bool:
    if recorded.startswith("<") or recorded == "factory":
        return True  # an object: which one is not part of the interface
    if factory is not None:
        with contextlib.suppress(Exception):
            return repr(cast("Any", factory)()) == recorded
    if repr(value) == recorded:
        return True
    with contextlib.suppress(ValueError, SyntaxError):
        return bool(value == ast.literal_eval(recorded))
    return False


def main() -> None:
    """Print `not_built.py` as it would have to be now."""
    surface = read_surface()
    print('"""What the recorded public interface has and this package does not have yet, or has differently.')
    print('\nWritten by `python -m tests.architecture.surface`. Entries only ever leave.\n"""\n')
    print("MODULES = {")
    for module in surface:
        if not exists(module):
            print(f'    "{module}",')
    print("}\n\nNAMES: dict[str, set[str]] = {")
    for module, names in surface.items():
        if exists(module) and (found := differences(module, names)):
            print(f'    "{module}": {{')
            for key, problem in found.items():
                print(f'        "{key}",  # {problem}')
            print("    },")
    print("}")


if __name__ == "__main__":
    main()
