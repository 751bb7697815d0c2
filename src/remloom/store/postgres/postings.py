"""The inverted index of texts: BM25 as `store.terms` defines it, exact, over posting lists in a table.

A row has the documents of one block (512 of them) that have one term. A document takes 8 bytes: its place in the block,
how often it has the term, and how many terms it has. So a batch of texts touches few rows, a query reads a few hundred,
and nothing is ever out of date.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import log1p
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..terms import K1, B, codes
from .arrays import Column

if TYPE_CHECKING:
    from psycopg import Cursor

__all__ = ["Text", "add", "everything", "of", "remove", "score"]

_SHIFT = 9
_POSTING = np.dtype([("place", "<u2"), ("count", "<u2"), ("length", "<u4")])
_MOST = 65_535  # occurrences counted of one term in one document

Text = tuple[int, str]  # its number, and what it says


def add(cursor: Cursor[Any], tenant: str, texts: Sequence[Text]) -> None:
    """Index new documents, whose numbers no document had before."""
    terms, docs, counts, lengths = _postings(texts)
    cursor.execute(
        "UPDATE remloom.tenants SET documents = documents + %s, terms = terms + %s WHERE tenant_id = %s",
        (len(texts), int(sum(lengths.values())), tenant),
    )
    if not len(terms):
        return
    entries = np.empty(len(terms), _POSTING)
    entries["place"], entries["count"] = docs & ((1 << _SHIFT) - 1), np.minimum(counts, _MOST)
    entries["length"] = [lengths[doc] for doc in docs.tolist()]
    blocks = docs >> _SHIFT
    order = np.lexsort((docs, blocks, terms))
    terms, blocks, packed = terms[order], blocks[order], entries[order].tobytes()
    starts = np.flatnonzero(np.concatenate([[True], (terms[1:] != terms[:-1]) | (blocks[1:] != blocks[:-1])]))
    bounds = [*(starts * _POSTING.itemsize).tolist(), len(packed)]
    cursor.execute(
        "INSERT INTO remloom.postings SELECT %s, * FROM unnest(%b::bigint[], %b::integer[], %b::bytea[])"
        " ON CONFLICT (tenant_id, term, block) DO UPDATE SET data = postings.data || excluded.data",
        (
            tenant,
            Column("q", terms[starts].tolist()),
            Column("i", blocks[starts].tolist()),
            Column("y", [packed[a:b] for a, b in pairwise(bounds)]),
        ),
    )


def remove(cursor: Cursor[Any], tenant: str, texts: Sequence[Text]) -> None:
    """Take documents out of the index."""
    terms, docs, _, lengths = _postings(texts)
    cursor.execute(
        "UPDATE remloom.tenants SET documents = documents - %s, terms = terms - %s WHERE tenant_id = %s",
        (len(texts), int(sum(lengths.values())), tenant),
    )
    gone: dict[tuple[int, int], list[int]] = {}
    for term, doc in zip(terms.tolist(), docs.tolist(), strict=True):
        gone.setdefault((term, doc >> _SHIFT), []).append(doc & ((1 << _SHIFT) - 1))
    if not gone:
        return
    keys = list(gone)
    rows = cursor.execute(
        "SELECT p.term, p.block, p.data FROM unnest(%b::bigint[], %b::integer[]) k (term, block) JOIN"
        " remloom.postings p"
        " ON p.tenant_id = %s AND p.term = k.term AND p.block = k.block",
        ([term for term, _ in keys], [block for _, block in keys], tenant),
    ).fetchall()
    kept = []
    for term, block, data in rows:
        entries = np.frombuffer(data, _POSTING)
        kept.append((term, block, entries[~np.isin(entries["place"], gone[term, block])].tobytes()))
    cursor.execute(
        "WITH kept AS (SELECT * FROM unnest(%b::bigint[], %b::integer[], %b::bytea[]) k (term, block, data)),"
        " emptied AS (DELETE FROM remloom.postings p USING kept k WHERE k.data = '' AND p.tenant_id = %s"
        "             AND p.term = k.term AND p.block = k.block)"
        " UPDATE remloom.postings p SET data = k.data FROM kept k WHERE k.data <> '' AND p.tenant_id = %s"
        " AND p.term = k.term AND p.block = k.block",
        ([k[0] for k in kept], [k[1] for k in kept], [k[2] for k in kept], tenant, tenant),
    )


def score(cursor: Cursor[Any], tenant: str, text: str) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The numbers of the documents that have a term of the text, best first, and their BM25 (ties: lower first)."""
    terms = np.unique(np.frombuffer(codes(text), "<i8"))
    none = np.empty(0, np.int64), np.empty(0, np.float32)
    if not len(terms):
        return none
    row = cursor.execute("SELECT documents, terms FROM remloom.tenants WHERE tenant_id = %s", (tenant,)).fetchone()
    if row is None or not row[0]:
        return none
    documents, average = row[0], row[1] / row[0]
    found: dict[int, tuple[list[int], list[bytes]]] = {}
    cursor = cursor.connection.cursor(binary=True)
    for term, block, data in cursor.execute(
        "SELECT p.term, p.block, p.data FROM remloom.postings p WHERE p.tenant_id = %s AND p.term = ANY (%s)",
        (tenant, terms.tolist()),
    ):
        blocks, parts = found.setdefault(term, ([], []))
        blocks.append(block)
        parts.append(data)
    docs, gains = [], []
    for blocks, parts in found.values():
        entries = np.frombuffer(b"".join(parts), _POSTING)
        sizes = [len(part) // _POSTING.itemsize for part in parts]
        docs.append(np.repeat(np.array(blocks, np.int64) << _SHIFT, sizes) | entries["place"])
        weight = log1p((documents - len(entries) + 0.5) / (len(entries) + 0.5)) * (K1 + 1)
        counts = entries["count"].astype(np.float32)
        saturation = np.float32(K1 * (1 - B)) + entries["length"] * np.float32(K1 * B / average)
        gains.append(counts * np.float32(weight) / (saturation + counts))
    if not docs:
        return none
    numbers, at = np.unique(np.concatenate(docs), return_inverse=True)
    scores = np.bincount(at, np.concatenate(gains)).astype(np.float32)
    order = np.lexsort((numbers, -scores))
    return numbers[order], scores[order]


def of(doc: int, text: str) -> set[tuple[int, int]]:
    """Every (term, document) of a text, as `everything` gives them."""
    return {(term, doc) for term in np.frombuffer(codes(text), "<i8").tolist()}


def everything(cursor: Cursor[Any], tenant: str) -> set[tuple[int, int]]:
    """Every (term, document) of the index."""
    rows = cursor.execute("SELECT term, block, data FROM remloom.postings WHERE tenant_id = %s", (tenant,)).fetchall()
    return {
        (term, block << _SHIFT | place)
        for term, block, data in rows
        for place in np.frombuffer(data, _POSTING)["place"].tolist()
    }


def _postings(
    texts: Iterable[Text],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], dict[int, int]]:
    """Term, document and count of every posting of these texts, and how many terms each document has."""
    numbers, words = [], []
    for doc, text in texts:
        numbers.append(doc)
        words.append(np.frombuffer(codes(text), "<i8"))
    sizes = [len(some) for some in words]
    terms = np.concatenate([*words, np.empty(0, np.int64)])
    docs = np.repeat(np.array(numbers, np.int64), sizes)
    order = np.lexsort((terms, docs))
    terms, docs = terms[order], docs[order]
    first = np.ones(len(terms), bool)
    first[1:] = (terms[1:] != terms[:-1]) | (docs[1:] != docs[:-1])
    starts = np.flatnonzero(first)
    counts = np.diff(np.append(starts, len(terms)))
    return terms[starts], docs[starts], counts, dict(zip(numbers, sizes, strict=True))
