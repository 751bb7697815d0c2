"""The surroundings of texts that somebody said were replaced: what reading made of them and of
others is written as what is shown, without them.

Those are contexts of turns, which quote their neighbours, and moments and sources, which are hidden
where all of their texts are.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator
from datetime import UTC, datetime

from msgspec.structs import replace

from ..model import Entity, Moment, Record, Resource
from ..model.supersession import is_hidden, marked_as, superseded_of, without_context
from ..store.batch import Batch, BatchRecord
from ..store.contract import Reads
from ..store.encoding import searchable_text
from ..store.forgetting.forget import describing
from ..store.rules.merge import keys_of
from ..store.specs import ChunkRange
from . import chats
from .remake import NEIGHBOURS, session_of, staying

_AT_ONCE = 64  # chunks looked at for one that is shown


def with_surroundings(reads: Reads, batch: Batch, shown: Collection[str] = ()) -> Batch:
    """Add to a batch what is around the texts in it that were replaced, as it is to be.

    Args:
        shown: ids of texts in it that are shown again.
    """
    touched = [
        item.record
        for item in batch.records
        if isinstance(item.record, Resource)
        and item.record.uri
        and (superseded_of(item.record) is not None or item.record.id in shown)
    ]
    if not touched:
        return batch
    surroundings = _Surroundings(reads, batch)
    for text in touched:
        surroundings.remake_around(text)
    return surroundings.completed()


class _Surroundings:
    """What is stored as a batch will leave it."""

    def __init__(self, reads: Reads, batch: Batch) -> None:
        self._reads = reads
        self._batch = batch
        self._given = {item.record.id: item.record for item in batch.records}
        self._gone = {*batch.withdrawn, *batch.deleted}
        self._elsewhere = self._gone | self._given.keys()  # what is not as it is stored
        self._texts: dict[str, list[Resource]] = {}  # of the batch, by uri, in order
        self._moments: dict[str, list[Moment]] = {}  # of the batch, by the texts they refer to
        for record in self._given.values():
            if isinstance(record, Resource) and record.uri:
                self._texts.setdefault(record.uri, []).append(record)
            elif isinstance(record, Moment):
                for id in record.resource_refs:
                    self._moments.setdefault(id, []).append(record)
        for texts in self._texts.values():
            texts.sort(key=_ordinal)
        self._made: dict[str, Record] = {}
        self._sources: set[str] = set()  # uris that were looked at

    def remake_around(self, text: Resource) -> None:
        """Make again what is around a text."""
        if chats.is_turn(text) and text.metadata["speaker"] is not None:
            self._remake_contexts(text)
        for moment in self._moments_of(text):
            if moment.id not in self._made:
                self._keep(moment, self._described(moment))
        if text.uri not in self._sources:
            self._sources.add(text.uri)
            self._mark_source(text)

    def completed(self) -> Batch:
        """The batch with what was made again."""
        batch = self._batch
        items = [self._as_made(item) for item in batch.records]
        at = batch.at or datetime.now(UTC)
        others = (record for id, record in self._made.items() if id not in self._given)
        for other in others:
            record = replace(other, updated_at=at, graph_paths=(), embedding=None)
            items.append(BatchRecord(record, keys_of(record), searchable_text(record)))
        positions = batch.positions or tuple(range(len(batch.records)))
        return replace(batch, records=tuple(items), positions=positions)

    def _as_made(self, item: BatchRecord) -> BatchRecord:
        record = self._made.get(item.record.id)
        if record is None:
            return item
        # what a hidden one says is in none of its windows
        hides = is_hidden(record)
        vectors = () if hides else item.vectors
        embed = item.embed and not hides
        text = searchable_text(record)
        return replace(item, record=record, text=text, vectors=vectors, embed=embed)

    def _keep(self, before: Record, record: Record) -> None:
        if record != before:
            self._made[record.id] = record

    # -- contexts ----------------------------------------------------------------------------------

    def _remake_contexts(self, text: Resource) -> None:
        before, after = self._around(text)
        session = self._session(text)
        turns = [turn for turn in (*before, text, *after) if self._session(turn) == session]
        messages = list(map(chats.shown, turns))
        gap = turns.index(text)
        for position, turn in enumerate(turns):
            if gap - chats.AFTER <= position <= gap + chats.BEFORE:
                context = "" if is_hidden(turn) else chats.turn_context(messages, position)
                self._keep(turn, replace(without_context(turn), context=context))

    def _around(self, text: Resource) -> tuple[list[Resource], list[Resource]]:
        """The turns before and after one."""
        uri, at = text.uri, text.ordinal

        def chunks_before(size: int) -> list[Resource]:
            return self._reads.records.chunks(uri, ChunkRange(before=at, limit=size, last=True))

        def chunks_after(size: int) -> list[Resource]:
            return self._reads.records.chunks(uri, ChunkRange(after=at, limit=size))

        given = self._texts[uri]
        first = bisect_left(given, at, key=_ordinal)
        last = bisect_right(given, at, key=_ordinal)
        before = [
            *staying(chunks_before, self._elsewhere),
            *given[max(0, first - NEIGHBOURS) : first],
        ]
        after = [*staying(chunks_after, self._elsewhere), *given[last : last + NEIGHBOURS]]
        before, after = sorted(before, key=_ordinal), sorted(after, key=_ordinal)
        return before[-NEIGHBOURS:], after[:NEIGHBOURS]

    def _session(self, turn: Resource) -> str | None:
        for moment in self._moments.get(turn.id, ()):
            if "session" in moment.metadata:
                return str(moment.metadata["session"])
        return session_of(self._reads, [turn])

    # -- moments and sources -----------------------------------------------------------------------

    def _moments_of(self, text: Resource) -> Iterator[Moment]:
        """The moments that reading made of a text, and perhaps of others."""
        stored = self._reads.records.referring([text.id])
        kept = (moment for moment in stored if moment.id not in self._elsewhere)
        for moment in (*self._moments.get(text.id, ()), *kept):
            if moment.metadata.get("uri") == text.uri and "made_by" not in moment.metadata:
                yield moment

    def _described(self, moment: Moment) -> Moment:
        texts = self._texts_of(moment)
        is_chat = "session" in moment.metadata
        return chats.describe(moment, list(texts)) if is_chat else marked_as(moment, texts)

    def _texts_of(self, moment: Moment) -> Iterator[Resource]:
        for id in moment.resource_refs:
            text = self._given.get(id) or self._reads.records.get("resources", id)
            if isinstance(text, Resource) and id not in self._gone:
                yield text

    def _mark_source(self, text: Resource) -> None:
        sources = {one.id: one for one in describing(self._reads, [text])} | self._given
        for source in sources.values():
            if (
                isinstance(source, Entity)
                and source.uri == text.uri
                and source.id not in self._gone
            ):
                self._keep(source, marked_as(source, self._texts_read_from(text.uri)))

    def _texts_read_from(self, uri: str) -> Iterator[Resource]:
        """All texts of a source: those of the batch first."""
        yield from self._texts.get(uri, ())
        chunks = self._reads.records.chunks(uri, ChunkRange(limit=_AT_ONCE))
        while chunks:
            yield from (chunk for chunk in chunks if chunk.id not in self._elsewhere)
            following = ChunkRange(after=chunks[-1].ordinal, limit=_AT_ONCE)
            chunks = self._reads.records.chunks(uri, following)


def _ordinal(text: Resource) -> int:
    return text.ordinal
