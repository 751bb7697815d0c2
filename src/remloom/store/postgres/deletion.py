"""What a delete does inside its transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ...model import Moment
from ..indexed_text import searchable_text
from ..json_values import encode_free
from ..references import without_refs
from ..results import Deletion
from . import bm25_index, kv
from .rows import COLUMNS, STORED, decode

if TYPE_CHECKING:
    from .batch_writer import Writing

__all__ = ["delete"]


def delete(writing: Writing, ids: Iterable[str], *, derived: bool) -> Deletion:
    """Remove records and everything that hangs on them. See `contract.Store.delete`."""
    wanted = list(dict.fromkeys(ids))
    doomed: dict[str, Any] = {row[0]: row[1:] for row in writing.all(STORED, wanted)}
    asked = len(doomed)
    fresh = list(doomed)
    while derived and fresh:
        fresh = [
            child
            for (child,) in writing.all(
                "SELECT DISTINCT child FROM remloom.parents WHERE tenant_id = %s AND kind = 0 AND parent ="
                " ANY (%b::text[])",
                fresh,
            )
            if child not in doomed
        ]
        if fresh:
            doomed |= {row[0]: row[1:] for row in writing.all(STORED, fresh)}
    kv.delete_about(writing.cursor, writing.tenant, list({*wanted, *doomed}))
    if not doomed:
        return Deletion()
    gone = list(doomed)
    _forget_references(writing, gone)
    texts = [
        (doc, searchable_text(decode(schema, body, content)))
        for _, doc, schema, body, content in doomed.values()
        if doc is not None
    ]
    if texts:
        bm25_index.remove(writing.cursor, writing.tenant, texts)
    vectors = writing.drop_vectors(gone)
    named = writing.unnamed
    keys = list(writing.unname(gone))
    writing.do("DELETE FROM remloom.records WHERE tenant_id = %s AND id = ANY (%b::text[])", gone)
    return Deletion(
        tuple(gone), vectors, writing.unnamed - named, writing.drop_keys(keys), len(doomed) - asked
    )


def _forget_references(writing: Writing, gone: Sequence[str]) -> None:
    """Take the records out of the moments that refer to them."""
    referring = writing.all(
        f"SELECT DISTINCT ON (r.id) r.id, {COLUMNS} FROM remloom.parents p JOIN remloom.records r"
        " ON r.tenant_id = p.tenant_id AND r.id = p.child WHERE p.tenant_id = %s AND p.kind = 1"
        " AND p.parent = ANY (%b::text[]) AND p.child <> ALL (%b::text[])",
        gone, gone,
    )  # fmt: skip
    for id, schema, body, content in referring:
        moment = decode(schema, body, content)
        if isinstance(moment, Moment):
            encoded = encode_free(without_refs(moment, set(gone)))
            writing.cursor.execute(
                "UPDATE remloom.records SET body = %s::text::jsonb WHERE tenant_id = %s AND id = %s",
                (encoded, writing.tenant, id),
            )
