"""Checks of rows against the definition of their schema: every fault of a row is named at once."""

from __future__ import annotations

from collections import OrderedDict
from difflib import get_close_matches
from functools import cached_property
from itertools import islice
from typing import Any, Union

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from ...errors import InvalidInputError, RowError
from ...model import Field, Row, SchemaDefinition
from .edge_validation import inline_edge
from .field_values import is_stored_unchanged, storing, to_stored, value_type
from .json_schema import compile_schema
from .json_values import holds_nul

_MOST_FAULTS = 20  # of one row that are told
_LONGEST = 300  # characters of one
_KEPT = 256  # checkers: each is of one version of a schema

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
        """Return a row as it is stored: its fields in their stored form, with the defaults.

        A field that is None is left out.

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

    def _stored(self, given: dict[str, Any]) -> dict[str, Any] | None:
        """Return fields as they are stored; None where one has to look at each."""
        converted = msgspec.convert(given, self._struct)
        fields = given
        if None in given.values():
            fields = {name: value for name, value in given.items() if value is not None}
        if self._converted:
            fields = {**fields}
            for name, store in self._converted:
                if name in fields:
                    fields[name] = store(getattr(converted, name))
        if self._defaults:
            fields = {**self._defaults, **fields}
        return None if _holds_nul(fields) else fields

    def _is_plain(self, row: Row) -> bool:
        """Whether nothing but its fields needs a look."""
        if row.graph_paths and self._looks_at_edges:
            return False
        if self._types and row.type not in self._types:
            return False
        return not self.definition.metadata_schema

    @cached_property
    def metadata_validator(self) -> Any:
        """What checks `metadata`, compiled."""
        return compile_schema(self.definition.metadata_schema)


_checkers: OrderedDict[int, RowChecker] = OrderedDict()  # by the id of their definition


def checker_of(definition: SchemaDefinition) -> RowChecker:
    """Return what checks rows of this definition."""
    checker = _checkers.get(id(definition))
    # a checker keeps its definition, so that no other can have its id
    if checker is None:
        checker = _checkers[id(definition)] = RowChecker(definition)
        while len(_checkers) > _KEPT:
            _checkers.popitem(last=False)
    return checker


def row_faults(row: Row, checker: RowChecker) -> Faults:
    """List every fault of a row."""
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
    for place, given in enumerate(row.graph_paths):
        edge_type = inline_edge(given).rel_type
        if edge_type not in known:
            why = f"must be an edge of type {', '.join(definition.edge_types)}, not {edge_type!r}"
            faults.append({"path": f"graph_paths[{place}]", "why": why})
    return faults


def _is_of(type: str, known: tuple[str, ...]) -> bool:
    """Whether a type is one of these, or a part of one: "customer/vip" of "customer"."""
    return any(f"{type}/".startswith(f"{name}/") for name in known)


def _member(name: str, field: Field) -> tuple[str, Any] | tuple[str, Any, Any]:
    if field.required and field.default is UNSET:
        return name, value_type(field)
    return name, Union[value_type(field), None, UnsetType], UNSET  # noqa: UP007 - Any has no |
