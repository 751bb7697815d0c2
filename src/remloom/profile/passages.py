"""Passages: what was read that may say something of a person, and of whom."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from msgspec import Struct

from ..kv import Entry, KeyRange
from ..model import Resource
from ..settings import Settings
from ..store.contract import Reads, Store
from .evidence import CATEGORY, ME
from .subjects import subject_of_speaker

__all__ = ["SEEN", "Passage", "passage_of", "seen_entry", "unseen"]

SEEN = "profile.seen"  # namespace of the entries: passages that were looked at
_PAGE = 2_000  # entries read at once
_EARLIEST = datetime.min.replace(tzinfo=UTC)

# Categories whose first person is the user. A document is anybody's: nothing in it is taken for
# what the user said.
_OWN_WORDS = frozenset(("note", "session", "memory"))
# what the user did, not said
_BEHAVIOUR = frozenset(("browsing", "saved", "news"))


class Passage(Struct, frozen=True):
    """One record to look at.

    Args:
        record: a turn of a chat, a part of a note, a day of browsing, …
        subject: of whom its first person tells; empty: of nobody, as in a program's turn.
        is_behaviour: whether it lists what was done, instead of words of the subject.
    """

    record: Resource
    subject: str
    is_behaviour: bool = False


def passage_of(record: Resource, settings: Settings) -> Passage | None:
    """The passage that a record is; None if it can say nothing of anybody."""
    if record.generation or record.category == CATEGORY or not record.content.strip():
        return None
    if "speaker" in record.metadata:
        subject = subject_of_speaker(str(record.metadata["speaker"] or ""), settings)
        return Passage(record, subject) if subject else None
    if record.category in _BEHAVIOUR:
        return Passage(record, ME, is_behaviour=True)
    return Passage(record, ME) if record.category in _OWN_WORDS else None


def unseen(store: Store, settings: Settings, extractor: str) -> list[str]:
    """The ids of passages that this extractor has not looked at, the newest first.

    One pass over the store.

    Args:
        extractor: its name; empty: all passages.
    """
    seen = set(_seen(store, extractor)) if extractor else set()
    found: list[tuple[datetime, int, str]] = []
    for record in store.records.all("resources"):
        if not isinstance(record, Resource) or record.id in seen:
            continue
        if passage_of(record, settings) is not None:
            at = record.starts_at or record.created_at or _EARLIEST
            found.append((at, record.ordinal, record.id))
    return [id for _, _, id in sorted(found, reverse=True)]


def seen_entry(passage: Passage, extractor: str) -> Entry:
    """The entry that says a passage was looked at; it goes with the passage."""
    id = passage.record.id
    return Entry(SEEN, f"{extractor}/{id}", b"{}", (id,))


def _seen(reads: Reads, extractor: str) -> Iterator[str]:
    prefix = f"{extractor}/"
    after = ""
    while entries := reads.kv.list(SEEN, KeyRange(prefix=prefix, after=after, limit=_PAGE)):
        for entry in entries:
            yield entry.key.removeprefix(prefix)
        after = entries[-1].key
