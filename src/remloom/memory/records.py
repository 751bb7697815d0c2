"""Writing and fetching records and edges, one by one and by predicate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar, get_args

import msgspec

from .. import labels
from ..errors import InvalidInputError, NotFoundError, UnknownNameError, VectorError
from ..model import Direction, Edge, Entity, Hit, Moment, Receipt, Record, Resource, record_dict
from ..predicates import Eq, Query
from ..store import batch
from ..store.contract import EdgeOrder, Expected, Written
from .checks import aware, names, of, positive
from .opened import Opened

__all__ = ["Records"]

_R = TypeVar("_R", Resource, Entity, Moment)


class Records(Opened):
    """Seed 2's operations on resources, entities, moments and edges."""

    # -- writing ----------------------------------------------------------------------------------------------------

    def write(self, records: Iterable[Record | Edge]) -> list[str]:
        """Write any mix of records and edges as one atomic batch; on disk when it returns.

        An edge goes from label to label; the id of a stored record at either end stands for its name.
        What has no id gets one: a resource the same id for the same text from the same place, an entity that
        of its namesake of the same type (the two are merged), anything else a new one. Texts without an
        `embedding` are queued for the embedder.

        Returns: the ids, in the order of the records; edges have none.

        Raises:
            InvalidInputError, LabelError, VectorError: an item cannot be stored; the message says which and why,
                and nothing was written.
            EmbedderMismatchError: this memory's vectors were made by another embedder.
        """
        if not isinstance(records, msgspec.Struct):  # one record instead of a list is refused below
            records = map(self._by_label, records)
        return list(self._write(records).ids)

    def _write(
        self,
        items: Iterable[Record | Edge],
        removed: Sequence[str] = (),
        unlinked: Sequence[tuple[str, str, str]] = (),
        *,
        expected: Expected | None = None,
        background: bool = True,
    ) -> Written:
        model = self._model_name
        if not model and (stored := self._store.model()):
            model = stored[0]  # whoever opens it with that embedder finds these texts in the queue
        prepared = batch.build(items, tenant=self.tenant, model=model, removed=removed, unlinked=unlinked)
        if prepared.dims and self._model_name and self._embedder is not None:
            dims = self._embedder.dims
            if prepared.dims != dims:
                raise VectorError(
                    f"these vectors have {prepared.dims} dimensions, those of {self._model_name} {dims}",
                    remedy='open the memory with embedder="none" to bring vectors of your own',
                )
        written = self._store.write(msgspec.structs.replace(prepared, expected=expected) if expected else prepared)
        if background and self._embedder is not None and any(record.embed for record in prepared.records):
            self._queue.start()
        if prepared.places:
            return msgspec.structs.replace(written, ids=tuple(written.ids[place] for place in prepared.places))
        return written

    def create_resource(self, resource: Resource) -> str:
        """Remember a resource; returns its id. Source: seed 2."""
        return self.write([of(resource, Resource)])[0]

    def create_entity(self, entity: Entity) -> str:
        """Remember an entity; returns its id, which is that of its namesake when there is one. Source: seed 2."""
        return self.write([of(entity, Entity)])[0]

    def create_moment(self, moment: Moment) -> str:
        """Remember a moment; returns its id. Source: seed 2."""
        return self.write([of(moment, Moment)])[0]

    def create_edge(self, edge: Edge) -> None:
        """Connect two labels, or strengthen their connection. An id at either end stands for its record's name."""
        self.write([of(edge, Edge)])

    def delete_edge(self, src: str, rel_type: str, dst: str) -> None:
        """Take back a connection between two labels, or the records with these ids, as if it had never been made.

        What was true once is better ended than deleted: write the edge with `valid_to`, and `AS OF` still finds it.

        Raises:
            NotFoundError: there is no such edge.
        """
        ends = labels.key(self._label(src)), labels.key(self._label(dst))
        types = {edge.rel_type for edge in self.get_edges(ends[0], direction="out") if edge.dst == ends[1]}
        found = [name for name in types if labels.key(name) == labels.key(rel_type)]
        if not found:
            raise NotFoundError(
                f"no edge {rel_type!r} leads from {src!r} to {dst!r}",
                remedy=f"there is {', '.join(sorted(types))}" if types else "see get_edges() for those there are",
            )
        self._write([], unlinked=[(ends[0], name, ends[1]) for name in found])

    def update_entity(self, id: str, properties: Mapping[str, Any] | None = None, **changes: Any) -> Entity:
        """Change an entity: `properties` are merged into what it has, `changes` replace whole fields.

        Raises:
            NotFoundError: no entity has this id.
        """
        entity = self.get_entity(id)
        merged = {**entity.properties, **(properties or {})}
        merged.pop(batch.EXTRACTED, None)
        try:
            self.write([msgspec.structs.replace(entity, properties=merged, thin=False, **changes)])
        except TypeError as error:
            raise InvalidInputError(f"an entity has no such field: {error}") from error
        return self.get_entity(id)

    def delete_resource(self, id: str) -> Receipt:
        """Forget one resource and what was derived from it. Source: seed 2.

        Raises:
            NotFoundError: no resource has this id.
        """
        from ..store.forgetting import forget

        self.get_resource(id)
        return forget(self._store, (id,))

    # -- by id ------------------------------------------------------------------------------------------------------

    def get_resource(self, id: str) -> Resource:
        """The resource with this id, without `graph_paths`: `get_edges` and `lookup` have them.

        Raises:
            NotFoundError: there is none.
        """
        return self._get(Resource, id)

    def get_entity(self, id: str) -> Entity:
        """The entity with this id, without `graph_paths`: `get_edges` and `lookup` have them.

        Raises:
            NotFoundError: there is none.
        """
        return self._get(Entity, id)

    def get_moment(self, id: str) -> Moment:
        """The moment with this id, without `graph_paths`: `get_edges` and `lookup` have them.

        Raises:
            NotFoundError: there is none.
        """
        return self._get(Moment, id)

    def _get(self, kind: type[_R], id: str) -> _R:
        record = self._store.get(kind.schema, id)
        if record is None:
            raise NotFoundError(
                f"no record of {kind.schema} has the id {id!r}",
                remedy="look it up by its label",
                id=id,
                schema=kind.schema,
            )
        return record  # type: ignore[return-value]

    def show(self, id_or_label: str) -> dict[str, Any]:
        """All that is known of one thing: its records, edges in and out, where it came from, what came of it.

        Returns: `records`, each as JSON-ready values with `parents` and `children` (ids), and, of what was derived, the
        `sources` it rests on in the end (with lines); `edges_out` and `edges_in`
        (the newest hundred of each), those out with their path strings as `paths`; `edge_counts`.

        Raises:
            NotFoundError: nothing has this id or label; the remedy names what is most like it.
        """
        from ..store.forgetting import targets

        record = self._store.get(None, id_or_label)
        records = [record] if record else self._store.lookup([labels.key(id_or_label)])[labels.key(id_or_label)]
        if not records:
            records = targets(self._store, [id_or_label])[id_or_label]
        keys = list(dict.fromkeys(labels.key(record.name) for record in records))

        def at(direction: Direction) -> list[dict[str, Any]]:
            edges = self._store.edges(keys, direction=direction, rel_types=None, limit=100)
            return [msgspec.to_builtins(edge) for edge in edges]

        return {
            "records": [
                record_dict(record)
                | {"parents": self._store.parents(record.id), "children": self._store.children(record.id)}
                | self._grounds(record.id)
                for record in records
            ],
            "edges_out": [edge | {"paths": msgspec.convert(edge, Edge).paths(records[0].schema)} for edge in at("out")],
            "edges_in": at("in"),
            "edge_counts": [msgspec.to_builtins(count) for count in self._store.count_edges(keys, direction="both")],
        }

    def _grounds(self, id: str) -> dict[str, list[str]]:
        """Of what was derived: the sources, with their lines, that it rests on in the end."""
        above = self.history(id)[1:]
        return {"sources": [entry["source"] for entry in above if not entry["parents"]]} if above else {}

    def history(self, id: str) -> list[dict[str, Any]]:
        """Where a record came from: itself, its parents, theirs, down to what was read, each with source and lines.

        Raises:
            NotFoundError: no record has this id.
        """
        record = self._store.get(None, id)
        if record is None:
            raise NotFoundError(f"no record has the id {id!r}", id=id)
        found: dict[str, dict[str, Any]] = {}
        queue = [(record, 0)]
        while queue:
            record, depth = queue.pop(0)
            if record.id in found:
                continue
            above = self._store.parents(record.id)
            hit = Hit(record=record)
            found[record.id] = {
                "depth": depth, "id": record.id, "name": record.name, "schema": record.schema, "source": hit.source,
                "kind": getattr(record, "kind", ""), "created_at": record.created_at, "updated_at": record.updated_at,
                "parents": above,
            }  # fmt: skip
            queue += [(parent, depth + 1) for id in above if (parent := self._store.get(None, id)) is not None]
        return list(found.values())

    # -- edges ------------------------------------------------------------------------------------------------------

    def get_edges(
        self,
        label_or_id: str,
        *,
        direction: Direction = "out",
        edge_types: Sequence[str] | None = None,
        limit: int | None = None,
        as_of: datetime | None = None,
    ) -> list[Edge]:
        """The edges at a label, newest first. Source: seed 2.

        Raises:
            UnknownNameError: an edge type or direction that there is not.
            InvalidInputError: a limit below 1, or an `as_of` without time zone.
        """
        if direction not in get_args(Direction):
            raise UnknownNameError("direction", str(direction), get_args(Direction))
        if as_of is not None:
            aware(as_of)
        if limit is not None:
            positive(limit)
        return self._store.edges(
            [labels.key(self._label(label_or_id))],
            direction=direction, rel_types=names(edge_types) or None, limit=limit, order=EdgeOrder(), as_of=as_of,
        )  # fmt: skip

    def _by_label(self, item: Record | Edge) -> Record | Edge:
        """An edge between labels, where it was given ids."""
        if isinstance(item, Edge):
            src, dst = self._label(item.src), self._label(item.dst)
            if src is not item.src or dst is not item.dst:
                return msgspec.structs.replace(item, src=src, dst=dst)
        return item

    def _label(self, label_or_id: str) -> str:
        if isinstance(label_or_id, str) and len(label_or_id) == 36 and label_or_id.count("-") == 4:
            record = self._store.get(None, label_or_id)
            if record is not None:
                return record.name
        return label_or_id

    # -- moments ----------------------------------------------------------------------------------------------------

    def get_moments_by_time(self, start: datetime, end: datetime) -> list[Moment]:
        """Moments that overlap [start, end), in order of their start. Source: seed 2.

        Raises:
            InvalidInputError: a naive datetime, or an end before the start.
        """
        for at in (start, end):
            aware(at)
        if end < start:
            raise InvalidInputError(f"the window ends {end.isoformat()}, before it starts {start.isoformat()}")
        return self._store.moments_between(start, end)

    def get_moments_by_type(self, type: str) -> list[Moment]:
        """Moments of a type, in order of their start. Source: seed 2."""
        return self.query_moments(Query().filter(Eq("type", type)).order_by("starts_at"))

    # -- by field ---------------------------------------------------------------------------------------------------

    def query_resources(self, query: Query) -> list[Resource]:
        """Resources by predicate. Source: seed 2, "Query layer".

        Raises:
            UnknownNameError: a field that resources do not have.
        """
        return self._store.query("resources", of(query, Query))  # type: ignore[return-value]

    def query_entities(self, query: Query) -> list[Entity]:
        """Entities by predicate; a bare name that is no field means a property."""
        return self._store.query("entities", of(query, Query))  # type: ignore[return-value]

    def query_moments(self, query: Query) -> list[Moment]:
        """Moments by predicate."""
        return self._store.query("moments", of(query, Query))  # type: ignore[return-value]

    def create_index(self, schema: str, field: str) -> None:
        """Make predicates and SQL on one field of a schema fast. Source: seed 2."""
        self._store.create_index(schema, field)
