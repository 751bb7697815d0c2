"""Texts that were read before what they name was known: upkeep links them to it.

Whatever gets a name later is looked for by the index of words, and each text found is read for
names again, so the edges are those that reading would make now. Entities are looked for by their
number; one that is called otherwise has an entry until then. A text that was being read while its
entity was written and looked for is missed."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

import msgspec

from .. import labels
from ..errors import ChangedError, ConflictError, StoreError
from ..kv import Entry, KeyRange
from ..model import Edge, EdgeKey, Entity, Record, Resource
from ..model.edge_types import MENTIONS
from ..store.batch import Preconditions
from ..store.changes import RENAMED
from ..store.contract import TEXT_NUMBERS, Store
from ..store.rules import validation
from ..store.rules.merge import keys_of
from ..store.specs import MOST_NAMESAKES, MOST_WORDS
from .edges import KNOWN, mentions
from .names import Name
from .names.known import KnownNames, is_nameable, may_name, says
from .names.rules import CapitalizedNames

_MARK = (TEXT_NUMBERS, "linked")  # of the number up to which entities were looked for
_AT_ONCE = 64  # entities, or texts, between two commits
_BEHIND = 16  # times as many entities between two commits of the mark
_TRIES = 4  # to write of texts that others write to meanwhile
_COUNTED = 1_000  # entities that wait, beyond which they are not counted

_log = logging.getLogger(__name__)


class Linker:
    """Links the texts of one store to what was named after they were read. Any thread may run
    it."""

    def __init__(self, store: Store, tenant: str) -> None:
        self._store = store
        self._tenant = tenant
        self._names = KnownNames(CapitalizedNames(), store)

    def run(self, limit: int | None = None) -> int:
        """Look for entities that wait, `limit` of them at most; returns how many were looked
        for."""
        done = 0
        while size := _AT_ONCE if limit is None else min(_AT_ONCE, limit - done):
            count = self._run_renamed(size)
            if not count:
                break
            done += count
        return done + self._run_new(None if limit is None else limit - done)

    def try_run(self, limit: int | None = None) -> int:
        """Do as `run`, but log why nothing can be written; it waits."""
        try:
            return self.run(limit)
        except (StoreError, ChangedError) as error:
            _log.warning("texts are not linked to what they name yet: %s", error)
            return 0

    def waiting(self) -> int:
        """Count the entities that `run` has not looked for yet, up to a thousand."""
        found, _ = self._store.records.entities_after(self._mark(), _COUNTED)
        return min(_COUNTED, self._store.kv.count(RENAMED) + sum(map(is_nameable, found)))

    # -- what waits ----------------------------------------------------------------------------

    def _mark(self) -> int:
        entry = self._store.kv.get(*_MARK)
        return msgspec.json.decode(entry.value, type=int) if entry else 0

    def _run_new(self, limit: int | None) -> int:
        mark = upto = self._mark()
        done = batches = 0
        try:
            while size := _AT_ONCE if limit is None else min(_AT_ONCE, limit - done):
                entities, last = self._store.records.entities_after(upto, size)
                if last == upto:
                    break
                self._link(entities)
                upto = last
                done += len(entities)
                batches += 1
                if batches % _BEHIND == 0:
                    self._keep_mark(upto)
                    mark = upto
        finally:
            if upto != mark:
                self._keep_mark(upto)
        return done

    def _keep_mark(self, upto: int) -> None:
        self._store.kv.put([Entry(*_MARK, msgspec.json.encode(upto))])

    def _run_renamed(self, limit: int) -> int:
        entries = self._store.kv.list(RENAMED, KeyRange(limit=limit))
        if not entries:
            return 0
        self._link(self._store.records.get("entities", entry.key) for entry in entries)
        for entry in entries:
            key = (entry.namespace, entry.key)
            # it may have got another name meanwhile
            with suppress(ChangedError, ConflictError):
                self._store.kv.put([], deleted=[key], expected_entries={key: entry.version})
        return len(entries)

    # -- texts ---------------------------------------------------------------------------------

    def _link(self, records: Iterable[Record | None]) -> None:
        # by the id of the text
        naming: dict[str, list[Entity]] = {}
        for entity in records:
            if entity is not None and is_nameable(entity):
                for id in {text.id for text in self._texts_saying(entity)}:
                    naming.setdefault(id, []).append(entity)
        ids = list(naming)
        for first in range(0, len(ids), _AT_ONCE):
            some = {id: naming[id] for id in ids[first : first + _AT_ONCE]}
            for attempt in range(_TRIES):
                try:
                    self._link_texts(some)
                    break
                except ChangedError:
                    if attempt == _TRIES - 1:
                        raise

    def _texts_saying(self, entity: Entity) -> Iterator[Resource]:
        """The texts that say a name of an entity; a name that too many say is a word."""
        names = {labels.key(name): name for name in (entity.name, *entity.aliases)}
        for key, name in names.items():
            if key.count("-") < MOST_WORDS and may_name(key):
                found = self._store.search.having_all(name, MOST_NAMESAKES + 1)
                if len(found) <= MOST_NAMESAKES:
                    yield from (
                        text
                        for text in found
                        # names were looked for in what is a part of what was read
                        if text.is_chunk and "title" in text.metadata and says(_read(text), entity)
                    )

    def _link_texts(self, naming: Mapping[str, Sequence[Entity]]) -> None:
        """Make the edges that texts, by id, lack to these entities, and remove those to others that
        are not named any more, since one of these is."""
        records = [self._store.records.get("resources", id) for id in naming]
        texts = {labels.key(text.name): text for text in records if isinstance(text, Resource)}
        made: dict[str, dict[str, Edge]] = {key: {} for key in texts}
        for edge in self._store.graph.stored_edges(list(texts), direction="out"):
            if edge.rel_type == MENTIONS.name:
                made[edge.src][edge.dst] = edge
        items: list[Edge] = []
        unlinked: list[EdgeKey] = []
        expected: dict[str, int | None] = {}
        for key, text in texts.items():
            if not any(made[key].keys().isdisjoint(keys_of(entity)) for entity in naming[text.id]):
                continue
            known = self._names.entities(_read(text))
            named = self._named(text, known, made[key].values())
            gone = {to for to, edge in made[key].items() if KNOWN in edge.properties} - named.keys()
            kept = made[key].keys() - gone
            # what was reached by one that goes alone is to be linked by its own
            lost = (one for one in known.values() if not gone.isdisjoint(keys_of(one)))
            lacking = named.keys() & {
                labels.key(entity.name)
                for entity in (*naming[text.id], *lost)
                if kept.isdisjoint(keys_of(entity))
            }
            if lacking or gone:
                items += [mentions(text.name, named[to]) for to in sorted(lacking)]
                unlinked += [made[key][to].key for to in sorted(gone)]
                expected[text.id] = text.revision
                expected |= {entity.id: entity.revision for entity in known.values()}
        if items or unlinked:
            batch = validation.build(items, tenant=self._tenant, model="", deleted_edges=unlinked)
            self._store.write(
                msgspec.structs.replace(batch, expected=Preconditions(records=expected))
            )

    def _named(
        self, text: Resource, known: Mapping[str, Entity], edges: Iterable[Edge]
    ) -> dict[str, Name]:
        """What a text names only because it is known, by key."""
        ruled = {edge.dst: edge for edge in edges if KNOWN not in edge.properties}
        found = {str(edge.properties.get("dst_name") or key) for key, edge in ruled.items()}
        for records in self._store.records.lookup(list(ruled), edges=0).values():
            for record in records:
                if isinstance(record, Entity):
                    found.update((record.name, *record.aliases))
        speaker = labels.try_key(text.speaker)
        names = self._names.named_besides(_read(text), known, found)
        by_key = {labels.key(name.name): name for name in names}
        return {key: name for key, name in by_key.items() if key != speaker}


def _read(resource: Resource) -> str:
    """The text of a part as names are looked for in it: a table repeats its header."""
    text = resource.content
    if resource.category != "table":
        return text
    match resource.metadata.get("header"):
        # metadata may be anything, where a caller wrote the resource
        case [int(first), int(last)] if resource.ordinal:
            text = "\n".join(text.split("\n")[last - first + 1 :])
    return text.replace(",", "|").replace("\t", "|")
