"""One text from several sources: an answer shows it once, with every source.

Seed design 2 stores identical content once. Here a record also says where it was read, at which
lines, and what goes when that source is forgotten, so each source has its own; what is shared is
the work of embedding, and the position in an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence

from ..model import Hit, Record, Resource, cited
from ..store.results import Match

_MAX_FETCHED = 8  # times the limit, up to which more is fetched in place of copies


def text_of(record: Record) -> Hashable | None:
    """The key that records share which say the same of the same time; None if there are no copies.

    The turns of a chat are events: "ok", said twice, is two of them.
    """
    if not isinstance(record, Resource) or not record.content.strip():
        return None
    if "speaker" in record.metadata:
        return None
    return record.content_hash, record.kind, record.starts_at


def source_of(record: Record) -> str:
    """A citation of a record: its source, or else its name."""
    if isinstance(record, Resource) and record.uri:
        return cited(record.uri, record.metadata)
    return record.name


def search_distinct(fetch: Callable[[int], Sequence[Match]], limit: int) -> list[Hit]:
    """At most `limit` hits of a search, best first, each text once.

    Args:
        fetch: gives the best matches, as many as it is asked for.
    """
    # Copies take the place of other texts, so fetch more until there are enough.
    count = limit
    while True:
        matches = fetch(count)
        hits = merge_copies(matches)
        if len(hits) >= limit or len(matches) < count or count >= _MAX_FETCHED * limit:
            return hits[:limit]
        count *= 2


def merge_copies(matches: Iterable[Match]) -> list[Hit]:
    """A hit for each text, by its best match; the sources of the others are its `copies`."""
    best: dict[Hashable, Match] = {}
    sources: dict[Hashable, list[str]] = {}
    for match in matches:
        text = text_of(match.record) or match.record.id
        # matches come best first
        if text in best:
            sources.setdefault(text, []).append(source_of(match.record))
        else:
            best[text] = match
    return [
        Hit(
            record=match.record,
            score=match.score,
            matched=match.matched,
            copies=tuple(sources.get(text, ())),
        )
        for text, match in best.items()
    ]
