"""Reading documents and chats in, and embedding what was read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from ..errors import EmbedderError, VectorError
from ..model import Edge, Message, ReadReport, Record
from ..store.batch import Batch, Preconditions
from ..store.contract import Reads
from ..store.results import Written
from ..store.specs import ChunkRange
from .arguments import Progress
from .records import Records

if TYPE_CHECKING:
    from ..embed.contract import Embedder
    from ..ingest.names.name import Extractor
    from ..ingest.pipeline import Items
    from ..sources import Document, Skipped

__all__ = ["Reading"]


class Reading(Records):
    """`read` and its kin."""

    # -- embedding ---------------------------------------------------------------------------------

    def embed_pending(self, progress: Progress | None = None) -> int:
        """Embed every queued text now, parked ones too, and what was written before there was an
        embedder; returns how many. `progress(done, total)`.

        Raises:
            EmbedderError: there is no embedder, or it does not work; the queue is kept.
        """
        self._store.vectors.unpark()
        done = self._queue.run(progress=progress)
        if self._store.vectors.model() is None and self._store.vectors.unembedded(
            self._model_name, 1
        ):
            return self._queue.move(progress)
        return done

    def reembed(
        self, embedder: Embedder | str | None = None, progress: Progress | None = None
    ) -> int:
        """Move this memory to another embedder. The old vectors serve until the last new one is
        there; an interrupted move goes on where it was. Returns how many texts were embedded."""
        if embedder is not None:
            self.__dict__.pop("_queue", None)
            self._given_embedder = embedder
            for name in ("_embedder", "_model_name", "_queue", "_recaller"):
                self.__dict__.pop(name, None)
        return self._queue.move(progress)

    # -- reading -----------------------------------------------------------------------------------

    def read(
        self,
        source: str | os.PathLike[str],
        *,
        category: str | None = None,
        recursive: bool = True,
        glob: str | None = None,
        wait: bool = True,
        progress: Progress | None = None,
    ) -> ReadReport:
        """Read a file, a folder, or "-" (standard input). See docs/reading.md for the formats.

        What was read before and did not change writes nothing; what changed replaces its old
        chunks. A document that cannot be read is in the report with the reason and stops no other;
        so is an embedder that does not work.

        Args:
            category: of the resources; default by format.
            recursive, glob: which files of a folder.
            wait: embed before returning. Without, texts are embedded in the background; words and
                labels are findable either way.
            progress: called as `progress(done, total)` while reading, then while embedding.

        Raises:
            SourceError: there is no such file or folder.
        """
        from ..sources import Limits, open_source

        limits = Limits(self._settings.read_timeout, self._settings.read_memory_mb)
        documents = open_source(source, recursive=recursive, glob=glob, limits=limits)
        return self._ingest(documents, category=category, wait=wait, progress=progress)

    def read_text(
        self,
        text: str,
        *,
        uri: str,
        name: str | None = None,
        category: str = "note",
        at: datetime | None = None,
    ) -> ReadReport:
        """Read a text that is at hand. `uri` says where it is from; reading it again under it
        replaces it.

        Raises:
            InvalidInputError: the uri is empty, or `at` has no time zone.
        """
        from ..sources import from_text

        return self._ingest([from_text(text, uri=uri, name=name, category=category, at=at)])

    def read_chat(
        self,
        messages: Iterable[Message],
        *,
        uri: str,
        name: str | None = None,
        append: bool = False,
    ) -> ReadReport:
        """Read the turns of a chat: a resource each, a moment for each session, people and what
        they spoke of.

        Give the whole chat, as it is now: what is there already is not written again, and a turn
        that was read from this uri before and is not in it any more is forgotten.

        Args:
            name: of the chat; default what it was called before, or else what the uri says.
            append: the messages follow those that were read from this uri before, of which none is
                forgotten. One whose `id` was read before takes that one's place, so repeating an
                append changes nothing.

        Raises:
            InvalidInputError: the uri is empty, or a message has a time without zone; or, to
                append, what was read from this uri is no chat, or was read from a file.
        """
        from ..ingest.chats import check_appendable
        from ..sources import from_messages
        from ..sources.inline import check_uri

        messages = list(messages)
        check_uri(uri)
        there = self._store.records.chunks(uri, ChunkRange(limit=1, last=True)) if append else []
        check_appendable(uri, there)
        if not there:
            from_messages(messages, uri=uri)  # a chat begins with a message
        document = from_messages(messages, uri=uri, name=name, follows=append)
        return self._ingest([document])

    def _ingest(
        self,
        documents: Iterable[Document | Skipped],
        *,
        category: str | None = None,
        wait: bool = True,
        progress: Progress | None = None,
    ) -> ReadReport:
        from ..ingest.pipeline import ingest

        def write(
            items: list[Record | Edge],
            removed: Sequence[str],
            unlinked: Sequence[tuple[str, str, str]],
            expected: Preconditions | None,
        ) -> Written:
            if removed:
                items, removed, unlinked = _without(self._store, items, removed, unlinked)
            return self._write(items, removed, unlinked, expected=expected, background=False)

        def update(work: Callable[[Reads], Items]) -> Written:
            def run(reads: Reads) -> Batch:
                items, removed, unlinked = work(reads)
                if removed:
                    items, removed, unlinked = _without(reads, items, removed, unlinked)
                return self._build(items, removed, unlinked, reads=reads)

            return self._update(run, background=False)

        report = ingest(
            documents,
            tenant=self.tenant,
            store=self._store,
            write=write,
            update=update,
            category=category,
            extractor=self._extractor,
            progress=progress,
        )
        if self._embedder is None or not self._store.vectors.pending(1):
            return report
        failed = ""
        if wait:
            try:
                self._queue.run(progress=progress)
            except (EmbedderError, VectorError) as error:
                failed = str(error)
        else:
            self._queue.start()
        return msgspec.structs.replace(
            report, pending=self._store.vectors.queue_lengths()[0], embedding_error=failed
        )

    @cached_property
    def _extractor(self) -> Extractor:
        from ..ingest.names.rules import CapitalizedNames

        if self._settings.names == "rules":
            return CapitalizedNames()
        from ..ingest.names.spacy import SpacyNames

        return SpacyNames()


def _without(
    reads: Reads,
    items: Sequence[Record | Edge],
    removed: Sequence[str],
    unlinked: Sequence[tuple[str, str, str]],
) -> tuple[list[Record | Edge], list[str], list[tuple[str, str, str]]]:
    """What is to be written, and with it what dreaming made of what is removed, made again without
    that."""
    from ..dream.remake import remake
    from ..store.forget import add_derived
    from ..store.merge import keys_of

    going = {id: record for id in removed if (record := reads.records.get(None, id)) is not None}
    add_derived(reads, going)
    remade = remake(reads, going)
    written = [item for item in items if not isinstance(item, Edge)]
    ids = {record.id for record in written}
    left = {key for record in going.values() for key in keys_of(record)}
    left -= {key for record in written for key in keys_of(record)}
    return (
        [
            *items,
            *(record for record in remade.records if record.id not in ids),
            *(edge for edge in remade.edges if not {edge.src, edge.dst} & left),
        ],
        [*removed, *(record.id for record in remade.gone)],
        [*unlinked, *remade.unlinked, *remade.moved],
    )
