"""Rows: checked against the definition of their schema, and named by it.

Every fault of a row is named at once. A handle is the type of the entity, a hyphen, and the key:
"customer-12345". Labels that differ only in case and separators are one, so two keys of a database
may be one label ("aB" and "Ab"): each of those has six digits more, of the digest of what it would
be called without them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from difflib import get_close_matches
from functools import cached_property
from hashlib import blake2b
from itertools import islice
from typing import Any, Union

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from ...errors import InvalidInputError, LabelError, RowError
from ...model import SOURCE_FK, Edge, Field, Row, SchemaDefinition
from .field_values import is_stored_unchanged, storing, to_stored, value_type
from .item_validation import inline_edge
from .json_values import compile_schema, holds_nul

_MOST_FAULTS = 20  # of one row that are reported
_LONGEST = 300  # characters of one
_KEPT = 256  # checkers: each is of one version of a schema
_DIGITS = 6  # of a digest behind a handle

Faults = list[dict[str, str]]


class RowChecker:
    """Checks rows of one version of a schema. It is compiled once; any thread may use it."""

    def __init__(self, definition: SchemaDefinition) -> None:
        self.definition = definition
        self._fields = definition.base_fields
        self._struct = msgspec.defstruct(
            "Fields",
            [_member(name, field) for name, field in self._fields.items()],
            forbid_unknown_fields=True,
            kw_only=True,
            gc=False,
        )
        self._converted = [
            (name, storing(field))
            for name, field in self._fields.items()
            if field.kind == "json" or not is_stored_unchanged(field)
        ]
        self._defaults = {
            name: to_stored(field.default, field)
            for name, field in self._fields.items()
            if field.default is not UNSET and field.default is not None
        }
        self._types = frozenset(definition.entity_types)
        self._looks_at_edges = bool(definition.edge_types) or not definition.graph_enabled

    def check(self, row: Row) -> Row:
        """Return a row as it is stored, its fields with the defaults and without those that are
        None.

        Raises:
            RowError: it is not as the definition says.
            MissingExtraError: the definition has a `metadata_schema`, and `remloom[schemas]` is not
                installed.
        """
        try:
            fields = self._stored(row.fields)
        except (ValueError, OverflowError):
            # of whichever kind: each is named below
            fields = None
        if fields is None or not self._is_plain(row):
            faults = row_faults(row, self)
            if faults or fields is None:
                raise RowError(self.definition.schema_name, faults)
        return replace(row, fields=fields, version=self.definition.version)

    def _stored(self, written: dict[str, Any]) -> dict[str, Any] | None:
        """Return fields as they are stored; None where one has to look at each."""
        converted = msgspec.convert(written, self._struct)
        fields = written
        if None in written.values():
            fields = {name: value for name, value in written.items() if value is not None}
        if self._converted:
            fields = {**fields}
            for name, store in self._converted:
                if name in fields:
                    fields[name] = store(getattr(converted, name))
        if self._defaults:
            fields = {**self._defaults, **fields}
        return None if _holds_nul(fields) else fields

    def _is_plain(self, row: Row) -> bool:
        if row.graph_paths and self._looks_at_edges:
            return False
        if self._types and row.type not in self._types:
            return False
        return not self.definition.metadata_schema

    @cached_property
    def metadata_validator(self) -> Any:
        return compile_schema(self.definition.metadata_schema)


_checkers: OrderedDict[int, RowChecker] = OrderedDict()  # by the id of their definition


def checker_of(definition: SchemaDefinition) -> RowChecker:
    checker = _checkers.get(id(definition))
    # a checker keeps its definition, so that no other can have its id
    if checker is None:
        checker = _checkers[id(definition)] = RowChecker(definition)
        while len(_checkers) > _KEPT:
            _checkers.popitem(last=False)
    return checker


def row_faults(row: Row, checker: RowChecker) -> Faults:
    definition = checker.definition
    faults = _field_faults(row.fields, definition)
    if definition.entity_types and not _is_of(row.type, definition.entity_types):
        known = ", ".join(definition.entity_types)
        faults.append(
            {"path": "type", "why": f"must be one of {known}, not {row.type!r}"[:_LONGEST]}
        )
    faults += _edge_faults(row, definition)
    if definition.metadata_schema:
        errors = checker.metadata_validator.iter_errors(row.metadata)
        for error in islice(errors, _MOST_FAULTS):
            path = ".".join(map(str, ("metadata", *error.instance_path)))
            faults.append({"path": path, "why": error.message[:_LONGEST]})
    return faults


def _field_faults(fields: Any, definition: SchemaDefinition) -> Faults:
    if not isinstance(fields, dict):
        return [{"path": "fields", "why": f"must be an object, not {type(fields).__name__}"}]
    faults = []
    for name, value in fields.items():
        field = definition.base_fields.get(name)
        why = _unknown(name, definition) if field is None else value_fault(value, field)
        if why:
            faults.append({"path": f"fields.{str(name)[:_LONGEST]}", "why": why})
        if len(faults) >= _MOST_FAULTS:
            break
    for name, field in definition.base_fields.items():
        if field.required and field.default is UNSET and fields.get(name) is None:
            faults.append({"path": f"fields.{name}", "why": "is required"})
    return faults


def value_fault(value: Any, field: Field) -> str:
    """Say why a field cannot have this value; empty: it can."""
    if value is None:
        return ""
    try:
        stored = to_stored(value, field)
        return "holds a NUL character" if _holds_nul(stored) else ""
    except InvalidInputError as error:
        return error.message
    except UnicodeError:
        return "holds half a surrogate pair"


def _holds_nul(value: Any) -> bool:
    """Whether a NUL character is in what is stored. Raises UnicodeError of a lone surrogate."""
    return holds_nul(msgspec.json.encode(value))


def _unknown(name: object, definition: SchemaDefinition) -> str:
    if name in definition.renamed:
        return f"is called {definition.renamed[str(name)]} now"
    nearest = get_close_matches(str(name)[:_LONGEST], definition.base_fields, n=1, cutoff=0.5)
    hint = f": did you mean {nearest[0]}?" if nearest else ""
    return f"is no field of {definition.schema_name}{hint}"


def _edge_faults(row: Row, definition: SchemaDefinition) -> Faults:
    if row.graph_paths and not definition.graph_enabled:
        return [{"path": "graph_paths", "why": "its rows have no edges: graph_enabled is false"}]
    if not definition.edge_types:
        return []
    known = {*definition.edge_types}
    for edge in definition.edges:
        known |= {edge.name, edge.inverse}
    faults = []
    for position, path in enumerate(row.graph_paths):
        edge_type = inline_edge(path).rel_type
        if edge_type not in known:
            why = f"must be an edge of type {', '.join(definition.edge_types)}, not {edge_type!r}"
            faults.append({"path": f"graph_paths[{position}]", "why": why})
    return faults


def _is_of(type: str, known: tuple[str, ...]) -> bool:
    """Whether a type is one of these, or a part of one: "customer/vip" of "customer"."""
    return any(f"{type}/".startswith(f"{name}/") for name in known)


def _member(name: str, field: Field) -> tuple[str, Any] | tuple[str, Any, Any]:
    if field.required and field.default is UNSET:
        return name, value_type(field)
    return name, Union[value_type(field), None, UnsetType], UNSET  # noqa: UP007 - Any has no |


# -- names -----------------------------------------------------------------------------------------


def complete_row(row: Row, definition: SchemaDefinition) -> Row:
    """Return a row as it is stored: checked, its fields in their stored form, and named.

    Raises:
        RowError: it is not as the definition says.
        LabelError: it has no handle, no name, nor the fields that would make one.
    """
    if not row.type and definition.entity_types:
        row = replace(row, type=definition.entity_types[0])
    row = checker_of(definition).check(row)
    name = row.name or " ".join(field_texts(row, definition.name_fields))
    handle = row.handle or _handle(row, definition) or name
    if not handle:
        needed = ", ".join(definition.handle)
        raise LabelError(
            f"a row of {definition.schema_name} has no handle and no name",
            label="",
            remedy=f"give it {needed}" if needed else "give it a handle or a name",
        )
    keyed = [key for key, field in definition.base_fields.items() if field.is_key]
    searched = [key for key, field in definition.base_fields.items() if field.searchable]
    aliases = (*row.aliases, *field_texts(row, keyed))
    return replace(
        row,
        handle=handle,
        name=name or handle,
        aliases=tuple(dict.fromkeys(aliases)),
        searched=tuple(key for key in searched if key in row.fields),
    )


def _handle(row: Row, definition: SchemaDefinition) -> str:
    parts = list(field_texts(row, definition.handle))
    if not parts or len(parts) < len(definition.handle):
        return ""
    return handle_of(_prefix(definition), parts)


def _prefix(definition: SchemaDefinition) -> str:
    return definition.entity_types[0] if definition.entity_types else definition.schema_name


def foreign_key(edge: Edge, row: Row, schemas: Mapping[str, SchemaDefinition]) -> Edge:
    """Return an edge that a completed row was written with; one that leads to the handle of a row
    that the row's own fields name is a foreign key, and says by which (`source_fk`).

    These are the fields of an edge of this type that its schema has, or else a single one. The
    handle is spelled as one: "room-1" is, "Room 1" is a name.
    """
    if edge.is_from_key or not isinstance(edge.dst, str):
        return edge
    targets = [one for one in schemas.values() if edge.dst.startswith(f"{_prefix(one)}-")]
    if not targets:
        return edge
    definition = schemas[row.schema]
    declared = [one.fields for one in definition.edges if one.name == edge.rel_type and one.fields]
    for fields in declared or [(name,) for name in definition.base_fields]:
        parts = field_texts(row, fields)
        if len(parts) != len(fields):
            continue
        for target in targets:
            if handle_of(_prefix(target), parts) == edge.dst:
                properties = {"dst_entity_type": _prefix(target), SOURCE_FK: ",".join(fields)}
                return replace(edge, properties=properties | edge.properties)
    return edge


def field_texts(row: Row, names: Sequence[str]) -> list[str]:
    """Return those of these fields that are set, as text; of a list each value."""
    texts: list[str] = []
    for name in names:
        value = row.fields.get(name)
        parts = value if isinstance(value, list) else [value]
        texts += [_text(part).strip() for part in parts if part is not None]
    return [text for text in texts if text]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def handle_of(entity_type: str, key: Sequence[Any]) -> str:
    """Give the handle of a row by its key, of which no part is None.

    >>> handle_of("customer", (12345,)), handle_of("line", (7, "a/b"))
    ('customer-12345', 'line-7/a%2Fb')
    """
    parts = [_text_of(part) for part in key]
    if len(parts) > 1:
        # else ("a/b", "c") and ("a", "b/c") would be one
        parts = [part.replace("%", "%25").replace("/", "%2F") for part in parts]
    return f"{entity_type}-{'/'.join(parts)}"


def with_digest(handle: str) -> str:
    """Give the handle of a row whose label others have as well.

    >>> with_digest("customer-aB") != with_digest("customer-Ab")
    True
    """
    return f"{handle}-{_digits(handle)}"


def plain_handle(handle: str) -> str:
    """Give a handle as it is without a digest, if it has one.

    >>> plain_handle(with_digest("customer-aB")), plain_handle("customer-aB")
    ('customer-aB', 'customer-aB')
    """
    plain, hyphen, digits = handle.rpartition("-")
    return plain if hyphen and digits == _digits(plain) else handle


def _digits(handle: str) -> str:
    digest = blake2b(handle.encode("utf-8", "surrogatepass"), digest_size=_DIGITS // 2)
    return digest.hexdigest()


def _text_of(part: Any) -> str:
    # databases give a number now as one type and now as another, by the column
    if isinstance(part, float) and part.is_integer():
        return str(int(part))
    if isinstance(part, Decimal) and part.is_finite() and part == part.to_integral_value():
        return str(int(part))
    if isinstance(part, date | datetime):
        return part.isoformat()
    return str(part)
