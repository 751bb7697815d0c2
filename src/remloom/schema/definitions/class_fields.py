"""Fields of classes: what the annotations of a msgspec Struct or a pydantic model say of rows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, Struct

from ...errors import InvalidInputError
from ...model import Field

_KINDS: tuple[tuple[type, str], ...] = (
    (bool, "boolean"), (int, "integer"), (float, "float"), (Decimal, "decimal"), (str, "string"),
    (UUID, "string"), (datetime, "datetime"), (date, "date"), (Mapping, "json"), (Struct, "json"),
)  # fmt: skip
# of what a class says of a field besides its type
_SAID = ("is_key", "searchable", "personal", "description")


def parts_of_class(kind: type[Any]) -> dict[str, Any]:
    """Make the parts of a definition of a class; its name in small letters is the schema's.

    What the rows of a field are for is said by `Meta(description=…, extra={"searchable": True})`
    in a Struct, by `Field(description=…, json_schema_extra={…})` in pydantic; parts of the schema
    by the model's own `json_schema_extra`.

    Raises:
        InvalidInputError: it is neither, or a field has a type that no kind stands for.
    """
    parts: dict[str, Any] = {
        "schema_name": re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind.__name__).lower(),
        "description": _description(kind),
    }
    if issubclass(kind, Struct):
        return parts | {"base_fields": _struct_fields(kind)}
    if isinstance(getattr(kind, "model_fields", None), Mapping):
        extra = getattr(kind, "model_config", {}).get("json_schema_extra")
        said = dict(extra) if isinstance(extra, Mapping) else {}
        return parts | said | {"base_fields": _model_fields(kind)}
    raise InvalidInputError(
        f"{kind.__name__} does not define a schema",
        remedy="give a msgspec Struct or a pydantic model",
    )


def _description(kind: type[Any]) -> str:
    text = kind.__dict__.get("__doc__") or ""
    return " ".join(text.split())


def _struct_fields(kind: type[Struct]) -> dict[str, Field]:
    fields = {}
    try:
        infos = msgspec.structs.fields(kind)
    except NameError as error:
        raise InvalidInputError(
            f"the types of {kind.__name__} cannot be read: {error}",
            remedy="import what it names where the class stands, outside of a function",
        ) from error
    for info in infos:
        default = UNSET if info.default is msgspec.NODEFAULT else info.default
        fields[info.encode_name] = _field(kind, info.name, info.type, info.required, default)
    return fields


def _model_fields(kind: type[Any]) -> dict[str, Field]:
    fields = {}
    # by their form alone: pydantic need not be there
    for name, info in kind.model_fields.items():
        is_required = info.is_required()
        default = UNSET if is_required or info.default_factory else info.default
        said = dict(info.json_schema_extra or {}) if not callable(info.json_schema_extra) else {}
        said["description"] = info.description or ""
        annotation: Any = info.annotation
        annotated = Annotated[annotation, Meta(extra=said)]
        fields[name] = _field(kind, name, annotated, is_required, default)
    return fields


def _field(kind: type[Any], name: str, annotation: Any, required: bool, default: Any) -> Field:
    parts: dict[str, Any] = {}
    try:
        _read_type(annotation, parts)
    except LookupError:
        raise InvalidInputError(
            f"{kind.__name__}.{name} is a {_shown(annotation)}, which no kind of field stands for",
            remedy="take text, numbers, true or false, dates, times, literals, lists of these, "
            "or dict for anything else",
        ) from None
    if isinstance(default, Enum):
        default = default.value
    if default is None:
        default = UNSET
    said = {key: parts[key] for key in _SAID if parts.get(key)}
    return Field(
        kind=parts["kind"],
        list=parts.get("list", False),
        values=parts.get("values", ()),
        required=required and not parts.get("optional"),
        default=list(default) if isinstance(default, tuple | set | frozenset) else default,
        **said,
    )


def _read_type(annotation: Any, parts: dict[str, Any]) -> None:
    """Put what an annotation says into the parts of a field.

    Raises:
        LookupError: nothing that a field can hold.
    """
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        for meta in arguments[1:]:
            if isinstance(meta, Meta):
                parts |= {"description": meta.description or "", **(meta.extra or {})}
        _read_type(arguments[0], parts)
    elif origin in (Union, UnionType):
        _read_union(arguments, parts)
    elif origin is Literal:
        parts |= {"kind": "enum", "values": tuple(map(str, arguments))}
    elif origin is not None and issubclass(origin, Mapping):
        parts["kind"] = "json"
    elif origin is not None and issubclass(origin, Sequence | Set):
        items = [argument for argument in arguments if argument is not Ellipsis]
        _read_type(items[0] if len(set(items)) == 1 else Any, parts)
        # a list of lists or objects is one value of JSON
        parts["list"] = not parts.get("list") and parts["kind"] != "json"
        parts["kind"] = parts["kind"] if parts["list"] else "json"
    else:
        _read_class(annotation, parts)


def _read_union(options: tuple[Any, ...], parts: dict[str, Any]) -> None:
    kinds = [option for option in options if option not in (type(None), msgspec.UnsetType)]
    parts["optional"] = len(kinds) < len(options)
    if {*kinds} == {int, float}:
        kinds = [float]
    if len(kinds) != 1:
        raise LookupError
    _read_type(kinds[0], parts)


def _read_class(annotation: Any, parts: dict[str, Any]) -> None:
    if annotation is Any:
        parts["kind"] = "json"
    elif not isinstance(annotation, type):
        raise LookupError
    elif issubclass(annotation, Enum):
        parts |= {"kind": "enum", "values": tuple(str(member.value) for member in annotation)}
    elif annotation in (list, tuple, set) or hasattr(annotation, "model_fields"):
        parts["kind"] = "json"
    else:
        parts["kind"] = next((name for base, name in _KINDS if issubclass(annotation, base)), None)
        if parts["kind"] is None:
            raise LookupError


def _shown(annotation: Any) -> str:
    return str(getattr(annotation, "__name__", annotation))[:60]
