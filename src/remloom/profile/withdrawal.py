"""Withdrawal: what was found in a passage that is written anew, with other words or as somebody
else's, and does not hold of it any more.

It goes in the transaction that changes the passage, and with it the marks that say the passage was
looked at, so that the next scan looks again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import islice

from ..kv import KeyRange
from ..model import Resource
from ..model.reports import MOST_NAMINGS
from ..store.contract import Reads, Store
from ..store.namings import namings
from .claim import Value
from .evidence import KIND, Evidence
from .passages import SEEN, UNHEARD

__all__ = ["evidence_of", "marks_of", "said_in"]


def evidence_of(reads: Reads, passages: Iterable[str]) -> Iterator[str]:
    """Yield the ids of the evidence that was made of passages."""
    for passage in passages:
        for id in reads.records.children(passage):
            record = reads.records.get("resources", id)
            if isinstance(record, Resource) and record.kind == KIND:
                yield id


def marks_of(reads: Reads, passages: Iterable[str]) -> list[tuple[str, str]]:
    """The entries that say that passages were looked at, by whichever extractor, and not heard."""
    extractors = list(_extractors(reads))
    return [
        mark
        for passage in passages
        for mark in ((UNHEARD, passage), *((SEEN, f"{one}/{passage}") for one in extractors))
    ]


def said_in(
    store: Store, evidence: Iterable[Evidence], values: Iterable[Value], gone: Collection[str]
) -> tuple[str, ...]:
    """List the ids of records that stay and still say what was forgotten: the passages that the
    evidence was found in, and what says one of the values; up to `MOST_NAMINGS`."""
    passages = [
        one.passage
        for one in evidence
        if one.passage and store.records.get("resources", one.passage) is not None
    ]
    names = [value for value in values if isinstance(value, str) and value]
    found = dict.fromkeys((*passages, *namings(store, names, will_be=dict.fromkeys(gone))))
    return tuple(islice((id for id in found if id not in gone), MOST_NAMINGS))


def _extractors(reads: Reads) -> Iterator[str]:
    """The names of all that have looked at passages. One probe each."""
    after = ""
    while entries := reads.kv.list(SEEN, KeyRange(after=after, limit=1)):
        (entry,) = entries
        extractor = entry.key.removesuffix(f"/{entry.refs[0]}")
        yield extractor
        after = f"{extractor}0"  # "0" sorts right behind "/"
