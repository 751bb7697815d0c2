"""Definitions as people give them: values, keywords, TOML files, Struct and pydantic classes."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping, Sequence, Set
from datetime import date, datetime
from decimal import Decimal
from difflib import get_close_matches
from enum import Enum
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, TypeAlias, TypedDict, Union, get_args, get_origin
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, Struct
from msgspec.structs import asdict, replace

from ...errors import InvalidInputError, SourceError, unencodable
from ...model import EdgeDefinition, Field, Kind, SchemaDefinition
from ...store.rules.field_values import to_stored
from ...store.rules.json_values import holds_nul
from .definition_faults import Fault, check_definition

# a class: a msgspec Struct or a pydantic model
DefinitionInput: TypeAlias = (
    "SchemaDefinition | Mapping[str, Any] | type[Any] | str | os.PathLike[str]"
)


_KINDS: tuple[tuple[type, Kind], ...] = (
    (bool, "boolean"), (int, "integer"), (float, "float"), (Decimal, "decimal"), (str, "string"),
    (UUID, "string"), (datetime, "datetime"), (date, "date"), (Mapping, "json"), (Struct, "json"),
)  # fmt: skip
# parts of a field that a class may set besides its type
_FIELD_OPTIONS = ("is_key", "searchable", "personal", "description")


class DefinitionParts(TypedDict, total=False):
    """The parts of a `SchemaDefinition`; `fields` are its `base_fields`."""

    schema_name: str
    description: str
    fields: Mapping[str, str | Field | Mapping[str, Any]]
    base_fields: Mapping[str, str | Field | Mapping[str, Any]]
    metadata_schema: Mapping[str, Any]
    entity_types: Sequence[str]
    edge_types: Sequence[str]
    graph_enabled: bool
    handle: Sequence[str]
    name_fields: Sequence[str]
    edges: Sequence[EdgeDefinition | Mapping[str, Any]]
    source: str


# what every row has; the seed lists them among the fields
_INHERITED = ("related_entities", "graph_paths", "metadata")
_LARGEST = 1_000_000  # bytes of a definition: it is read with every row that is asked for
# parts that registering sets, whatever a definition has
_SET = ("tenant_id", "version", "rows_since", "renamed")


def read_definition(origin: DefinitionInput | None, parts: Mapping[str, Any]) -> SchemaDefinition:
    """Read a definition, check it, and bring it into the form in which it is kept.

    Args:
        origin: the definition, or where it is; `parts` alone make one as well.
        parts: replace those of `origin`.

    Raises:
        DefinitionError: names every fault.
        SourceError: there is no such file, or it is not TOML.
    """
    found = {**_parts_of(origin), **_same_names(parts)}
    faults: list[Fault] = []
    values: dict[str, Any] = {}
    types = {field.name: field.type for field in msgspec.structs.fields(SchemaDefinition)}
    for name, value in found.items():
        if name in _SET or name == "base_fields":
            continue
        if name not in types:
            known = [part for part in ("fields", *types) if part not in (*_SET, "base_fields")]
            hint = _nearest_of(name, known)
            faults.append(Fault(str(name)[:80], "a definition has no such part", hint))
            continue
        try:
            values[name] = msgspec.convert(_plain(value), types[name])
        except msgspec.ValidationError as error:
            faults.append(Fault(name, str(error), f"see SchemaDefinition.{name}"))
    fields = _read_fields(found.get("base_fields", {}), faults)
    definition = SchemaDefinition(
        **{"schema_name": "", **values}, base_fields=_without_inherited(fields)
    )
    check_definition(definition, faults)
    return _normal(definition)


def _parts_of(origin: DefinitionInput | None) -> dict[str, Any]:
    if origin is None:
        return {}
    if isinstance(origin, SchemaDefinition):
        return asdict(origin)
    if isinstance(origin, Mapping):
        return _same_names(origin)
    if isinstance(origin, type):
        return _parts_of_class(origin)
    if isinstance(origin, str | os.PathLike):
        return _same_names(_read_toml(Path(origin)))
    raise InvalidInputError(
        f"a {type(origin).__name__} does not define a schema",
        remedy="give a SchemaDefinition, the path of a TOML file, a Struct or pydantic class, "
        "or schema_name=… and fields=…",
    )


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        reason = "there is no such file" if isinstance(error, FileNotFoundError) else str(error)
        raise SourceError(
            f"{path} cannot be read as a definition: {reason}",
            remedy='a TOML file with schema_name = "…" and a table [fields]',
            uri=str(path),
        ) from error


def _same_names(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Call the parts as `SchemaDefinition` calls them."""
    return {"base_fields" if name == "fields" else name: parts[name] for name in parts}


def _plain(value: Any) -> Any:
    """Turn structs into their parts, so that the types of these are checked as well."""
    if isinstance(value, Struct):
        return msgspec.to_builtins(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def _nearest_of(name: str, known: Sequence[str]) -> str:
    nearest = get_close_matches(name, known, n=1, cutoff=0.5)
    return f"did you mean {nearest[0]}?" if nearest else f"there are {', '.join(known)}"


# -- fields ----------------------------------------------------------------------------------------


def _read_fields(declared: Any, faults: list[Fault]) -> dict[str, Field]:
    if not isinstance(declared, Mapping):
        why = f"must be an object, not {type(declared).__name__}"
        faults.append(Fault("fields", why, 'fields={"total": "float"}'))
        return {}
    fields = {}
    for name, value in declared.items():
        try:
            fields[str(name)] = _read_field(value)
        except InvalidInputError as error:
            faults.append(Fault(f"fields.{str(name)[:80]}", error.message, error.remedy))
        except msgspec.ValidationError as error:
            remedy = '"float", or {"kind": "float", "required": true}'
            faults.append(Fault(f"fields.{str(name)[:80]}", str(error), remedy))
    return fields


def _read_field(value: Any) -> Field:
    if isinstance(value, str):
        return Field.parse(value)
    if not isinstance(value, Field | Mapping):
        raise InvalidInputError(
            f"must be a type, not {value!r}"[:100],
            remedy='"float", or {"kind": "float", "required": true}',
        )
    parts = asdict(value) if isinstance(value, Field) else dict(value)
    unknown = [part for part in parts if part not in Field.__struct_fields__]
    if unknown:
        hint = _nearest_of(str(unknown[0]), Field.__struct_fields__)
        raise InvalidInputError(f"a field has no part {str(unknown[0])[:60]!r}", remedy=hint)
    default = parts.pop("default", UNSET)
    kind = Field.parse(str(parts.get("kind", "string")))
    # "list[string]" and "enum(a, b)" say more than a kind
    parts |= {"list": True} if kind.list else {}
    parts |= {"values": kind.values} if kind.values else {}
    field = msgspec.convert(parts | {"kind": kind.kind}, Field)
    return replace(field, default=default)


def _without_inherited(fields: dict[str, Field]) -> dict[str, Field]:
    return {
        name: field
        for name, field in fields.items()
        if not (name in _INHERITED and (field.kind == "json" or field.list))
    }


def _normal(definition: SchemaDefinition) -> SchemaDefinition:
    """The definition as it is read back once it is stored, so that the two compare equal."""
    fields = {
        name: replace(field, default=to_stored(field.default, field))
        if field.default is not UNSET and field.default is not None
        else replace(field, default=UNSET)
        for name, field in definition.base_fields.items()
    }
    try:
        encoded = msgspec.json.encode(replace(definition, base_fields=fields))
    except UnicodeEncodeError as error:
        raise unencodable(error) from error
    if len(encoded) > _LARGEST:
        raise InvalidInputError(
            f"the definition has {len(encoded):,} bytes, at most {_LARGEST:,} are kept",
            remedy="shorten its descriptions, values and metadata_schema",
        )
    if holds_nul(encoded):
        raise InvalidInputError("a text of it holds a NUL character", remedy="remove \\0 from it")
    return msgspec.json.decode(encoded, type=SchemaDefinition)


def _parts_of_class(kind: type[Any]) -> dict[str, Any]:
    """The parts of a definition that a class makes; its name in small letters is the schema's.

    Options of a field are in `Meta(description=…, extra={"searchable": True})` of a Struct, or in
    `Field(description=…, json_schema_extra={…})` of pydantic; parts of the schema are in the
    model's own `json_schema_extra`.
    """
    parts: dict[str, Any] = {
        "schema_name": re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind.__name__).lower(),
        "description": " ".join((kind.__dict__.get("__doc__") or "").split()),
    }
    if issubclass(kind, Struct):
        return parts | {"base_fields": _struct_fields(kind)}
    if isinstance(getattr(kind, "model_fields", None), Mapping):
        extra = getattr(kind, "model_config", {}).get("json_schema_extra")
        options = dict(extra) if isinstance(extra, Mapping) else {}
        return parts | options | {"base_fields": _model_fields(kind)}
    raise InvalidInputError(
        f"{kind.__name__} does not define a schema",
        remedy="give a msgspec Struct or a pydantic model",
    )


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
        options = dict(info.json_schema_extra or {}) if not callable(info.json_schema_extra) else {}
        options["description"] = info.description or ""
        annotation: Any = info.annotation
        annotated = Annotated[annotation, Meta(extra=options)]
        fields[name] = _field(kind, name, annotated, is_required, default)
    return fields


def _field(kind: type[Any], name: str, annotation: Any, required: bool, default: Any) -> Field:
    try:
        field = _read_type(annotation)
    except LookupError:
        raise InvalidInputError(
            f"{kind.__name__}.{name} is a {_shown(annotation)}, which no kind of field stands for",
            remedy="take text, numbers, true or false, dates, times, literals, lists of these, "
            "or dict for anything else",
        ) from None
    if isinstance(default, Enum):
        default = default.value
    if isinstance(default, tuple | set | frozenset):
        default = list(default)
    default = UNSET if default is None else default
    return replace(field, required=required and field.required, default=default)


def _read_type(annotation: Any) -> Field:
    """The field that an annotation describes, required unless it may be None; LookupError if no
    field fits."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        field = _read_type(arguments[0])
        for meta in arguments[1:]:
            if isinstance(meta, Meta):
                options = {"description": meta.description, **(meta.extra or {})}
                found = {key: options[key] for key in _FIELD_OPTIONS if options.get(key)}
                field = replace(field, **found)
        return field
    if origin in (Union, UnionType):
        return _read_union(arguments)
    if origin is Literal:
        return Field(kind="enum", values=tuple(map(str, arguments)), required=True)
    if origin is None:
        return _read_class(annotation)
    if issubclass(origin, Sequence | Set):
        items = {argument for argument in arguments if argument is not Ellipsis}
        item = _read_type(items.pop() if len(items) == 1 else Any)
        # a list of lists or objects is one value of JSON
        is_list = not item.list and item.kind != "json"
        return replace(item, list=is_list, kind=item.kind if is_list else "json")
    if issubclass(origin, Mapping):
        return Field(kind="json", required=True)
    raise LookupError


def _read_union(options: tuple[Any, ...]) -> Field:
    kinds = [option for option in options if option not in (type(None), msgspec.UnsetType)]
    may_be_none = len(kinds) < len(options)
    if {*kinds} == {int, float}:
        kinds = [float]
    if len(kinds) != 1:
        raise LookupError
    field = _read_type(kinds[0])
    return replace(field, required=field.required and not may_be_none)


def _read_class(annotation: Any) -> Field:
    if annotation is Any:
        return Field(kind="json", required=True)
    if isinstance(annotation, type):
        if issubclass(annotation, Enum):
            values = tuple(str(member.value) for member in annotation)
            return Field(kind="enum", values=values, required=True)
        if annotation in (list, tuple, set) or hasattr(annotation, "model_fields"):
            return Field(kind="json", required=True)
        for base, kind in _KINDS:
            if issubclass(annotation, base):
                return Field(kind=kind, required=True)
    raise LookupError


def _shown(annotation: Any) -> str:
    return str(getattr(annotation, "__name__", annotation))[:60]
