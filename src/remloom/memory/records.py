"""Writing and fetching records and edges, one by one and by predicate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from difflib import get_close_matches
from typing import Any, TypeVar, get_args

import msgspec

from .. import labels
from ..errors import ConflictError, InvalidInputError, NotFoundError, UnknownNameError, VectorError
from ..model import (
    EXTRACTED,
    Direction,
    Edge,
    Entity,
    Hit,
    Moment,
    Receipt,
    Record,
    Resource,
    record_dict,
)
from ..predicates import Eq, Query
from ..store import validation
from ..store.batch import Batch, Preconditions
from ..store.contract import Reads
from ..store.results import Written
from ..store.schemas import SCHEMAS
from ..store.specs import EdgeOrder, EdgeSpec
from .arguments import asked, aware, names, of, positive, text
from .engine import Opened

__all__ = ["Records"]

_R = TypeVar("_R", Resource, Entity, Moment)


class Records(Opened):
    """Seed 2's operations on resources, entities, moments and edges."""

    # -- writing -----------------------------------------------------------------------------------

    def write(self, records: Iterable[Record | Edge]) -> list[str]:
        """Write any mix of records and edges as one atomic batch; on disk when it returns.

        An edge goes from label to label; the id of a stored record at either end stands for its
        name. What has no id gets one: a resource the same id for the same text from the same place,
        an entity that of its namesake of the same type (the two are merged), anything else a new
        one. Texts without an `embedding` are queued for the embedder.

        Returns: the ids, in the order of the records; edges have none.

        Raises:
            InvalidInputError, LabelError, VectorError: an item cannot be stored; the message says
                which and why, and nothing was written.
            EmbedderMismatchError: this memory's vectors were made by another embedder.
        """
        if isinstance(records, msgspec.Struct):  # refused
            return list(self._write(records).ids)
        items = list(records)
        if not any(map(_refers, items)):
            return list(self._write(items).ids)

        def work(reads: Reads) -> Batch:
            prepared = self._build(_by_label(reads, items), reads=reads)
            _check_parents(reads, prepared)
            return prepared

        return list(self._update(work).ids)

    def _write(
        self,
        items: Iterable[Record | Edge],
        removed: Sequence[str] = (),
        unlinked: Sequence[tuple[str, str, str]] = (),
        *,
        expected: Preconditions | None = None,
        background: bool = True,
    ) -> Written:
        prepared = self._build(items, removed, unlinked, expected)
        return self._written(prepared, self._store.write(prepared), background)

    def _update(self, work: Callable[[Reads], Batch], *, background: bool = True) -> Written:
        """Write what `work` makes (with `_build`) of what it reads. See `Store.update`: it reads
        nothing else."""
        self._model_name  # noqa: B018 - loads the embedder, which takes longer than a transaction should
        prepared = Batch()

        def run(reads: Reads) -> Batch:
            nonlocal prepared
            prepared = work(reads)
            return prepared

        written = self._store.update(run)
        return self._written(prepared, written, background)

    def _build(
        self,
        items: Iterable[Record | Edge],
        removed: Sequence[str] = (),
        unlinked: Sequence[tuple[str, str, str]] = (),
        expected: Preconditions | None = None,
        *,
        reads: Reads | None = None,
    ) -> Batch:
        model = self._model_name
        if not model and (stored := (reads or self._store).vectors.model()):
            # whoever opens it with that embedder finds these texts in the queue
            model = stored[0]
        prepared = validation.build(
            items, tenant=self.tenant, model=model, deleted=removed, deleted_edges=unlinked
        )
        if prepared.dims and self._model_name and self._embedder is not None:
            dims = self._embedder.dims
            if prepared.dims != dims:
                raise VectorError(
                    f"these vectors have {prepared.dims} dimensions, those of {self._model_name} {dims}",
                    remedy='open the memory with embedder="none" to bring vectors of your own',
                )
        return msgspec.structs.replace(prepared, expected=expected) if expected else prepared

    def _written(self, prepared: Batch, written: Written, background: bool) -> Written:
        """What was written of the items that were handed in; what is to be embedded of them is,
        meanwhile."""
        if (
            background
            and self._embedder is not None
            and any(record.embed for record in prepared.records)
        ):
            self._queue.start()
        if prepared.positions:
            return msgspec.structs.replace(
                written, ids=tuple(written.ids[place] for place in prepared.positions)
            )
        return written

    def create_resource(self, resource: Resource) -> str:
        """Remember a resource; returns its id. Source: seed 2."""
        return self.write([of(resource, Resource)])[0]

    def create_entity(self, entity: Entity) -> str:
        """Remember an entity; returns its id, which is that of its namesake when there is one.
        Source: seed 2."""
        return self.write([of(entity, Entity)])[0]

    def create_moment(self, moment: Moment) -> str:
        """Remember a moment; returns its id. Source: seed 2."""
        return self.write([of(moment, Moment)])[0]

    def create_edge(self, edge: Edge) -> None:
        """Connect two labels, or strengthen their connection. An id at either end stands for its
        record's name."""
        self.write([of(edge, Edge)])

    def delete_edge(self, src: str, rel_type: str, dst: str) -> None:
        """Take back a connection between two labels, or the records with these ids, as if it had
        never been made.

        What was true once is better ended than deleted: write the edge with `valid_to`, and `AS OF`
        still finds it.

        Raises:
            NotFoundError: there is no such edge.
        """

        def work(reads: Reads) -> Batch:
            ends = labels.key(_label(reads, src)), labels.key(_label(reads, dst))
            edges = reads.graph.edges(EdgeSpec([ends[0]], direction="out"))
            types = {edge.rel_type for edge in edges if edge.dst == ends[1]}
            found = [name for name in types if labels.key(name) == labels.key(rel_type)]
            if not found:
                raise NotFoundError(
                    f"no edge {rel_type!r} leads from {src!r} to {dst!r}",
                    remedy=f"there is {', '.join(sorted(types))}"
                    if types
                    else "see get_edges() for those there are",
                )
            return self._build(
                [], unlinked=[(ends[0], name, ends[1]) for name in found], reads=reads
            )

        self._update(work)

    def update_entity(
        self, id: str, properties: Mapping[str, Any] | None = None, **changes: Any
    ) -> Entity:
        """Change an entity: `properties` are merged into what it has, `changes` replace whole
        fields.

        With another `name` it is the same entity: its edges follow, and it is still found by the
        old name, which is an alias now (unless `aliases` are given). `history` tells what was
        changed, and when.

        Raises:
            NotFoundError: no entity has this id.
            ConflictError: another entity of its type has that name.
            UnknownNameError: an entity has no such field.
        """
        if not isinstance(properties, Mapping | None):
            raise InvalidInputError(f"properties are an object, not a {type(properties).__name__}")
        if unknown := changes.keys() - set(Entity.__struct_fields__):
            raise UnknownNameError("field", min(unknown), Entity.__struct_fields__)

        def work(reads: Reads) -> Batch:
            entity = _found(reads, Entity, id)
            merged = {**entity.properties, **(properties or {})}
            merged.pop(EXTRACTED, None)
            changed = msgspec.structs.replace(
                entity, **{"properties": merged, "thin": False, **changes}
            )
            if (changed.name, changed.type) != (entity.name, entity.type):
                _free(reads, changed)
            if changed.name != entity.name and "aliases" not in changes:
                changed = msgspec.structs.replace(changed, aliases=_aliases(entity, changed.name))
            return self._build([changed], reads=reads)

        self._update(work)
        return self.get_entity(id)

    def delete_resource(self, id: str) -> Receipt:
        """Forget one resource and what was derived from it. Source: seed 2.

        Raises:
            NotFoundError: no resource has this id.
        """
        self.get_resource(id)
        return self._forget((id,))

    def _forget(self, targets: Sequence[str], *, dry_run: bool = False) -> Receipt:
        from ..dream import remake as dreamt
        from ..ingest import remake as read
        from ..store.forget import forget

        def build(reads: Reads, items: Sequence[Record | Edge]) -> Batch:
            return self._build(items, reads=reads)

        self._model_name  # noqa: B018 - loads the embedder, which takes longer than a transaction should
        receipt = forget(
            self._store, targets, build=build, remakes=(read.remake, dreamt.remake), dry_run=dry_run
        )
        if not dry_run and self._embedder is not None and self._store.vectors.pending(1):
            self._queue.start()
        return receipt

    # -- by id -------------------------------------------------------------------------------------

    def get_resource(self, id: str) -> Resource:
        """The resource with this id, without `graph_paths`: `get_edges` and `lookup` have them.

        Raises:
            NotFoundError: there is none.
        """
        return _found(self._store, Resource, id)

    def get_entity(self, id: str, *, as_of: datetime | None = None) -> Entity:
        """The entity with this id, without `graph_paths`: `get_edges` and `lookup` have them. With
        `as_of`, as it was.

        Raises:
            NotFoundError: there is none; or there was none then, or what it was then is no longer
                kept.
            InvalidInputError: `as_of` has no time zone.
        """
        entity = _found(self._store, Entity, id)
        if as_of is None:
            return entity
        from ..store.history import entity_at

        aware(as_of)
        was = entity_at(self._store, entity, as_of)
        if was is None:
            raise NotFoundError(
                f"{entity.name!r} was not there at {as_of.isoformat()}",
                remedy=f"it was first written at {entity.created_at}", id=id,
            )  # fmt: skip
        return was

    def get_moment(self, id: str) -> Moment:
        """The moment with this id, without `graph_paths`: `get_edges` and `lookup` have them.

        Raises:
            NotFoundError: there is none.
        """
        return _found(self._store, Moment, id)

    def show(self, id_or_label: str, *, as_of: datetime | None = None) -> dict[str, Any]:
        """All that is known of one thing: its records, edges in and out, where it came from, what
        came of it. With `as_of`, what had that label then, entities as they were, and edges in
        force then.

        Returns: `records`, each as JSON-ready values with `parents` and `children` (ids), and, of
        what was derived, the `sources` it rests on in the end (with lines); `edges_out` and
        `edges_in` (the newest hundred of each), those out with their path strings as `paths`;
        `edge_counts`.

        Raises:
            NotFoundError: nothing has this id or label; the remedy names what is most like it.
            InvalidInputError: `as_of` has no time zone.
        """
        from ..store.forget import targets

        if as_of is not None:
            aware(as_of)

        record = self._store.records.get(None, text(id_or_label, "an id or label"))
        records = (
            [record]
            if record
            else self._store.records.lookup([labels.key(id_or_label)])[labels.key(id_or_label)]
        )
        if not records:
            records = targets(self._store, [id_or_label])[id_or_label]
        keys = list(dict.fromkeys(labels.key(record.name) for record in records))
        if as_of is not None:
            records = self._then(id_or_label, records, as_of)
            keys = list(dict.fromkeys((*keys, *(labels.key(record.name) for record in records))))

        def at(direction: Direction) -> list[dict[str, Any]]:
            edges = self._store.graph.edges(
                EdgeSpec(keys, direction=direction, limit=100, as_of=as_of)
            )
            return [msgspec.to_builtins(edge) for edge in edges]

        shown = {labels.key(record.name): record.name for record in records}

        def path_of(edge: dict[str, Any]) -> tuple[str, ...]:
            return msgspec.convert(edge, Edge).paths(
                records[0].schema, src=shown.get(edge["src"], "")
            )

        return {
            "records": [
                record_dict(record)
                | {
                    "parents": self._store.records.parents(record.id),
                    "children": self._store.records.children(record.id),
                }
                | self._grounds(record.id)
                for record in records
            ],
            "edges_out": [edge | {"paths": path_of(edge)} for edge in at("out")],
            "edges_in": at("in"),
            "edge_counts": [
                msgspec.to_builtins(count)
                for count in self._store.graph.count_by_type(keys, direction="both", as_of=as_of)
            ],
        }

    def _then(self, id_or_label: str, records: Sequence[Record], as_of: datetime) -> list[Record]:
        """What these records were then; of a label, what had it then."""
        from ..store.history import lookup_at, record_at

        if any(record.id == id_or_label for record in records):
            shown = [
                was
                for record in records
                if (was := record_at(self._store, record, as_of)) is not None
            ]
        else:
            key = labels.key(id_or_label)
            shown = lookup_at(self._store, [key], as_of)[key]
        if not shown:
            raise NotFoundError(
                f"nothing had the id or label {id_or_label!r} at {as_of.isoformat()}",
                id=id_or_label,
            )
        return shown

    def _grounds(self, id: str) -> dict[str, list[str]]:
        """Of what was derived: the sources, with their lines, that it rests on in the end."""
        above = self.history(id)[1:]
        return (
            {"sources": [entry["source"] for entry in above if not entry["parents"]]}
            if above
            else {}
        )

    def history(self, id: str) -> list[dict[str, Any]]:
        """Where a record came from: itself, its parents, theirs, down to what was read, each with
        source and lines. Of an entity also its `changes`, newest first: when, and each field and
        property from what to what.

        Raises:
            NotFoundError: no record has this id.
        """
        itself = self._store.records.get(None, text(id, "an id"))
        if itself is None:
            raise NotFoundError(f"no record has the id {id!r}", id=id)
        found: dict[str, dict[str, Any]] = {}
        queue = [(itself, 0)]
        while queue:
            record, depth = queue.pop(0)
            if record.id in found:
                continue
            above = self._store.records.parents(record.id)
            hit = Hit(record=record)
            found[record.id] = {
                "depth": depth, "id": record.id, "name": record.name, "schema": record.schema, "source": hit.source,
                "kind": getattr(record, "kind", ""), "created_at": record.created_at, "updated_at": record.updated_at,
                "parents": above,
            }  # fmt: skip
            queue += [
                (parent, depth + 1)
                for id in above
                if (parent := self._store.records.get(None, id)) is not None
            ]
        if isinstance(itself, Entity):
            from ..store.history import told

            found[id]["changes"] = list(told(self._store, itself))
        return list(found.values())

    # -- edges -------------------------------------------------------------------------------------

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
        return self._store.graph.edges(
            EdgeSpec([labels.key(self._label(label_or_id))],
            direction=direction, rel_types=names(edge_types) or None, limit=limit, order=EdgeOrder(), as_of=as_of),
        )  # fmt: skip

    def _label(self, label_or_id: str) -> str:
        return _label(self._store, label_or_id)

    # -- moments -----------------------------------------------------------------------------------

    def get_moments_by_time(self, start: datetime, end: datetime) -> list[Moment]:
        """Moments that overlap [start, end), in order of their start. Source: seed 2.

        Raises:
            InvalidInputError: a naive datetime, or an end before the start.
        """
        for at in (start, end):
            aware(at)
        if end < start:
            raise InvalidInputError(
                f"the window ends {end.isoformat()}, before it starts {start.isoformat()}"
            )
        return self._store.records.moments_between(start, end)

    def get_moments_by_type(self, type: str) -> list[Moment]:
        """Moments of a type, in order of their start. Source: seed 2."""
        return self.query_moments(Query().filter(Eq("type", type)).order_by("starts_at"))

    # -- by field ----------------------------------------------------------------------------------

    def query_resources(self, query: Query) -> list[Resource]:
        """Resources by predicate. Source: seed 2, "Query layer".

        Raises:
            UnknownNameError: a field that resources do not have.
        """
        return self._store.records.query("resources", asked(query))  # type: ignore[return-value]

    def query_entities(self, query: Query) -> list[Entity]:
        """Entities by predicate; a bare name that is no field means a property."""
        return self._store.records.query("entities", asked(query))  # type: ignore[return-value]

    def query_moments(self, query: Query) -> list[Moment]:
        """Moments by predicate."""
        return self._store.records.query("moments", asked(query))  # type: ignore[return-value]

    def create_index(self, schema: str, field: str) -> None:
        """Make predicates and SQL on one field of a schema fast. Source: seed 2.

        Args:
            schema: resources, entities or moments; or, as seed 2 has it, a type of entities
                ("person"), whose fields are properties: the index is that of every entity's.

        Raises:
            UnknownNameError: a field that the schema does not have, or what is nearly the name of a
                schema.
        """
        if isinstance(schema, str) and schema.lower() not in SCHEMAS:
            if not schema.strip() or get_close_matches(schema.lower(), SCHEMAS, n=1, cutoff=0.8):
                raise UnknownNameError("schema", schema, list(SCHEMAS))
            schema = "entities"
        self._store.sql.create_index(schema, field)


def _found(reads: Reads, kind: type[_R], id: str) -> _R:
    record = reads.records.get(kind.schema, text(id, "an id"))
    if record is None:
        raise NotFoundError(
            f"no record of {kind.schema} has the id {id!r}",
            remedy="look it up by its label",
            id=id,
            schema=kind.schema,
        )
    return record  # type: ignore[return-value]


def _free(reads: Reads, entity: Entity) -> None:
    """Refuse a new name or type if another has both: nobody could tell the two apart."""
    key = labels.key(entity.name)
    for other in reads.records.lookup([key], edges=0)[key]:
        same = (
            isinstance(other, Entity)
            and other.type == entity.type
            and labels.key(other.name) == key
        )
        if same and other.id != entity.id and not other.thin:  # type: ignore[union-attr]
            raise ConflictError(
                f"there is another {entity.type or 'entity'} called {other.name!r}",
                remedy="if they are one, write what is known of this one to that one by its name, and forget this one;"
                " if not, give it a name that tells them apart",
                id=other.id,
            )


def _aliases(entity: Entity, name: str) -> tuple[str, ...]:
    """What a renamed entity is called besides: what it was called, and not what it is called now."""
    key = labels.key(name)
    return tuple(
        alias for alias in dict.fromkeys((*entity.aliases, entity.name)) if labels.key(alias) != key
    )


def _refers(item: Record | Edge) -> bool:
    """Whether it speaks, by an id, of a record that is to be there."""
    if isinstance(item, Edge):
        return _may_be_id(item.src) or _may_be_id(item.dst)
    return isinstance(item, Moment) and bool(item.parent_moment)


def _check_parents(reads: Reads, prepared: Batch) -> None:
    """Refuse moments that would lie in one that is not there, or in themselves."""
    moments = [item.record for item in prepared.records if isinstance(item.record, Moment)]
    beside = {moment.id for moment in moments}
    for moment in moments:
        parent = moment.parent_moment
        if parent == moment.id or not (
            not parent or parent in beside or reads.records.get("moments", parent)
        ):
            raise InvalidInputError(
                f"the moment {moment.name[:60]!r}: its parent_moment {parent!r} is "
                + ("itself" if parent == moment.id else "the id of no moment"),
                remedy="write the moment that it is part of first, or with it, and give its id",
                id=parent,
            )


def _by_label(reads: Reads, items: Iterable[Record | Edge]) -> Iterator[Record | Edge]:
    """The items, edges that were given ids between labels."""
    for item in items:
        if isinstance(item, Edge):
            yield msgspec.structs.replace(
                item, src=_label(reads, item.src), dst=_label(reads, item.dst)
            )
        else:
            yield item


def _label(reads: Reads, label_or_id: str) -> str:
    record = reads.records.get(None, label_or_id) if _may_be_id(label_or_id) else None
    return label_or_id if record is None else record.name


def _may_be_id(label_or_id: str) -> bool:
    return isinstance(label_or_id, str) and len(label_or_id) == 36 and label_or_id.count("-") == 4
