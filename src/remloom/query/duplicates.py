"""The same text from several sources: each keeps its record; an answer shows the text once, with
every source.

Seed design 2 stores identical content once. Here a record also is where it was read, at which
lines, and what goes when that source is forgotten, so each source has its own; what is shared is
the work of embedding, and the place in an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence

from ..model import Hit, Record, Resource, cited
from ..store.results import Match

__all__ = ["search", "source_of", "text_of"]

_MOST = 8  # times the limit, up to which more is fetched in place of copies


def text_of(record: Record) -> Hashable | None:
    """What two records have in common that say the same of the same time; None of what has no
    copies.

    The turns of a chat are events: "ok", said twice, is two of them.
    """
    if (
        not isinstance(record, Resource)
        or not record.content.strip()
        or "speaker" in record.metadata
    ):
        return None
    return record.content_hash, record.kind, record.starts_at


def source_of(record: Record) -> str:
    """A citation of a record: its source, or else its name."""
    return (
        cited(record.uri, record.metadata)
        if isinstance(record, Resource) and record.uri
        else record.name
    )


def search(fetch: Callable[[int], Sequence[Match]], limit: int) -> list[Hit]:
    """At most `limit` hits of a search, best first, each text once. `fetch(count)` gives the best
    `count` matches."""
    count = limit
    while True:
        found = fetch(count)
        hits = _distinct(found)
        if len(hits) >= limit or len(found) < count or count >= _MOST * limit:
            return hits[:limit]
        count *= 2


def _distinct(matches: Iterable[Match]) -> list[Hit]:
    first: dict[Hashable, Match] = {}
    sources: dict[Hashable, list[str]] = {}
    for match in matches:
        text = text_of(match.record) or match.record.id
        if text in first:
            sources.setdefault(text, []).append(source_of(match.record))
        else:
            first[text] = match
    return [
        Hit(
            record=match.record,
            score=match.score,
            matched=match.matched,
            copies=tuple(sources.get(text, ())),
        )
        for text, match in first.items()
    ]
