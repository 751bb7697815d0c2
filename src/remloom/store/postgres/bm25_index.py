"""The inverted index of texts: BM25 as `store.indexes.bm25` defines it, exact, over postings in a
table.

What a write indexes becomes a run: its postings in the order of their terms, cut into rows by the
first bits of a term. A query reads one row a run for each of its terms; small runs are merged as
they become many, so there are few. A batch of texts is a few hundred rows, a text is one, and
nothing is ever out of date.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import log1p
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..indexes.bm25 import K1, B, codes
from .binary_arrays import Column
from .compaction import mergeable

if TYPE_CHECKING:
    from psycopg import Cursor

__all__ = ["Run", "Text", "add", "everything", "of", "remove", "runs", "score"]

_TERM_BITS = 40
_COUNT_BITS = 24
# occurrences counted of one term in one document, and texts in one run
_MOST = (1 << _COUNT_BITS) - 1
# `word` is the term and how often the document has it; `doc` counts from the run's number; `length`
# is in terms.
_POSTING = np.dtype([("word", ">u8"), ("doc", ">u4"), ("length", ">u4")])
_ROW = 256  # postings in a row, at most, if terms were equally frequent
_READ = """
SELECT t.term, r.run, p.data FROM remloom.runs r CROSS JOIN unnest(%s::bigint[]) t (term) CROSS JOIN LATERAL (
  SELECT p.data FROM remloom.postings p
  WHERE p.tenant_id = %s AND p.run = r.run AND p.bucket = (t.term >> (40 - r.bits))::integer OFFSET 0) p
WHERE r.tenant_id = %s
"""

Text = tuple[int, str]  # its number, and what it says
Postings = NDArray[np.void]  # `_POSTING`


class Run(NamedTuple):
    """The postings of texts numbered from here on."""

    number: int
    bits: int  # of a term, which say in which row it is
    size: int


def runs(cursor: Cursor[Any], tenant: str) -> list[Run]:
    """Those there are, in order."""
    sql = "SELECT run, bits, size FROM remloom.runs WHERE tenant_id = %s ORDER BY run"
    return [Run(*row) for row in cursor.execute(sql, (tenant,))]


def add(cursor: Cursor[Any], tenant: str, texts: Sequence[Text], present: Sequence[Run]) -> None:
    """Index new documents, whose numbers are higher than those of all before. `present` are the
    runs there are."""
    run, postings, terms = _postings(texts)
    cursor.execute(
        "UPDATE remloom.tenants SET documents = documents + %s, terms = terms + %s WHERE tenant_id = %s",
        (len(texts), terms, tenant),
    )
    if not len(postings):
        return
    if merged := mergeable(present, len(postings)):
        old = _taken(cursor, tenant, merged)
        postings["doc"] += run - merged[0].number
        # in its byte order
        run, postings = merged[0].number, np.concatenate([*old, postings], dtype=_POSTING)
        postings = postings[np.argsort(_terms_of(postings))]
    bits = (len(postings) // _ROW).bit_length()
    buckets = _terms_of(postings) >> np.uint64(_TERM_BITS - bits)
    starts = np.flatnonzero(np.concatenate([[True], buckets[1:] != buckets[:-1]]))
    packed = postings.tobytes()
    bounds = [*(starts * _POSTING.itemsize).tolist(), len(packed)]
    cursor.execute(
        "INSERT INTO remloom.runs VALUES (%s, %s, %s, %s)", (tenant, run, bits, len(postings))
    )
    cursor.execute(
        "INSERT INTO remloom.postings SELECT %s, %s, * FROM unnest(%b::integer[], %b::bytea[])",
        (
            tenant, run, Column("i", buckets[starts].tolist()),
            Column("y", [packed[a:b] for a, b in pairwise(bounds)]),
        ),
    )  # fmt: skip


def _taken(cursor: Cursor[Any], tenant: str, merged: Sequence[Run]) -> list[Postings]:
    """The postings of runs, as those of the first of them; the runs are gone."""
    numbers = Column("q", [run.number for run in merged])
    cursor.execute(
        "DELETE FROM remloom.runs WHERE tenant_id = %s AND run = ANY (%b::bigint[])",
        (tenant, numbers),
    )
    sql = "DELETE FROM remloom.postings WHERE tenant_id = %s AND run = ANY (%b::bigint[]) RETURNING run, data"
    rows = cursor.connection.cursor(binary=True).execute(sql, (tenant, numbers)).fetchall()
    taken = []
    for run in merged:
        postings = _unpacked(data for number, data in rows if number == run.number)
        postings["doc"] += run.number - merged[0].number
        taken.append(postings)
    return taken


def remove(cursor: Cursor[Any], tenant: str, texts: Sequence[Text]) -> None:
    """Take documents out of the index."""
    cursor.execute(
        "UPDATE remloom.tenants SET documents = documents - %s, terms = terms - %s WHERE tenant_id = %s",
        (len(texts), sum(len(codes(text)) // 8 for _, text in texts), tenant),
    )
    present = runs(cursor, tenant)
    gone: dict[tuple[int, int], set[int]] = {}
    for doc, text in texts:
        if not (terms := np.unique(np.frombuffer(codes(text), "<i8")).tolist()):
            continue
        run = present[bisect_right(present, doc, key=lambda run: run.number) - 1]
        for term in terms:
            gone.setdefault((run.number, term >> (_TERM_BITS - run.bits)), set()).add(
                doc - run.number
            )
    if not gone:
        return
    rows = cursor.connection.cursor(binary=True).execute(
        "SELECT p.run, p.bucket, p.data FROM unnest(%b::bigint[], %b::integer[]) k (run, bucket) CROSS JOIN LATERAL"
        " (SELECT * FROM remloom.postings p WHERE p.tenant_id = %s AND p.run = k.run AND p.bucket = k.bucket"
        " OFFSET 0) p",
        (
            Column("q", [run for run, _ in gone]),
            Column("i", [bucket for _, bucket in gone]),
            tenant,
        ),
    )
    kept = []
    for run, bucket, data in rows.fetchall():
        postings = _unpacked([data])
        kept.append(
            (run, bucket, postings[~np.isin(postings["doc"], list(gone[run, bucket]))].tobytes())
        )
    cursor.execute(
        "WITH kept AS (SELECT * FROM unnest(%b::bigint[], %b::integer[], %b::bytea[]) k (run, bucket, data)),"
        " emptied AS (DELETE FROM remloom.postings p USING kept k WHERE k.data = '' AND p.tenant_id = %s"
        "             AND p.run = k.run AND p.bucket = k.bucket)"
        " UPDATE remloom.postings p SET data = k.data FROM kept k WHERE k.data <> '' AND p.tenant_id = %s"
        " AND p.run = k.run AND p.bucket = k.bucket",
        (
            *(Column(kind, [row[at] for row in kept]) for at, kind in enumerate("qiy")),
            tenant,
            tenant,
        ),
    )


def score(
    cursor: Cursor[Any], tenant: str, text: str
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The numbers of the documents that have a term of the text, best first, and their BM25 (ties:
    lower first)."""
    terms = np.unique(np.frombuffer(codes(text), "<i8"))
    none = np.empty(0, np.int64), np.empty(0, np.float32)
    if not len(terms):
        return none
    row = cursor.execute(
        "SELECT documents, terms FROM remloom.tenants WHERE tenant_id = %s", (tenant,)
    ).fetchone()
    if row is None or not row[0]:
        return none
    documents, average = row[0], row[1] / row[0]
    found: dict[int, tuple[list[int], list[bytes]]] = {}
    for term, run, data in cursor.connection.cursor(binary=True).execute(
        _READ, (terms.tolist(), tenant, tenant)
    ):
        starts, parts = found.setdefault(term, ([], []))
        starts.append(run)
        parts.append(data)
    docs, gains = [], []
    for term, (starts, parts) in found.items():
        postings = _unpacked(parts)
        ours = np.flatnonzero(_terms_of(postings) == np.uint64(term))
        if not len(ours):
            continue
        runs_of = np.repeat(
            np.array(starts, np.int64), [len(part) // _POSTING.itemsize for part in parts]
        )
        docs.append(runs_of[ours] + postings["doc"][ours])
        weight = log1p((documents - len(ours) + 0.5) / (len(ours) + 0.5)) * (K1 + 1)
        counts = (postings["word"][ours] & np.uint64(_MOST)).astype(np.float32)
        saturation = np.float32(K1 * (1 - B)) + postings["length"][ours] * np.float32(
            K1 * B / average
        )
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
    """Every (term, document) of the index, found where a query looks for it."""
    rows = cursor.execute(
        "SELECT p.run, r.bits, p.bucket, p.data FROM remloom.postings p JOIN remloom.runs r USING (tenant_id, run)"
        " WHERE p.tenant_id = %s",
        (tenant,),
    ).fetchall()
    found: set[tuple[int, int]] = set()
    for run, bits, bucket, data in rows:
        postings = _unpacked([data])
        terms = _terms_of(postings)
        there = terms >> np.uint64(_TERM_BITS - bits) == bucket
        found |= set(
            zip(
                terms[there].tolist(),
                (postings["doc"][there] + np.int64(run)).tolist(),
                strict=True,
            )
        )
    return found


def _unpacked(parts: Iterable[bytes]) -> Postings:
    return np.frombuffer(b"".join(parts), _POSTING).copy()


def _terms_of(postings: Postings) -> NDArray[np.uint64]:
    return postings["word"].astype(np.uint64) >> np.uint64(_COUNT_BITS)


def _postings(texts: Sequence[Text]) -> tuple[int, Postings, int]:
    """The number of a run of these texts, its postings in the order of their terms, and how many
    terms they have."""
    numbers = np.array([doc for doc, _ in texts], np.int64)
    coded = [codes(text) for _, text in texts]
    lengths = np.array([len(some) // 8 for some in coded], np.uint32)
    places = np.repeat(np.arange(len(texts), dtype=np.uint64), lengths)
    each = np.sort(np.frombuffer(b"".join(coded), "<u8") << np.uint64(_COUNT_BITS) | places)
    starts = (
        np.flatnonzero(np.concatenate([[True], each[1:] != each[:-1]]))
        if len(each)
        else np.empty(0, np.int64)
    )
    which = (each[starts] & np.uint64(_MOST)).astype(np.int64)
    counts = np.minimum(np.diff(np.append(starts, len(each))), _MOST).astype(np.uint64)
    postings = np.empty(len(starts), _POSTING)
    postings["word"] = each[starts] - which.astype(np.uint64) + counts
    postings["doc"], postings["length"] = numbers[which] - numbers[0], lengths[which]
    return int(numbers[0]), postings, len(each)
