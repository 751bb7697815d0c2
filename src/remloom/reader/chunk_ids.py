"""Which stored chunks lines are from."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping

from .lines import Lines

__all__ = ["chunk_ids"]


def chunk_ids(
    documents: Mapping[str, Lines], ranges: Iterable[tuple[str, int, int]]
) -> tuple[str, ...]:
    """The ids of the chunks that these lines are from, each once.

    What quotes lines goes when one of these is forgotten.
    """
    ids: dict[str, None] = {}
    for name, first, last in ranges:
        chunks = documents[name].chunks
        at = bisect_left(chunks, first, key=lambda chunk: chunk.last)
        while at < len(chunks) and chunks[at].first <= last:
            ids[chunks[at].id] = None
            at += 1
    return tuple(ids)
