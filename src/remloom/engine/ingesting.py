"""Reading documents and chats in, and embedding what was read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from datetime import datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import msgspec

from ..errors import EmbedderError, VectorError
from ..model import Edge, Message, ReadReport, Record, Resource
from ..store.batch import Batch, Preconditions
from ..store.contract import Reads
from ..store.results import Written
from ..store.specs import ChunkRange
from .arguments import Progress
from .engine import Engine
from .fetching import fetch
from .writing import Writing

if TYPE_CHECKING:
    from ..ingest.names import Extractor
    from ..ingest.pipeline import Items
    from ..sources import Document, Skipped, Source


class Ingesting:
    """Reads sources into one tenant's store."""

    def __init__(self, engine: Engine, writing: Writing) -> None:
        self._engine = engine
        self._store = engine.store
        self._writing = writing

    def read(
        self,
        source: str | os.PathLike[str],
        *,
        category: str | None = None,
        recursive: bool = True,
        glob: str | None = None,
        exclude: Sequence[str] = (),
        wait: bool = True,
        progress: Progress | None = None,
        uri: str | None = None,
    ) -> ReadReport:
        """Read a file or folder; see `Memory.read`."""
        opened = self._open(source, recursive=recursive, glob=glob, exclude=exclude)
        documents: Iterable[Document | Skipped] = opened
        if uri is not None:
            documents = opened.renamed(source, uri)
        return self._ingest(documents, category=category, wait=wait, progress=progress)

    def read_texts_as(self, source: str | os.PathLike[str], category: str) -> ReadReport:
        """Read a file or folder whose texts are of a category.

        What says itself what it is, such as a chat, a table or a browsing history, stays that.
        """
        return self._ingest(self._open(source), texts_as=category)

    def read_text(
        self,
        text: str,
        uri: str,
        name: str | None,
        category: str,
        at: datetime | None,
        *,
        origin: str = "",
        wait: bool = True,
        said: Resource | None = None,
    ) -> ReadReport:
        """Read a text; see `Memory.read_text`. `said`: what it replaces or amends."""
        from ..sources import from_text

        document = from_text(text, uri=uri, name=name, category=category, at=at, origin=origin)
        replacing = _replacing_of(said)
        report = self._ingest([document], category=category, wait=wait, replacing=replacing)
        if replacing and report.ids and not report.resources:
            # it was there before, so nothing was written
            known = fetch(self._store, Resource, report.ids[0])
            self._writing.write([msgspec.structs.replace(known, **replacing)])
        return report

    def read_rows(self, rows: Iterable[Mapping[str, Any]], uri: str, name: str) -> ReadReport:
        """Read rows, a line each; see `Reader.open_rows`."""
        from ..sources.inline import from_rows

        return self._ingest([from_rows(rows, uri=uri, name=name)], wait=False)

    def read_chat(
        self,
        messages: Iterable[Message],
        uri: str,
        name: str | None,
        append: bool,
        *,
        wait: bool = True,
    ) -> ReadReport:
        """Read a chat; see `Memory.read_chat`."""
        from ..ingest.chats import check_appendable
        from ..sources import from_messages
        from ..sources.inline import check_uri

        messages = list(messages)
        check_uri(uri)
        stored_turns = (
            self._store.records.chunks(uri, ChunkRange(limit=1, last=True)) if append else []
        )
        check_appendable(uri, stored_turns)
        if not stored_turns:
            # refuses an empty list: a chat begins with a message
            from_messages(messages, uri=uri)
        document = from_messages(messages, uri=uri, name=name, follows=append)
        return self._ingest([document], wait=wait)

    def embed_pending(self, progress: Progress | None = None) -> int:
        """Embed every queued text; see `Memory.embed_pending`."""
        self._engine.linker.run()
        queue = self._engine.embedding_queue
        queue.unpark()
        count = queue.run_all(progress)
        if self._engine.embedder is None:
            return count
        has_no_vectors = self._store.vectors.model() is None
        if has_no_vectors and self._store.vectors.unembedded(self._engine.embedder_name, 1):
            # written without an embedder, so never queued
            return queue.move(progress)
        return count

    def _open(
        self,
        source: str | os.PathLike[str],
        *,
        recursive: bool = True,
        glob: str | None = None,
        exclude: Sequence[str] = (),
    ) -> Source:
        from ..sources import Limits, open_source

        settings = self._engine.settings
        return open_source(
            source,
            recursive=recursive,
            glob=glob,
            exclude=(*settings.read_exclude.split(","), *exclude),
            limits=Limits(
                settings.read_timeout,
                settings.read_memory_mb,
                settings.read_elements,
                self._engine.may_call_model,
            ),
        )

    def _ingest(
        self,
        documents: Iterable[Document | Skipped],
        *,
        category: str | None = None,
        texts_as: str | None = None,
        wait: bool = True,
        progress: Progress | None = None,
        replacing: Mapping[str, Any] = {},
    ) -> ReadReport:
        from ..ingest.captions import Captions
        from ..ingest.pipeline import ingest

        engine = self._engine
        open_llm = (lambda: engine.required_llm) if engine.may_call_model else None
        captions = Captions(self._store, open_llm, engine.settings.llm_concurrency)
        report = ingest(
            captions.add(documents),
            tenant=self._engine.tenant,
            store=self._store,
            update=partial(self._update, replacing=replacing) if replacing else self._update,
            category=category,
            texts_as=texts_as,
            mask_secrets=engine.settings.mask_secrets,
            extractor=self._extractor,
            progress=progress,
            total=len(documents) if isinstance(documents, Sized) else 0,
        )
        report = msgspec.structs.replace(report, caption_error=captions.error)
        if not self._engine.has_waiting():
            return report
        queue = self._engine.embedding_queue
        embedding_error = ""
        if wait:
            # what was read is kept even when the embedder fails
            try:
                queue.run(progress=progress)
            except (EmbedderError, VectorError) as error:
                embedding_error = str(error)
        if not wait or (not embedding_error and self._engine.has_waiting()):
            # what is left when this waited is of texts from before
            queue.start()
        pending, *_ = self._store.vectors.queue_lengths()
        return msgspec.structs.replace(report, pending=pending, embedding_error=embedding_error)

    def _update(
        self,
        prepare: Callable[[Reads], Items],
        expected: Preconditions | None,
        *,
        replacing: Mapping[str, Any] = {},
    ) -> Written:
        """Write what the pipeline prepares from what it reads: in one transaction or, where it is
        written only as expected, before it. Texts are embedded when all is read."""

        def build(reads: Reads) -> Batch:
            items, removed, unlinked = prepare(reads)
            if removed:
                items, removed, unlinked = self._remake_derived(reads, items, removed, unlinked)
            if replacing:
                items = list(_first_replacing(items, replacing))
            batch = self._writing.build(items, removed, unlinked, expected, reads=reads)
            if not self._engine.settings.keep_versions:
                return msgspec.structs.replace(batch, read=True)
            from ..store.changes import entries_of_replaced

            return msgspec.structs.replace(batch, entries=entries_of_replaced(reads, batch))

        if expected is not None:
            # others wait for a transaction, and a long chat takes a second to prepare
            return self._writing.write_built(build(self._store), embed=False)
        return self._writing.update(build, embed=False)

    def _remake_derived(
        self,
        reads: Reads,
        items: Sequence[Record | Edge],
        removed: Sequence[str],
        unlinked: Sequence[tuple[str, str, str]],
    ) -> tuple[list[Record | Edge], list[str], list[tuple[str, str, str]]]:
        """Add to a batch what features made of records that go: remade without them, or removed.
        What models made of them stays."""
        from ..store.forgetting.forget import Remade
        from ..store.rules.merge import keys_of

        removed_records = {}
        for id in removed:
            record = reads.records.get(None, id)
            if record is not None:
                removed_records[id] = record
        remade = Remade.of(
            remake(reads, removed_records) for remake in self._engine.hooks.on_changed
        )
        written = [item for item in items if not isinstance(item, Edge)]
        written_ids = {record.id for record in written}
        written_keys = {key for record in written for key in keys_of(record)}
        # labels that nothing will have any more: an edge to one would make a thin entity of it
        lost_keys = {key for record in removed_records.values() for key in keys_of(record)}
        lost_keys -= written_keys
        records = [record for record in remade.records if record.id not in written_ids]
        edges = [edge for edge in remade.edges if not {edge.src, edge.dst} & lost_keys]
        removed_ids = [*removed, *(record.id for record in remade.gone)]
        return [*items, *records, *edges], removed_ids, [*unlinked, *remade.unlinked, *remade.moved]

    @cached_property
    def _extractor(self) -> Extractor:
        from ..ingest.names.rules import CapitalizedNames

        if self._engine.settings.names == "rules":
            return CapitalizedNames()
        from ..ingest.names.spacy import SpacyNames

        return SpacyNames()


def _replacing_of(said: Resource | None) -> dict[str, Any]:
    """What a text says that it replaces or amends, as fields of its first chunk; empty: nothing."""
    names = ("replaces", "amends", "reason", "since")
    return {name: value for name in names if (value := getattr(said, name, None))}


def _first_replacing(
    items: Iterable[Record | Edge], replacing: Mapping[str, Any]
) -> Iterator[Record | Edge]:
    waits = True
    for item in items:
        if waits and isinstance(item, Resource):
            item, waits = msgspec.structs.replace(item, **replacing), False
        yield item
