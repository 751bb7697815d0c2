"""Rows that a database has no more are deleted; what other rows still say of them stays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from msgspec.structs import replace

from ... import labels
from ...model import Edge, Row
from ...store.contract import Store
from ...store.rules.merge import keys_of
from .keys import SeenHandles, pieces
from .rows import RowReader
from .writer import SyncWriter

_DELETED = 500  # rows that one transaction deletes


def delete_gone_rows(store: Store, writer: SyncWriter, reader: RowReader, seen: SeenHandles) -> int:
    """Delete the rows of a table whose handles were not seen; returns how many.

    Rows that are not deleted may still lead to them, and would not write that again, as they are
    unchanged: these edges are written again with the deletion, to what then stands for the label.
    """
    gone = [row.id for _, missing in seen_rows(store, reader, seen) for row in missing]
    for ids in pieces(gone, _DELETED):
        writer.repeat(partial(_delete_those, store, writer, reader, ids))
    return len(gone)


def _delete_those(store: Store, writer: SyncWriter, reader: RowReader, ids: Sequence[str]) -> None:
    """Delete the rows with these ids that are still there."""
    found = [store.records.get(reader.table.schema_name, id) for id in ids]
    delete_rows(store, writer, reader, [row for row in found if isinstance(row, Row)])


def seen_rows(
    store: Store, reader: RowReader, seen: SeenHandles
) -> Iterator[tuple[list[Row], list[Row]]]:
    """Yield the stored rows of a table, page by page: those that were seen, and the others."""
    rows = (
        row
        for row in store.records.all(reader.table.schema_name)
        if isinstance(row, Row) and row.uri == reader.uri
    )
    for some in pieces(rows):
        missing = seen.missing([row.handle for row in some])
        pairs = list(zip(some, missing, strict=True))
        there = [row for row, is_missing in pairs if not is_missing]
        yield there, [row for row, is_missing in pairs if is_missing]


def delete_rows(store: Store, writer: SyncWriter, reader: RowReader, rows: Sequence[Row]) -> None:
    """Delete rows of a table, and write again what others say of them."""
    handles = {labels.key(row.handle): row.handle for row in rows}
    keys = {key for row in rows for key in keys_of(row)}
    kept: list[Edge] = []
    unlinked = []
    for edge in store.graph.stored_edges(sorted(keys), direction="both"):
        is_synced = edge.is_from_key
        if is_synced and reader.says(edge, handles):
            unlinked.append(edge.key)
        elif edge.dst in keys or is_synced:
            kept.append(_without_name(edge, handles))
    writer.delete([row.id for row in rows], kept, unlinked)


def _without_name(edge: Edge, handles: dict[str, str]) -> Edge:
    """Give an edge as it is written when nothing is called so."""
    if not edge.is_from_key:
        return edge
    src, dst = handles.get(edge.src, edge.src), edge.dst
    if dst not in handles:
        return replace(edge, src=src)
    properties = {key: value for key, value in edge.properties.items() if key != "dst_name"}
    return replace(edge, src=src, dst=handles[dst], properties=properties)
