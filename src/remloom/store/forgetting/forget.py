"""Forgetting: what a name, id or source stands for goes, what was made of it goes or is remade, and
it is looked for.

What was made of a record is known by provenance: records derived from it are its children, moments
refer to it, edges stand at its labels, key-value entries have it among their refs. Whatever makes
texts out of records in another way has a `Remake`, which makes them again without what goes.
All of it is looked up and written in one transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain
from typing import TypeAlias, get_args

from msgspec import Struct, structs
from msgspec.structs import replace

from ... import labels
from ...errors import InvalidInputError, LabelError, NotFoundError
from ...kv import KeyRange, edge_ref, label_ref, lost_ref, remade_ref, source_ref
from ...model import (
    Edge,
    EdgeKey,
    Entity,
    Moment,
    Receipt,
    Record,
    Resource,
    Row,
    TargetKind,
    edge_types,
)
from ...model.reports import MOST_MENTIONS
from .. import changes
from ..batch import Batch
from ..contract import Reads, Store
from ..meanings import by_id, check_one_meaning
from ..rules.merge import keys_of
from ..rules.premise_entries import PREMISE, child_of
from ..specs import ChunkRange, NameSpec
from .remaining_words import ForgottenWords, find_mentions, find_remaining_words, names_of
from .watch import forgotten_entries, watch_entries

# edge types from a moment to what the texts that it refers to name
_DESCRIBES = ("about", "attended_by")
# edges of a name beyond those that go, from which it is not asked whose they are: it is known
# elsewhere
_MANY = 64

_SHOWN = 5  # ids in a remedy
_PAST_LOOKED_AT = 400  # of records that went: whether something is kept of what they were

# the ref of an entry whose texts cannot be told apart: it goes with whatever is forgotten
ANY_FORGETTING = "forgetting:any"

RemovedRecords: TypeAlias = Mapping[str, Record]  # by id


class Remade(Struct, frozen=True):
    """What becomes of what was made of records that go."""

    gone: tuple[Record, ...] = ()  # what nothing is left of
    # as they are without them; of one given twice, each change counts
    records: tuple[Record, ...] = ()
    unlinked: tuple[EdgeKey, ...] = ()  # edges that are no longer true
    moved: tuple[EdgeKey, ...] = ()  # edges that are at other labels now, or say something else
    edges: tuple[Edge, ...] = ()  # these, and new ones

    @classmethod
    def of(cls, remade: Iterable[Remade]) -> Remade:
        """All of them as one."""
        every = [structs.astuple(one) for one in remade]
        return cls(*(tuple(chain.from_iterable(part)) for part in zip(*every, strict=True)))


Remake: TypeAlias = Callable[[Reads, RemovedRecords], Remade]
Build: TypeAlias = Callable[[Reads, Sequence[Record | Edge]], Batch]  # a batch of what is remade


class _Plan(Struct, frozen=True):
    targeted: dict[str, Record]
    removed: dict[str, Record]
    keys: frozenset[str]  # that no record has any more
    edges: tuple[Edge, ...]  # that go with them
    loose: tuple[EdgeKey, ...]  # edges that reading made at a key which stays
    remade: tuple[Remade, ...]
    shared: tuple[EdgeKey, ...]  # edges that stay, and may have been those of what goes

    @property
    def cut(self) -> set[EdgeKey]:
        """Edges that go beside those at keys which go."""
        links = {*self.loose, *(link for remade in self.remade for link in remade.unlinked)}
        return {link for link in links if not {link[0], link[2]} & self.keys}


def targets(
    store: Store, names: Sequence[str], by: TargetKind | None = None
) -> dict[str, list[Record]]:
    """Find the records that each of these ids, source uris or labels (or, with `by`, one of the
    three alone) stands for.

    Raises:
        NotFoundError: one of them stands for nothing; the remedy names what is most like it.
        AmbiguousLabelError: one of them stands for several things.
        InvalidInputError: one of them is not text, or blank, or what no store can keep.
    """
    if by not in (None, *get_args(TargetKind)):
        raise InvalidInputError(
            f"nothing is forgotten by {by!r}",
            remedy='give by="id", "source" or "label", or leave it out',
        )
    for name in names:
        # Whatever was not read has "" for its uri: a variable left empty must not stand for all of
        # that.
        if not isinstance(name, str) or not name.strip() or not labels.storable(name):
            raise InvalidInputError(
                f"{name!r} names nothing",
                remedy="give an id, a label, or the uri that something was read from",
            )
    by_name = {name: _resolve(store, name, by) for name in names}
    for name, records in by_name.items():
        if not records:
            raise NotFoundError(
                f"nothing has the {by or 'id, source or label'} {name!r}",
                remedy=_remedy(store, name),
                id=name,
            )
    return by_name


def _remedy(store: Store, name: str) -> str:
    if named_in := find_mentions(store, [name]):
        count = len(named_in)
        number = "1 record says" if count == 1 else f"{count:,} records say"
        at_least = "at least " if count == MOST_MENTIONS else ""
        which = f"the first {_SHOWN}" if count > _SHOWN else "what says it"
        ids = " ".join(named_in[:_SHOWN])
        return f"{at_least}{number} it; forget {which}: `remloom forget {ids}`"
    suggestions = dict.fromkeys(
        match.record.name for match in store.search.names(name, NameSpec(threshold=0.5, limit=3))
    )
    if suggestions:
        return f"did you mean {' or '.join(map(repr, suggestions))}?"
    return (
        "`remloom search WORDS --json` shows ids and uris; each text of an export goes by its own: "
        "FILE#ID"
    )


def forget(
    store: Store,
    names: Sequence[str],
    *,
    build: Build,
    remakes: Sequence[Remake] = (),
    dry_run: bool = False,
    keep_away: bool = True,
    by: TargetKind | None = None,
) -> Receipt:
    """Remove what these names stand for, what was derived from it, and entities known from nowhere
    else; remake what quotes it. The receipt says what went, and where its words were found
    afterwards.

    Args:
        dry_run: only say what would go.
        keep_away: rows that come from a database do not come back with its next sync.
        by: see `targets`, as for what is raised; nothing was removed then.
    """
    targeted = targets(store, names, by)
    if dry_run:
        with store.snapshot():
            plan = _plan(store, chain.from_iterable(targeted.values()), remakes)
            named_in = _named_in(store, plan)
        ids = tuple(plan.removed)
        return Receipt(
            records=len(ids),
            vectors=sum(len(windows) for windows in store.vectors.of(ids).values()),
            keys=sum(len(keys_of(record)) for record in plan.removed.values()),
            edges=len(plan.edges) + len(plan.cut),
            derived=len(ids) - len(plan.targeted),
            ids=ids,
            named_in=named_in,
            shared_edges=plan.shared,
        )

    def find(reads: Reads) -> list[Record]:
        return [record for name in names for record in _resolve(reads, name, by)]

    return forget_found(store, find, build=build, remakes=remakes, keep_away=keep_away)


def forget_expired(
    store: Store, limit: int, *, build: Build, remakes: Sequence[Remake] = ()
) -> Receipt:
    """Remove up to `limit` expired records, those of the earliest time first."""
    return forget_found(
        store, lambda reads: reads.records.expired(limit), build=build, remakes=remakes
    )


def forget_found(
    store: Store,
    find: Callable[[Reads], Sequence[Record]],
    *,
    build: Build,
    remakes: Sequence[Remake] = (),
    keep_away: bool = False,
    extra: Callable[[Reads], Batch] | None = None,
) -> Receipt:
    """Remove what is found, expired records too, and what goes with it; afterwards look for its
    words.

    Args:
        find: finds it in the transaction that removes it.
        extra: gives entries that are written and deleted with it.
    """
    plan = _Plan({}, {}, frozenset(), (), (), (), ())

    def work(reads: Reads) -> Batch:
        nonlocal plan
        plan = _plan(reads, find(reads), remakes)
        batch = _batch(reads, plan, build)
        kept_away = forgotten_entries(reads.kv, plan.targeted.values()) if keep_away else ()
        more = extra(reads) if extra else Batch()
        return replace(
            batch,
            entries=(*batch.entries, *kept_away, *more.entries),
            deleted_entries=(*batch.deleted_entries, *more.deleted_entries),
        )

    deletion = store.erase(work)
    forgotten = ForgottenWords()
    for record in plan.removed.values():
        forgotten.add(record)
    remade_ids = [record.id for remade in plan.remade for record in remade.records]
    ends = {key for edge in plan.edges for key in (edge.src, edge.dst)} - plan.keys
    words_left = find_remaining_words(store, forgotten, remade_ids, sorted(ends))
    kept = (id for id in deletion.ids[:_PAST_LOOKED_AT] if store.kv.count(*changes.prefix_of(id)))
    remaining = (*deletion.remaining, *words_left, *(f"what {id} was" for id in kept))
    return Receipt(
        records=len(deletion.ids),
        vectors=deletion.vectors,
        keys=deletion.keys,
        edges=deletion.edges + len(plan.cut),
        derived=len(deletion.ids) - len(plan.targeted),
        ids=deletion.ids,
        verified=not (remaining or deletion.pending),
        remaining=remaining,
        pending=(*deletion.pending, *deletion.traces),
        named_in=_named_in(store, plan),
        shared_edges=plan.shared,
        at=datetime.now(UTC),
    )


def _named_in(store: Store, plan: _Plan) -> tuple[str, ...]:
    will_be: dict[str, Record | None] = {
        record.id: record for remade in plan.remade for record in remade.records
    }
    will_be.update(dict.fromkeys(plan.removed))
    labels = {key for edge in plan.edges for key in (edge.src, edge.dst)} - plan.keys
    names = names_of(plan.targeted.values())
    return find_mentions(store, names, labels=sorted(labels), will_be=will_be)


# -- what goes -------------------------------------------------------------------------------------


def _plan(reads: Reads, records: Iterable[Record], remakes: Sequence[Remake]) -> _Plan:
    targeted = {record.id: record for record in records}
    removed = dict(targeted)
    while True:
        before = len(removed)
        add_derived(reads, removed)
        _add_emptied(reads, removed)
        loose = _loose(reads, removed)
        remade = tuple(remake(reads, removed) for remake in remakes)
        removed.update((record.id, record) for one in remade for record in one.gone)
        cut = {*loose, *(link for one in remade for link in one.unlinked)}
        removed.update((entity.id, entity) for entity in orphans(reads, removed, cut))
        if len(removed) == before:
            break
    keys = frozenset(
        _lost_keys(reads, removed, [key for record in removed.values() for key in keys_of(record)])
    )
    edges = tuple(reads.graph.stored_edges(sorted(keys), direction="both")) if keys else ()
    plan = _Plan(targeted, removed, keys, edges, tuple(loose), remade, ())
    return replace(plan, shared=_shared(reads, plan))


def _batch(reads: Reads, plan: _Plan, build: Build) -> Batch:
    records: dict[str, Record] = {}
    for remade in plan.remade:
        records.update(
            (record.id, record) for record in remade.records if record.id not in plan.removed
        )
    edges = [
        edge
        for remade in plan.remade
        for edge in remade.edges
        if not {edge.src, edge.dst} & plan.keys
    ]
    moved = [link for remade in plan.remade for link in remade.moved]
    parented = [
        replace(record, parents=tuple(reads.records.parents(record.id)))
        if isinstance(record, Resource)
        else record
        for record in records.values()
    ]
    gone = {edge.key for edge in plan.edges} | plan.cut
    lost_labels = {key for record in records.values() for key in _lost_labels(reads, record)}
    labels_gone = plan.keys | _left(reads, gone) | lost_labels
    named = {
        key for one in plan.removed.values() if isinstance(one, Entity) for key in keys_of(one)
    }
    label_refs = tuple(map(label_ref, sorted(labels_gone)))
    batch = build(reads, [*parented, *edges])
    deleted_entries = [
        entry_key for record in records.values() for entry_key in _past(reads, record)
    ]
    return replace(
        batch,
        deleted=(
            *plan.removed,
            *map(lost_ref, plan.removed),
            *map(source_ref, _emptied(reads, plan.removed)),
            *label_refs,
            *map(edge_ref, (*moved, *plan.cut)),
            *map(remade_ref, records),
            ANY_FORGETTING,
        ),
        deleted_edges=(*moved, *plan.cut),
        deleted_entries=tuple(deleted_entries),
        # what is made again without it says another thing now
        entries=(
            *watch_entries(reads.kv, (*plan.removed, *label_refs, *records)),
            *changes.uncovered_entries(reads, named | lost_labels, plan.removed),
        ),
        exact=True,
    )


def _left(reads: Reads, cut: set[EdgeKey]) -> set[str]:
    """The labels of thin entities that no edge will lead to once these are gone: they go too."""
    by_key = reads.records.lookup(
        sorted({key for src, _, dst in cut for key in (src, dst)}), edges=0
    )
    return {
        key
        for key, records in by_key.items()
        if all(isinstance(record, Entity) and record.thin for record in records)
        and {edge.key for edge in reads.graph.stored_edges([key], direction="both")} <= cut
    }


def _lost_labels(reads: Reads, remade: Record) -> set[str]:
    old = reads.records.get(None, remade.id)
    return set() if old is None else set(keys_of(old)) - set(keys_of(remade))


def _past(reads: Reads, remade: Record) -> list[tuple[str, str]]:
    """Return the keys of the changes of an entity that gives up names: they have those."""
    if not isinstance(remade, Entity) or not _lost_labels(reads, remade):
        return []
    kind, prefix = changes.prefix_of(remade.id)
    return [(kind, entry.key) for entry in reads.kv.list(kind, KeyRange(prefix=prefix))]


def add_derived(reads: Reads, removed: dict[str, Record]) -> None:
    """Add all that was derived from these records."""
    queue = list(removed)
    while queue:
        for child in reads.records.children(queue.pop()):
            if child not in removed and (record := reads.records.get(None, child)) is not None:
                removed[child] = record
                queue.append(child)


def _add_emptied(reads: Reads, removed: dict[str, Record]) -> None:
    for uri, parts in _emptied(reads, removed).items():
        removed.update((record.id, record) for record in describing(reads, parts))
        removed.update((record.id, record) for record in _resting(reads, source_ref(uri)))


def _emptied(reads: Reads, removed: RemovedRecords) -> dict[str, list[Resource]]:
    """The sources of which nothing is left, with what goes of each."""
    by_source: dict[str, list[Resource]] = {}
    for record in removed.values():
        if isinstance(record, Resource) and record.is_chunk:
            by_source.setdefault(record.uri, []).append(record)
    emptied = {}
    for uri, parts in by_source.items():
        left = reads.records.chunks(uri, ChunkRange(limit=len(parts) + 1))
        if all(part.id in removed for part in left):
            emptied[uri] = parts
    return emptied


def _resting(reads: Reads, ref: str) -> list[Record]:
    """What rests on something that is no longer there, but was read from here or had this id."""
    children = dict.fromkeys(map(child_of, reads.kv.about(PREMISE, [ref])))
    found = (reads.records.get(None, child) for child in children)
    return [record for record in found if record is not None]


def _lost_keys(reads: Reads, removed: RemovedRecords, keys: Iterable[str]) -> set[str]:
    by_key = reads.records.lookup(sorted(set(keys)), edges=0, own=True)
    return {
        key for key, records in by_key.items() if all(record.id in removed for record in records)
    }


def _shared(reads: Reads, plan: _Plan) -> tuple[EdgeKey, ...]:
    """The edges at names of things that go which others have too: these stay. An edge leads from
    and to a name, whichever of its things it was written for."""
    things = [r for r in plan.targeted.values() if isinstance(r, Row | Entity) and not _is_read(r)]
    names = {key for thing in things for key in keys_of(thing)} - plan.keys
    own = reads.records.lookup(sorted(names), edges=0, own=True)
    shared = [key for key, some in own.items() if any(r.id in plan.targeted for r in some)]
    edges = reads.graph.stored_edges(shared, direction="both") if shared else []
    return tuple(dict.fromkeys(e.key for e in edges if e.key not in plan.cut))[:MOST_MENTIONS]


def _loose(reads: Reads, removed: RemovedRecords) -> list[EdgeKey]:
    """Edges that reading made of a record that goes, at a key that others have: a note "Paris" and
    Paris."""
    read = {key for record in removed.values() if _is_read(record) for key in keys_of(record)}
    by_key = reads.records.lookup(sorted(read), edges=0)
    shared = [
        key
        for key, records in by_key.items()
        if any(record.id not in removed for record in records)
        and not any(_is_read(record) and record.id not in removed for record in records)
    ]
    if not shared:
        return []
    edges = reads.graph.stored_edges(shared, direction="out")
    return [edge.key for edge in edges if edge.rel_type in edge_types.READ and edge.src in shared]


def _is_read(record: Record) -> bool:
    if isinstance(record, Row):
        return False
    return not isinstance(record, Entity) or bool(record.uri)


def orphans(
    reads: Reads, removed: RemovedRecords, loose: Iterable[EdgeKey] = (), named: Iterable[str] = ()
) -> list[Entity]:
    """Find the entities that are known only from reading, and that nothing which stays leads to.

    They are looked for at the labels of what goes, at the other ends of its edges, and at the
    labels in `named`. The edges in `loose` go as well. An edge between two such entities counts,
    unless reading made it: somebody wrote it.
    """
    cut = set(loose)
    keys = {key for record in removed.values() for key in keys_of(record)}
    edges = reads.graph.stored_edges(sorted(keys), direction="both") if keys else []
    all_keys = sorted(keys | {edge.dst for edge in edges} | set(named))
    by_key = reads.records.lookup(all_keys, edges=0)
    candidates = {
        record.id: record
        for records in by_key.values()
        for record in records
        if isinstance(record, Entity) and record.is_extracted and record.id not in removed
    }
    edges_by_id = _edges_of(reads, candidates, edges)
    holders: dict[str, list[str]] = {}
    ends = {
        key for some in edges_by_id.values() for edge in some or () for key in (edge.src, edge.dst)
    }
    # that reading or dreaming made: what they tell of, texts speak of
    moments: set[str] = set()
    for key, records in reads.records.lookup(sorted(ends), edges=0).items():
        holders[key] = [record.id for record in records]
        moments.update(r.id for r in records if isinstance(r, Moment) and r.is_made)

    def stays(entity: Entity) -> bool:
        own = set(keys_of(entity))
        for edge in edges_by_id[entity.id] or ():
            is_described = (
                edge.rel_type in _DESCRIBES
                and holders[edge.src]
                and moments.issuperset(holders[edge.src])
            )
            if is_described or edge.key in cut:
                continue
            others = [key for key in (edge.src, edge.dst) if key not in own]
            for key in others:
                if any(id not in removed and id not in candidates for id in holders[key]):
                    return True
                if edge.rel_type not in edge_types.READ and not any(
                    id in removed for id in holders[key]
                ):
                    return True
        return edges_by_id[entity.id] is None

    while staying := [id for id, entity in candidates.items() if stays(entity)]:
        for id in staying:
            del candidates[id]
    return list(candidates.values())


def _edges_of(
    reads: Reads, candidates: Mapping[str, Entity], edges: Iterable[Edge]
) -> dict[str, list[Edge] | None]:
    """The edges of each of these entities; None for one that has too many besides `edges`, which
    go."""
    going: dict[str, set[EdgeKey]] = {}  # by the key at either end
    for edge in edges:
        for key in (edge.src, edge.dst):
            going.setdefault(key, set()).add(edge.key)
    edges_by_id: dict[str, list[Edge] | None] = {}
    for id, entity in candidates.items():
        own = keys_of(entity)
        going_too = set().union(*(going.get(key, ()) for key in own))
        many = reads.graph.count(own, direction="both") > len(going_too) + _MANY
        edges_by_id[id] = None if many else reads.graph.stored_edges(own, direction="both")
    return edges_by_id


# -- what a name stands for ------------------------------------------------------------------------


def _resolve(reads: Reads, name: str, by: TargetKind | None) -> list[Record]:
    """Find the one thing that a name means. Raises AmbiguousLabelError: it means several."""
    record = by_id(reads, name) if by in (None, "id") else None
    source = _read_from(reads, name) if by in (None, "source") else []
    named = _named(reads, name) if by in (None, "label") else []
    if record is None and not source and not named:
        refs = {"id": lost_ref(name), "source": source_ref(name)}
        return [
            resting
            for what, ref in refs.items()
            if by in (None, what)
            for resting in _resting(reads, ref)
        ]
    check_one_meaning(name, by_id=record, source=source, named=named)
    found = [] if record is None else [record]
    whole = [record for part in named for record in (part, *_source_of(reads, part))]
    return list({record.id: record for record in (*found, *source, *whole)}.values())


def _read_from(reads: Reads, source: str) -> list[Record]:
    """All that was read from a source, and the texts that were remembered one by one from it."""
    originating = reads.records.originating(source)
    remembered: dict[str, list[Resource]] = {}  # by uri
    for record in originating:
        if isinstance(record, Resource):
            remembered.setdefault(record.uri, []).append(record)
    texts = _whole_source(reads, reads.records.chunks(source))
    for chunks in remembered.values():
        texts += _whole_source(reads, chunks)
    # what stands for a source as a whole may be left where every text of it was forgotten
    return texts or originating


def _whole_source(reads: Reads, chunks: list[Resource]) -> list[Record]:
    if not chunks or not chunks[0].uri:
        return [*chunks]
    return [*chunks, *_described(reads, chunks), *describing(reads, chunks)]


def _named(reads: Reads, label: str) -> list[Record]:
    try:
        key = labels.key(label)
    except LabelError:
        return []
    return reads.records.lookup([key], edges=0)[key]


def describing(reads: Reads, chunks: Sequence[Resource]) -> list[Record]:
    """The entities that stand for the source of these chunks as a whole."""
    keys = {labels.key(chunks[0].name)}
    edges = reads.graph.stored_edges(sorted(keys), direction="out")
    keys.update(edge.dst for edge in edges if edge.rel_type == "part_of")
    return [
        record
        for records in reads.records.lookup(sorted(keys), edges=0).values()
        for record in records
        if isinstance(record, Entity) and record.uri == chunks[0].uri
    ]


def _described(reads: Reads, chunks: Sequence[Resource]) -> list[Record]:
    return [
        moment
        for moment in reads.records.referring([c.id for c in chunks])
        if moment.uri == chunks[0].uri
    ]


def _source_of(reads: Reads, record: Record) -> list[Record]:
    uri = record.uri if isinstance(record, Entity) else ""
    chunks = reads.records.chunks(uri) if uri else []
    return [*chunks, *_described(reads, chunks)] if chunks else []
