"""Arguments as models give them: what can be understood is taken, what cannot is an error.

Nothing is dropped in silence: what is left out is listed, and unknown arguments are refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal, TypeAlias, cast

import msgspec
from msgspec import Struct, inspect

from ...errors import InvalidInputError, UnknownNameError
from ...operations import Operation
from ..argument_types import parts_of, refuse_unknown_fields, remedy_for

# arguments that hosts of agents make them add to every call
_CHATTER = frozenset(
    ("explanation", "justification", "rationale", "reason", "reasoning", "thinking", "thought",
     "thoughts", "toolSummary", "tool_call_purpose", "waitForPreviousTools")
)  # fmt: skip

_Shape: TypeAlias = Literal["list", "object", "other"]


def take(operation: Operation, arguments: Mapping[str, Any]) -> tuple[Struct, list[str]]:
    """Take arguments as what the operation takes, and list those that are left out.

    An alias stands for its argument, a text of JSON for a list or an object, one value for a list
    of it, null for what is not given.

    Raises:
        UnknownNameError: there is no such argument, or field of one that is an object; the remedy
            names the nearest.
        InvalidInputError: an argument is given twice, or is not what is taken.
    """
    fields = operation.takes.__struct_fields__
    shapes = _shapes_of(operation.takes)
    taken: dict[str, Any] = {}
    left_out = []
    for name, value in arguments.items():
        field = _field_of(operation, name)
        if field is None and name in _CHATTER:
            left_out.append(name)
        elif field is None:
            remedy = "" if fields else "leave it out: nothing is taken here"
            raise UnknownNameError("argument", name, fields, remedy=remedy)
        elif field in taken:
            raise InvalidInputError(
                f"{field} is given twice, once as {name}", remedy=f"give {field} once"
            )
        elif value is not None:
            taken[field] = _renamed(operation, field, _shaped(value, shapes[field]))
    refuse_unknown_fields(operation.takes, taken)
    try:
        return msgspec.convert(taken, operation.takes, strict=False), left_out
    except msgspec.ValidationError as error:
        raise _refused(operation, str(error)) from None


def _field_of(operation: Operation, name: str) -> str | None:
    if name in operation.takes.__struct_fields__:
        return name
    # with a dot it is one of the objects in a list
    return None if "." in name else operation.aliases.get(name)


def _shaped(value: Any, shape: _Shape) -> Any:
    """Read a text as the list or object that is taken; make a list of one value."""
    if shape == "other" or isinstance(value, list):
        return value
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            read = json.loads(value)
        except ValueError:
            read = value
        # a name may begin with a bracket
        if isinstance(read, list | dict):
            value = read
    return [value] if shape == "list" and not isinstance(value, list) else value


def _renamed(operation: Operation, field: str, value: Any) -> Any:
    """Rename fields of the objects in a list, where they have aliases."""
    prefix = f"{field}."
    names = {
        alias.removeprefix(prefix): right
        for alias, right in operation.aliases.items()
        if alias.startswith(prefix)
    }
    if not names or not isinstance(value, list):
        return value
    return [
        {names.get(name, name): one for name, one in item.items()}
        if isinstance(item, dict)
        else item
        for item in value
    ]


def _refused(operation: Operation, message: str) -> InvalidInputError:
    problem, _, position = message.partition(" - at `$")
    argument = position.strip("`.").partition("[")[0]
    where = f"{argument}: " if argument else ""
    return InvalidInputError(
        f"{operation.name} was not done: {where}{problem}",
        remedy=f"{remedy_for(operation.takes, argument)}; it takes "
        f"{', '.join(operation.takes.__struct_fields__) or 'nothing'}",
        argument=argument,
    )


@lru_cache(maxsize=256)
def _shapes_of(takes: type[Struct]) -> dict[str, _Shape]:
    info = cast("inspect.StructType", inspect.type_info(takes))
    return {field.name: _shape_of(field.type) for field in info.fields}


def _shape_of(kind: inspect.Type) -> _Shape:
    parts = list(parts_of(kind))
    if any(isinstance(one, inspect.StrType) for one in parts):
        return "other"
    if any(isinstance(one, inspect.ListType) for one in parts):
        return "list"
    if any(isinstance(one, inspect.DictType | inspect.StructType) for one in parts):
        return "object"
    return "other"
