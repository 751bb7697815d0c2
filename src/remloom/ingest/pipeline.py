"""Reading documents into memory: each one whole or not at all, none stopped by another."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence, Sized

from msgspec.structs import replace as replace_fields

from .. import labels
from ..errors import RemloomError, StoreError
from ..model import Edge, Entity, Moment, ReadItem, ReadReport, Record
from ..sources import Document, Skipped
from ..store.contract import Written
from . import chats, documents
from .documents import Prepared
from .entities import CapitalizedNames, Extractor

__all__ = ["BATCH", "ingest"]

BATCH = 500  # records and edges from which what was prepared is written


def ingest(
    source: Iterable[Document | Skipped],
    *,
    tenant: str,
    write: Callable[[list[Record | Edge]], Written],
    known: Callable[[Sequence[str]], Collection[str]],
    replace: Callable[[str, Collection[str]], object],
    category: str | None = None,
    extractor: Extractor | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ReadReport:
    """Read every document and report what became of each.

    A document is written in one transaction, small ones several together. One whose records are all there is
    `unchanged` and writes nothing. Of one that changed, the new records are written first and what is no longer in
    it is removed after. A document that cannot be prepared or written is `failed` with its reason, and the reading goes
    on; only an error of the store itself (`StoreError`: full disk, closed, corrupt) ends it.

    Args:
        source: documents, as `sources.open_source` gives them.
        tenant: whose memory it is; part of every chunk's id.
        write: makes a batch true, wholly or not at all. An entity without id joins the one already known by its
            name: aliases and properties of both are kept.
        known: those of some ids that are stored.
        replace: forgets what was read from a uri before, except what has one of these ids: resources of that `uri`,
            entities with it in `properties.uri`, moments with it in `metadata.uri`.
        category: of the resources, instead of the documents' own.
        extractor: finds names; `CapitalizedNames` when not given.
        progress: called with the documents done and, if `source` has a length, how many there are (else 0).
    """
    began = time.monotonic()
    reading = _Reading(write, replace)
    extractor = extractor or CapitalizedNames()
    total = len(source) if isinstance(source, Sized) else 0
    for done, document in enumerate(source, 1):
        if isinstance(document, Skipped):
            reading.note(
                ReadItem(uri=document.uri, status="failed" if document.failed else "skipped", reason=document.reason)
            )
        else:
            try:
                prepare = chats.prepare if document.turns else documents.prepare
                prepared = prepare(reading.titled(document), tenant=tenant, extractor=extractor, category=category)
            except (RemloomError, ValueError, RecursionError) as error:
                reading.note(ReadItem(uri=document.uri, status="failed", reason=_reason(error)))
            else:
                stored = known(prepared.ids)
                reading.take(prepared, stored)
        if progress:
            progress(done, max(total, done) if total else 0)
    reading.flush()
    return reading.report(time.monotonic() - began)


class _Reading:
    """What has been read so far, and what waits to be written."""

    def __init__(
        self, write: Callable[[list[Record | Edge]], Written], replace: Callable[[str, Collection[str]], object]
    ):
        self._write = write
        self._replace = replace
        self._titles: dict[str, str] = {}  # title: uri of the first document that has it
        self._items: list[ReadItem] = []
        self._waiting: list[tuple[Prepared, int, int]] = []  # with its new resources, and its place in the report
        self._size = 0
        self._ids: list[str] = []
        self._resources = self._moments = self._edges = 0
        self._entities: set[tuple[str, str]] = set()

    def titled(self, document: Document) -> Document:
        """The document with a title that no other of this reading has: edges go by labels, which would mix them up."""
        name = document.uri.replace("\\", "/")
        places = name.rsplit("/", 2)[1:] if "/" in name else [name]
        for title in (
            document.title,
            f"{document.title} ({places[-1]})",
            f"{document.title} ({'/'.join(places)})",
            name,
        ):
            if self._titles.setdefault(documents.label(title).casefold(), document.uri) == document.uri:
                return document if title == document.title else replace_fields(document, title=title)
        return document

    def note(self, item: ReadItem) -> None:
        self._items.append(item)

    def take(self, prepared: Prepared, stored: Collection[str]) -> None:
        chunks = len(prepared.resources)
        entities = sum(isinstance(record, Entity) for record in prepared.others)
        if not chunks:
            self.note(ReadItem(uri=prepared.uri, status="skipped", reason="no text in it"))
            return
        if all(identity in stored for identity in prepared.ids):
            self._ids += [resource.id for resource in prepared.resources]
            self.note(ReadItem(uri=prepared.uri, status="unchanged", chunks=chunks, entities=entities))
            return
        new = sum(resource.id not in stored for resource in prepared.resources)
        self._waiting.append((prepared, new, len(self._items)))
        self.note(ReadItem(uri=prepared.uri, status="read", chunks=chunks, entities=entities))
        self._size += len(prepared.items)
        if self._size >= BATCH:
            self.flush()

    def flush(self) -> None:
        """Write what waits, together; if that fails, one by one, so that only the one at fault is lost."""
        waiting, self._waiting, self._size = self._waiting, [], 0
        if not waiting:
            return
        try:
            written = self._write([item for prepared, _, _ in waiting for item in prepared.items])
        except StoreError:
            raise
        except RemloomError as error:
            if len(waiting) == 1:
                prepared, _, place = waiting[0]
                self._items[place] = ReadItem(uri=prepared.uri, status="failed", reason=_reason(error))
                return
            for one in waiting:
                self._waiting = [one]
                self.flush()
            return
        self._edges += written.edges
        for prepared, new, _ in waiting:
            self._ids += [resource.id for resource in prepared.resources]
            self._resources += new
            self._moments += sum(isinstance(record, Moment) for record in prepared.others)
            self._entities |= {
                (labels.key(record.name), record.type) for record in prepared.others if isinstance(record, Entity)
            }
            self._replace(prepared.uri, prepared.ids)

    def report(self, seconds: float) -> ReadReport:
        return ReadReport(
            items=self._items,
            resources=self._resources,
            entities=len(self._entities),
            moments=self._moments,
            edges=self._edges,
            seconds=round(seconds, 3),
            ids=tuple(self._ids),
        )


def _reason(error: Exception) -> str:
    if isinstance(error, RemloomError):
        return f"{error.message}: {error.remedy}" if error.remedy else error.message
    return f"{type(error).__name__}: {error}"
