"""Rows of a table as rows of a schema, by the plan of their database."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from ... import labels
from ...model import SOURCE_FK, Edge, EdgeKey, Record, Row
from ...store.contract import Store
from ...store.rules.row_rules import handle_of, with_digest
from ..databases.columns import Converter, converter
from ..databases.contract import Key, Table, Unreadable
from ..plan.plan import Plan
from ..plan.planned import PlannedEdge, PlannedTable

_DIGEST = 12  # bytes of the digest of a row

# key of the digest in the metadata of a row
SOURCE_HASH = "source_hash"
# and of the values that its fields could not take: ["born must be a date, not 'May'"]
LEFT_OUT = "left_out"

_encode = msgspec.json.Encoder(order="deterministic", enc_hook=str).encode

# values of other columns -> key: of tables that foreign keys lead to by other columns than the key
KeysByValues = Mapping[Key, Key]

_KEPT = 100_000  # names


class Handles(Struct, frozen=True):
    """The handles of the rows of a table; `shared` are labels that several rows would have."""

    table: PlannedTable
    shared: Collection[str] = ()

    def of(self, key: Sequence[Any]) -> str:
        handle = handle_of(self.table.entity_type, key)
        if self.shared and labels.key(handle) in self.shared:
            return with_digest(handle)
        return handle


class RowEdge(Struct, frozen=True):
    """An edge that rows of a table have, and how their values say where it leads."""

    planned: PlannedEdge
    handles: Handles | None  # of its target; None: it is not a table that is taken
    keys: KeysByValues | None = None  # of its target, where `target_columns` are not its key

    @property
    def source_fk(self) -> str:
        return ",".join(self.planned.columns)

    @property
    def entity_type(self) -> str:
        return self.handles.table.entity_type if self.handles else self.planned.entity_type

    def targets_of(self, values: Mapping[str, Any]) -> list[str]:
        """The handles of its targets: none, one, or one for each value of a list."""
        found = tuple(values[column] for column in self.planned.columns)
        several = [(value,) for value in found[0]] if isinstance(found[0], list) else [found]
        return [self._target_of(each) for each in several if all(map(_is_scalar, each))]

    def _target_of(self, values: Key) -> str:
        if self.handles is None:
            return handle_of(self.planned.entity_type, values)
        if self.keys is not None:
            key = self.keys.get(values)
            # no row has these values: they make a handle themselves
            return self.handles.of(values if key is None else key)
        by_column = dict(zip(self.planned.target_columns, values, strict=True))
        return self.handles.of([by_column[column] for column in self.handles.table.key])


# edges of a row, each with the handle of what it leads to
Targets: TypeAlias = Sequence[tuple[RowEdge, str]]


class SourceRow(Struct, frozen=True, gc=False):
    """A row as it was read, and what it is called."""

    values: Sequence[Any]  # of `RowReader.columns`
    handle: str
    key: str  # of the handle
    digest: str  # of all that the row and its edges are made of


class RowReader:
    """Makes rows of a schema, with their edges, of the rows of one table.

    Args:
        table: as the database has it; None: it has none of this name any more.
        handles: of the table's own rows.
        edges: those that its rows have.
        others: types of edges that lead from its rows, but that rows of other tables say.
    """

    def __init__(
        self,
        plan: Plan,
        table: Table | None,
        handles: Handles,
        edges: Sequence[RowEdge],
        others: frozenset[str] = frozenset(),
    ) -> None:
        self.table = handles.table
        self.edges = tuple(edges)
        self.inverse = frozenset(edge.planned.inverse for edge in edges) - {""}
        self._others = others
        self.uri = f"{plan.source}/{self.table.table}"
        self.handles = handles
        columns = [*self.table.key, *self.table.name]
        columns += [field.column for field in self.table.fields]
        for edge in self.edges:
            columns += edge.planned.columns
        if self.table.watermark:
            columns.append(self.table.watermark)
        self.columns = tuple(dict.fromkeys(columns))
        self._key = [self.columns.index(column) for column in self.table.key]
        self._converters = _converters(self.table, table)

    @cached_property
    def plan_digest(self) -> bytes:
        """Of the parts of the plan that rows depend on: when it changes, all are written again."""
        shared = [sorted(edge.handles.shared) for edge in self.edges if edge.handles]
        parts = (
            self.table,
            [edge.planned for edge in self.edges],
            [(edge.entity_type, edge.handles and edge.handles.table.key) for edge in self.edges],
            sorted(self.handles.shared),
            shared,
        )
        return blake2b(_encode(parts), digest_size=32).digest()

    def read(self, values: Sequence[Any]) -> SourceRow | None:
        """Make the handle of a row, or raise LabelError; None if a part of its key is NULL."""
        key = self._key_of(values)
        if not all(map(_is_stated, key)):
            return None
        handle = self.handles.of(key)
        digest = blake2b(_encode(values), digest_size=_DIGEST, key=self.plan_digest)
        return SourceRow(values, handle, labels.key(handle), digest.hexdigest())

    def says(self, edge: Edge, keys: Collection[str]) -> str:
        """The key, among these, of the row that an edge of a sync comes from; empty: none."""
        source_fk = edge.properties.get(SOURCE_FK, ".")
        # that of a link table has its name in it
        if "." in source_fk:
            return ""
        if edge.src in keys and edge.rel_type not in self._others:
            return edge.src
        return edge.dst if edge.dst in keys and edge.rel_type in self.inverse else ""

    def by_column(self, row: SourceRow) -> dict[str, Any]:
        return dict(zip(self.columns, row.values, strict=True))

    def targets_of(self, values: Mapping[str, Any]) -> Targets:
        """List the edges of a row, each with the handle of what it leads to."""
        return [(edge, handle) for edge in self.edges for handle in edge.targets_of(values)]

    def name_of(self, values: Mapping[str, Any], handle: str) -> str:
        """Make the name of a row; its handle if there is none."""
        parts = [values[column] for column in self.table.name]
        name = " ".join(str(part).strip() for part in parts if _is_stated(part)).strip()
        return name if labels.is_label(name) else handle

    def row_of(
        self, row: SourceRow, values: Mapping[str, Any], targets: Targets, names: Mapping[str, str]
    ) -> Row:
        """Make a row of the schema, with its edges.

        Args:
            values: by their columns.
            names: handle -> name of the rows that edges lead to, as far as they are known.
        """
        name = self.name_of(values, row.handle)
        edges = []
        for edge, target in targets:
            properties = edge_properties(edge.entity_type, names.get(target, ""), edge.source_fk)
            rel_type = edge.planned.name
            edges.append(Edge(src=row.handle, rel_type=rel_type, dst=target, properties=properties))
            if rel_type := edge.planned.inverse:
                properties = edge_properties(self.table.entity_type, name, edge.source_fk)
                inverse = Edge(src=target, rel_type=rel_type, dst=row.handle, properties=properties)
                edges.append(inverse)
        fields = {}
        aliases: list[str] = []
        left_out: list[str] = []
        for planned in self.table.fields:
            value = values[planned.column]
            if value is None:
                continue
            if isinstance(value, Unreadable):
                left_out.append(f"{planned.name} cannot be read: {value.reason}")
                continue
            if convert := self._converters.get(planned.column):
                value = convert(value)
            fields[planned.name] = value
            is_key = planned.field.is_key or planned.column in self.table.identified_by
            if is_key:
                texts = map(str, value if isinstance(value, list) else [value])
                aliases += filter(labels.is_label, texts)
        return Row(
            schema=self.table.schema_name,
            handle=row.handle,
            name=name,
            type=self.table.entity_type,
            aliases=tuple(dict.fromkeys(aliases)),
            fields=fields,
            metadata={SOURCE_HASH: row.digest, **({LEFT_OUT: left_out} if left_out else {})},
            uri=self.uri,
            graph_paths=tuple(edges),
        )

    def _key_of(self, values: Sequence[Any]) -> Key:
        """The key of a row; in a table without one, a digest of the row."""
        if not self._key:
            return (blake2b(_encode(values), digest_size=_DIGEST).hexdigest(),)
        return tuple([values[position] for position in self._key])


def rows_with_key(records: Iterable[Record], key: str) -> Iterator[Row]:
    """Yield the rows whose handles have this key: others may have it as a name."""
    for record in records:
        if isinstance(record, Row) and labels.key(record.handle) == key:
            yield record


def edge_key(edge: Edge) -> EdgeKey:
    """The key that an edge has once it is stored."""
    return labels.key(edge.src), edge.rel_type, labels.key(edge.dst)


def edge_properties(entity_type: str, name: str, source_fk: str) -> dict[str, Any]:
    """The properties of an edge to something of this type and, if it is known, name."""
    named = {"dst_name": name} if name else {}
    return {"dst_entity_type": entity_type, **named, SOURCE_FK: source_fk}


def _is_stated(value: Any) -> bool:
    return value is not None and not isinstance(value, Unreadable)


def _is_scalar(value: Any) -> bool:
    return value is not None and not isinstance(value, dict | list | Unreadable)


def _converters(planned: PlannedTable, table: Table | None) -> dict[str, Converter]:
    """Converters of the columns whose fields are of another kind."""
    columns = {column.name: column for column in table.columns} if table else {}
    return {
        each.column: converter(each.field.kind, is_list=each.field.list)
        for each in planned.fields
        if (column := columns.get(each.column))
        and (column.kind, column.list) != (each.field.kind, each.field.list)
    }


class RowNames:
    """The names of stored rows, by their handles: an edge leads to whatever has that label."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._names: dict[str, str] = {}  # by key

    def of(self, handles: Collection[str]) -> dict[str, str]:
        """The names of these, by handle, without those that are not stored."""
        if len(self._names) > _KEPT:
            self._names.clear()
        keys = {handle: labels.key(handle) for handle in handles}
        unknown = sorted({key for key in keys.values() if key not in self._names})
        if unknown:
            for key, records in self._store.records.lookup(unknown, edges=0).items():
                for row in rows_with_key(records, key):
                    self._names[key] = row.name
        return {handle: self._names[key] for handle, key in keys.items() if key in self._names}

    def learn(self, names: Mapping[str, str]) -> None:
        """Note the names that rows have now, by the keys of their handles."""
        self._names.update((key, name) for key, name in names.items() if key in self._names)
