"""Writing records and edges, and taking them back, one atomic batch at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import msgspec

from .. import labels
from ..errors import ConflictError, InvalidInputError, NotFoundError, UnknownNameError, VectorError
from ..model import EXTRACTED, Edge, Entity, Moment, Receipt, Record, Resource, Row, TargetKind
from ..model.reports import WrittenIds
from ..model.supersession import Superseded, said_text, superseded_of
from ..store.batch import Batch, BatchRecord, Preconditions, changed
from ..store.contract import Reads
from ..store.encoding import content_key
from ..store.results import Written
from ..store.rules import validation
from ..store.rules.replaced_entries import REPLACED, replaced_before
from ..store.specs import EdgeSpec
from .arguments import MAX_COUNT, check_text
from .briefs import discard_briefs
from .engine import Engine
from .fetching import fetch, find_by_id, label_of, may_be_id
from .stated_premises import with_stated
from .superseding import (
    brought_back,
    hidden_again,
    said_anew,
    still_hidden,
    unmark_amended,
    with_former_premises,
    with_superseded,
)

if TYPE_CHECKING:
    from ..store.forgetting.forget import Remake


Hidden: TypeAlias = Literal["kept", "refused", "shown"]
_R = TypeVar("_R", Resource, Entity)
_SWEPT = 500  # expired records that one transaction forgets


class Writing:
    """Writes to one tenant's store what `Memory` is given."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._store = engine.store

    def write(
        self,
        records: Iterable[Record | Edge],
        expected: Mapping[str, int | None] | None = None,
        *,
        wait: bool = False,
    ) -> WrittenIds:
        """Write a batch; see `Memory.write`."""
        written = self._write(records, _preconditions(expected), embed=not wait)
        ids = WrittenIds.of(written.ids, written.stale, written.stale_ids)
        if wait and self._engine.embeds:
            self._engine.embedding_queue.embed(ids)
        return ids

    def _write(
        self, records: Iterable[Record | Edge], expected: Preconditions | None, *, embed: bool
    ) -> Written:
        if isinstance(records, msgspec.Struct):
            # one record in place of a list: the validation of the batch refuses it
            return self.write_batch(records)
        items = list(records)
        if not any(map(_rests_on_stored, items)):
            return self.write_batch(items, expected=expected, embed=embed, hidden="refused")

        # what an id stands for is read inside the transaction that writes
        def build_resolved(reads: Reads) -> Batch:
            resolved = _resolve_labels(reads, items)
            batch = self.build(resolved, expected=expected, reads=reads, hidden="refused")
            _check_parents(reads, batch)
            return batch

        return self.update(build_resolved, embed=embed)

    def write_batch(
        self,
        items: Iterable[Record | Edge],
        removed: Sequence[str] = (),
        unlinked: Sequence[tuple[str, str, str]] = (),
        *,
        expected: Preconditions | None = None,
        embed: bool = True,
        hidden: Hidden = "kept",
    ) -> Written:
        """Write items, delete the edges `unlinked` and the records `removed`, all in one batch.
        What derives from these stays, and says that they are gone.

        Args:
            expected: what must be so still, or nothing is written.
            embed: embed the new texts in the background.
        """
        batch = self.build(items, removed, unlinked, expected, hidden=hidden)
        return self.write_built(batch, embed=embed)

    def write_built(self, batch: Batch, *, embed: bool = True) -> Written:
        """Write what `build` made."""
        return self._report(batch, self._store.write(batch), embed)

    def update(self, build: Callable[[Reads], Batch], *, embed: bool = True) -> Written:
        """Write the batch that `build` makes of what it reads, in one transaction.

        See `Store.update`: `build` reads nothing but what it is given, and may be called again.
        """
        self._engine.load_embedder()
        latest = Batch()

        def build_and_keep(reads: Reads) -> Batch:
            nonlocal latest
            latest = build(reads)
            return latest

        written = self._store.update(build_and_keep)
        return self._report(latest, written, embed)

    def build(
        self,
        items: Iterable[Record | Edge],
        removed: Sequence[str] = (),
        unlinked: Sequence[tuple[str, str, str]] = (),
        expected: Preconditions | None = None,
        *,
        reads: Reads | None = None,
        stamp: bool = True,
        hidden: Hidden = "kept",
    ) -> Batch:
        """Validate items into a batch; see `validation.build`.

        Args:
            hidden: what becomes of a text that was replaced and is written again.

        Raises:
            VectorError: a vector has other dimensions than the embedder's.
        """
        engine = self._engine
        model = engine.embedder_name
        if not model and (stored := (reads or self._store).vectors.model()):
            # a caller that opens it with that embedder finds these texts in the queue
            model = stored[0]
        batch = validation.build(
            items,
            tenant=engine.tenant,
            model=model,
            withdrawn=removed,
            deleted_edges=unlinked,
            schemas=(reads or self._store).schemas,
            stamp=stamp,
        )
        if batch.dims and (embedder := engine.embedder) is not None:
            from ..embed.answers import answered_by

            # it may have to ask the model
            own = answered_by(embedder, lambda: embedder.dims)
            if batch.dims != own:
                raise VectorError(
                    f"these vectors have {batch.dims} dimensions, those of {embedder.name} {own}",
                    remedy='open the memory with embedder="none" to bring vectors of your own',
                )
        batch = self._without_outdated(reads or self._store, batch, hidden)
        batch = self._with_doubts(reads or self._store, batch)
        batch = with_superseded(reads or self._store, batch)
        batch = with_former_premises(reads or self._store, batch)
        if hidden != "shown" and any(superseded_of(item.record) for item in batch.records):
            from ..ingest.surroundings import with_surroundings

            batch = with_surroundings(reads or self._store, batch)
        return msgspec.structs.replace(batch, expected=expected) if expected else batch

    def _report(self, batch: Batch, written: Written, embed: bool) -> Written:
        """Report what was written of the items handed in, and begin to embed their texts."""
        engine = self._engine
        has_texts = any(record.embed for record in batch.records)
        if not has_texts and engine.token_encoder is not None:
            # a text that is not embedded, or came with its vector, gets token vectors all the same
            has_texts = any(record.text for record in batch.records)
        if embed and has_texts and engine.embeds:
            engine.embedding_queue.start()
        if not batch.positions:
            return written
        # items that were merged into one record have its id each
        ids = tuple(written.ids[position] for position in batch.positions)
        return msgspec.structs.replace(written, ids=ids)

    # -- edges and entities ------------------------------------------------------------------------

    def delete_edge(self, src: str, rel_type: str, dst: str) -> None:
        """Delete an edge; see `Admin.delete_edge`."""

        def build_deletion(reads: Reads) -> Batch:
            src_key = labels.key(label_of(reads, src))
            dst_key = labels.key(label_of(reads, dst))
            edges = reads.graph.edges(EdgeSpec([src_key], direction="out"))
            types = {edge.rel_type for edge in edges if edge.dst == dst_key}
            matches = [name for name in types if labels.key(name) == labels.key(rel_type)]
            if not matches:
                remedy = f"there is {', '.join(sorted(types))}" if types else "see get_edges()"
                raise NotFoundError(
                    f"no edge {rel_type!r} leads from {src!r} to {dst!r}", remedy=remedy
                )
            unlinked = [(src_key, name, dst_key) for name in matches]
            return self.build([], unlinked=unlinked, reads=reads)

        self.update(build_deletion)

    def update_entity(
        self,
        id: str,
        properties: Mapping[str, Any] | None,
        changes: dict[str, Any],
        expected: int | None,
    ) -> None:
        """Change an entity; see `Memory.update_entity`."""
        _check_revision(id, expected)
        if not isinstance(properties, Mapping | None):
            raise InvalidInputError(f"properties are an object, not a {type(properties).__name__}")
        if unknown := changes.keys() - set(Entity.__struct_fields__):
            raise UnknownNameError("field", min(unknown), Entity.__struct_fields__)

        def build_change(reads: Reads) -> Batch:
            entity = _as_expected(fetch(reads, Entity, id), expected)
            merged = {**entity.properties, **(properties or {})}
            # what a person changes is not only known from reading any more
            merged.pop(EXTRACTED, None)
            fields = {"properties": merged, "thin": False, **changes}
            changed = msgspec.structs.replace(entity, **fields)
            if (changed.name, changed.type) != (entity.name, entity.type):
                _check_name_is_free(reads, changed)
            if changed.name != entity.name and "aliases" not in changes:
                changed = msgspec.structs.replace(
                    changed, aliases=_aliases_after(entity, changed.name)
                )
            return self.build([changed], reads=reads)

        self.update(build_change)

    def unreplace(self, id: str) -> Resource:
        """Bring a text back; see `Memory.unreplace`."""
        from ..ingest.surroundings import with_surroundings

        back: list[Resource] = []

        def build_back(reads: Reads) -> Batch:
            back[:] = brought_back(reads, id)
            batch = self.build(back, reads=reads, stamp=False, hidden="shown")
            batch = with_surroundings(reads, batch, [back[0].id])
            return msgspec.structs.replace(batch, deleted_entries=((REPLACED, back[0].id),))

        self.update(build_back)
        return fetch(self._store, Resource, back[0].id)

    def delete_resource(self, id: str, expected: int | None) -> Receipt:
        """Forget one resource; see `Memory.delete_resource`."""
        _check_revision(id, expected)

        def find(reads: Reads) -> list[Record]:
            return [_as_expected(fetch(reads, Resource, id), expected)]

        return self.forget_found(find, keep_away=True)

    def forget(
        self,
        targets: Sequence[str],
        *,
        by: TargetKind | None = None,
        dry_run: bool = False,
        keep_away: bool = True,
    ) -> Receipt:
        """Forget records; see `Memory.forget`.

        Args:
            keep_away: rows that come from a database do not come back with its next sync.
        """
        from ..store.forgetting.forget import forget

        self._engine.load_embedder()
        receipt = forget(
            self._store,
            targets,
            build=self._rebuild,
            remakes=self._remakes(),
            dry_run=dry_run,
            keep_away=keep_away,
            by=by,
        )
        if not dry_run:
            discard_briefs(self._engine.settings.home)
            self._engine.embed_in_background()
        return receipt

    def forget_found(
        self,
        find: Callable[[Reads], Sequence[Record]],
        *,
        keep_away: bool,
        extra: Callable[[Reads], Batch] | None = None,
    ) -> Receipt:
        """Forget what is found in the transaction that forgets; see `forget_found`."""
        from ..store.forgetting.forget import forget_found

        self._engine.load_embedder()
        receipt = forget_found(
            self._store,
            find,
            build=self._rebuild,
            remakes=self._remakes(),
            keep_away=keep_away,
            extra=extra,
        )
        discard_briefs(self._engine.settings.home)
        self._engine.embed_in_background()
        return receipt

    def sweep(self, limit: int | None) -> Receipt:
        """Forget what has expired; see `Admin.sweep`."""
        from ..store.forgetting.forget import forget_expired

        self._engine.load_embedder()
        receipt = Receipt(verified=True, at=datetime.now(UTC))
        left = MAX_COUNT if limit is None else limit
        while left > 0 and self._store.records.expired(1):
            swept = forget_expired(
                self._store, min(left, _SWEPT), build=self._rebuild, remakes=self._remakes()
            )
            receipt = receipt.plus(swept)
            left -= _SWEPT
        if receipt.records:
            discard_briefs(self._engine.settings.home)
            self._engine.embed_in_background()
        return receipt

    def _rebuild(self, reads: Reads, items: Sequence[Record | Edge]) -> Batch:
        return self.build(items, reads=reads, stamp=False, hidden="shown")

    def _remakes(self) -> tuple[Remake, ...]:
        from ..ingest.remake import remake

        return remake, unmark_amended, *self._engine.hooks.on_forgotten

    def _without_outdated(self, reads: Reads, batch: Batch, hidden: Hidden) -> Batch:
        """Delete with a batch what was found in texts that go or were wrong, or that it writes with
        other words or as somebody else's; what was replaced stays hidden."""
        changed = list(batch.withdrawn)
        positions = {
            item.record.id: position
            for position, item in enumerate(batch.records)
            if not item.fresh and isinstance(item.record, Resource)
        }
        before = {
            id: record
            for id, record in reads.records.of(list(positions)).items()
            if isinstance(record, Resource)
        }
        records = list(batch.records)
        for position, item in enumerate(records):
            if item.replacing is not None and item.replacing.reason == "wrong":
                changed.append(find_by_id(reads, item.replacing.id).id)
            stored = before.get(item.record.id)
            if stored is None or item.fresh or not isinstance(item.record, Resource):
                continue
            _refuse_replaced(item, superseded_of(stored), hidden)
            if _content_key(stored) != _content_key(item.record):
                changed.append(stored.id)
            elif hidden != "shown":
                records[position] = still_hidden(item, stored)
        # what is read has an id of its words
        absent = positions.keys() - before.keys() if hidden != "shown" else ()
        new = [id for id in absent if records[positions[id]].record.uri]
        for id, mark in replaced_before(reads.kv, new).items():
            item = records[positions[id]]
            _refuse_replaced(item, mark, hidden)
            records[positions[id]] = hidden_again(item, mark)
        if records != list(batch.records):
            batch = msgspec.structs.replace(batch, records=tuple(records))
        batch = with_stated(reads, batch, before)
        if not changed:
            return batch
        outdated = [find(reads, changed) for find in self._engine.hooks.on_rewritten]
        return msgspec.structs.replace(
            batch,
            deleted=(*batch.deleted, *(id for one in outdated for id in one.records)),
            deleted_entries=(
                *batch.deleted_entries,
                *(entry for one in outdated for entry in one.entries),
            ),
        )

    def _with_doubts(self, reads: Reads, batch: Batch) -> Batch:
        """Add to a batch what features keep of texts that it replaces or amends, and of stored ones
        that it says to rest on others."""
        older = [one.replacing for one in batch.records if one.replacing is not None]
        doubted = [find_by_id(reads, one.id).id for one in older if one.reason == "changed"]
        texts = (one.record for one in batch.records if isinstance(one.record, Resource))
        doubted += [text.id for text in texts if text.rests_on]
        if not doubted:
            return batch
        entries = [one for find in self._engine.hooks.on_doubted for one in find(reads, doubted)]
        return msgspec.structs.replace(batch, entries=(*batch.entries, *entries))


def _refuse_replaced(item: BatchRecord, mark: Superseded | None, hidden: Hidden) -> None:
    """Refuse a text that was replaced and is said again, unless it is read."""
    if mark is not None and hidden == "refused" and item.record.content:  # type: ignore[union-attr]
        raise said_anew(item.record, mark)


def _content_key(resource: Resource) -> tuple[object, ...]:
    """What a resource says, and who, also if it was replaced."""
    return said_text(resource), *content_key(resource)[1:]


def _check_name_is_free(reads: Reads, entity: Entity) -> None:
    """Refuse a new name or type if another entity has both: nobody could tell the two apart."""
    key = labels.key(entity.name)
    for other in reads.records.lookup([key], edges=0)[key]:
        if not isinstance(other, Entity) or other.id == entity.id or other.thin:
            continue
        if other.type == entity.type and labels.key(other.name) == key:
            raise ConflictError(
                f"there is another {entity.type or 'entity'} called {other.name!r}",
                remedy="if they are one, write what is known of this one to that one by its name, "
                "and forget this one; if not, give it a name that tells them apart",
                id=other.id,
            )


def _aliases_after(entity: Entity, name: str) -> tuple[str, ...]:
    """List the aliases of an entity that is renamed: its old name is one, its new name is not."""
    key = labels.key(name)
    names = dict.fromkeys((*entity.aliases, entity.name))
    return tuple(alias for alias in names if labels.key(alias) != key)


def _preconditions(expected: Mapping[str, int | None] | None) -> Preconditions | None:
    if expected is None:
        return None
    if not isinstance(expected, Mapping):
        raise InvalidInputError(
            f"expected is a mapping of ids to revisions, not a {type(expected).__name__}",
            remedy="give {id: record.revision} of each record as it was read",
        )
    for id, revision in expected.items():
        _check_revision(check_text(id, "an id"), revision)
    return Preconditions(records=dict(expected))


def _check_revision(id: str, revision: int | None) -> None:
    if revision is not None and (not isinstance(revision, int) or isinstance(revision, bool)):
        raise InvalidInputError(
            f"of {id!r} the revision is expected, a number, not a {type(revision).__name__}",
            remedy="give the `revision` that the record had when it was read; None: no record",
            id=id,
        )


def _as_expected(record: _R, revision: int | None) -> _R:
    """Return a record. Raises ChangedError: it has another revision than expected."""
    if revision not in (None, record.revision):
        raise changed(f"the record {record.id}")
    return record


def _rests_on_stored(item: Record | Edge) -> bool:
    """Say whether what an item means may depend on what is stored: on a record under an id, on the
    definition of its schema."""
    if isinstance(item, Row):
        # a definition that is dropped or changed meanwhile would leave rows that no schema has
        return True
    if isinstance(item, Edge):
        return may_be_id(item.src) or may_be_id(item.dst)
    if isinstance(item, Resource):
        return bool(item.id or item.replaces or item.amends)
    return isinstance(item, Moment) and bool(item.parent_moment)


def _resolve_labels(reads: Reads, items: Iterable[Record | Edge]) -> Iterator[Record | Edge]:
    """Yield the items; edges that were given ids connect labels now."""
    for item in items:
        if not isinstance(item, Edge):
            yield item
            continue
        src, dst = label_of(reads, item.src), label_of(reads, item.dst)
        yield msgspec.structs.replace(item, src=src, dst=dst)


def _check_parents(reads: Reads, batch: Batch) -> None:
    """Refuse a moment whose parent is neither stored nor in the batch, or is the moment itself."""
    moments = [item.record for item in batch.records if isinstance(item.record, Moment)]
    ids = {moment.id for moment in moments}
    for moment in moments:
        parent = moment.parent_moment
        if not parent:
            continue
        known = parent in ids or reads.records.get("moments", parent) is not None
        if known and parent != moment.id:
            continue
        fault = "itself" if parent == moment.id else "the id of no moment"
        raise InvalidInputError(
            f"the moment {moment.name[:60]!r}: its parent_moment {parent!r} is {fault}",
            remedy="write the moment that it is part of first, or with it, and give its id",
            id=parent,
        )
