"""Withdrawal: what was found in a passage that is rewritten, with other words or as somebody
else's, and does not hold of it any more.

It goes in the transaction that changes the passage, and with it the marks that say the passage was
looked at, so that the next scan looks again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import islice

from ...model import Resource
from ...model.reports import MOST_MENTIONS
from ...store.contract import Reads, Store
from ...store.forgetting.mentions import find_mentions
from .claim import Value
from .evidence import KIND, Evidence
from .passages import SEEN, UNHEARD, looked_by


def evidence_of(reads: Reads, passages: Iterable[str]) -> Iterator[str]:
    """Yield the ids of the evidence that was made of passages."""
    for passage in passages:
        for id in reads.records.children(passage):
            record = reads.records.get("resources", id)
            if isinstance(record, Resource) and record.kind == KIND:
                yield id


def seen_entries(reads: Reads, passages: Iterable[str]) -> list[tuple[str, str]]:
    """The entries that say that passages were looked at, by whichever extractor, and not heard."""
    marks = [(one, begin) for one in (SEEN, UNHEARD) for begin in looked_by(reads, one)]
    return [(one, f"{begin}/{passage}") for passage in passages for one, begin in marks]


def records_with(
    store: Store, evidence: Iterable[Evidence], values: Iterable[Value], gone: Collection[str]
) -> tuple[str, ...]:
    """List the ids of records that stay and still say what was forgotten: the passages that the
    evidence was found in, and what says one of the values; up to `MOST_MENTIONS`."""
    passages = [
        one.passage
        for one in evidence
        if one.passage and store.records.get("resources", one.passage) is not None
    ]
    names = [value for value in values if isinstance(value, str) and value]
    found = dict.fromkeys((*passages, *find_mentions(store, names, will_be=dict.fromkeys(gone))))
    return tuple(islice((id for id in found if id not in gone), MOST_MENTIONS))
