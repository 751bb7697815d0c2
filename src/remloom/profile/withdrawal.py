"""Withdrawal: what was found in a passage that is written anew, with other words or as somebody
else's, and does not hold of it any more.

It goes in the transaction that changes the passage, and with it the marks that say the passage was
looked at, so that the next scan looks again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..kv import KeyRange
from ..model import Resource
from ..store.contract import Reads
from .evidence import KIND
from .passages import SEEN

__all__ = ["evidence_of", "marks_of"]


def evidence_of(reads: Reads, passages: Iterable[str]) -> Iterator[str]:
    """Yield the ids of the evidence that was made of passages."""
    for passage in passages:
        for id in reads.records.children(passage):
            record = reads.records.get("resources", id)
            if isinstance(record, Resource) and record.kind == KIND:
                yield id


def marks_of(reads: Reads, passages: Iterable[str]) -> list[tuple[str, str]]:
    """The entries that say that passages were looked at, by whichever extractor."""
    extractors = list(_extractors(reads))
    return [(SEEN, f"{extractor}/{passage}") for passage in passages for extractor in extractors]


def _extractors(reads: Reads) -> Iterator[str]:
    """The names of all that have looked at passages. One probe each."""
    after = ""
    while entries := reads.kv.list(SEEN, KeyRange(after=after, limit=1)):
        (entry,) = entries
        extractor = entry.key.removesuffix(f"/{entry.refs[0]}")
        yield extractor
        after = f"{extractor}0"  # "0" sorts right behind "/"
