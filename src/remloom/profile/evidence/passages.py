"""Passages: what was read that may say something of a person, and of whom."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from operator import itemgetter

import msgspec
from msgspec import Struct

from ...kv import Entry, KeyRange
from ...model import Resource
from ...model.roles import ASSISTANT, NOBODY
from ...settings import Settings
from ...store.contract import Reads, Store
from .evidence import CATEGORY, ME, key_of_subject
from .subjects import subject_of_speaker
from .watermark import Watermark, texts_since

# namespaces of the entries: passages that were looked at, and those in a language that is not heard
SEEN, UNHEARD = "profile.seen", "profile.unheard"
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
    if record.role in (ASSISTANT, NOBODY):
        return None
    if "speaker" in record.metadata:
        subject = subject_of_speaker(str(record.metadata["speaker"] or ""), settings)
        return Passage(record, subject) if subject else None
    if record.category in _BEHAVIOUR:
        return Passage(record, ME, is_behaviour=True)
    return Passage(record, ME) if record.category in _OWN_WORDS else None


class Unseen(Struct, frozen=True):
    """The passages that an extractor has not looked at.

    Args:
        ids: of their records, the newest first.
        numbers: of their texts, by id; see `texts_since`.
        upto: the number of the last text that was looked through for them.
    """

    ids: tuple[str, ...]
    numbers: dict[str, int]
    upto: int


def unseen(store: Store, settings: Settings, extractor: str, since: Watermark) -> Unseen:
    """Find the passages that this extractor has not looked at.

    Args:
        extractor: its name; empty: all passages.
        since: up to where was looked before.
    """
    found: list[tuple[datetime, int, str]] = []
    numbers: dict[str, int] = {}
    upto = since.upto
    for number, record in texts_since(store, since):
        upto = max(upto, number)
        if not isinstance(record, Resource) or passage_of(record, settings) is None:
            continue
        if extractor and store.kv.get(SEEN, _seen_key(extractor, record.id)) is not None:
            continue
        found.append((_spoken_at(record), record.ordinal, record.id))
        numbers[record.id] = number
    return Unseen(tuple(id for _, _, id in sorted(found, reverse=True)), numbers, upto)


def seen_entry(passage: Passage, extractor: str) -> Entry:
    """The entry that says a passage was looked at; it goes with the passage."""
    id = passage.record.id
    return Entry(SEEN, _seen_key(extractor, id), b"{}", (id,))


def unheard_entry(passage: Passage, language: str) -> Entry:
    """The entry that says a passage is in a language that is not heard; it goes with it."""
    id, begin = passage.record.id, key_of_subject(passage.subject)
    said_at = msgspec.json.encode(_spoken_at(passage.record))
    return Entry(UNHEARD, f"{begin}/{language}/{id}", said_at, (id,))


def unheard_in(reads: Reads, subject: str, as_of: datetime | None = None) -> dict[str, int]:
    """A person's passages in languages that are not heard, by language, those of most passages
    first.

    Args:
        as_of: only what was said by then.
    """
    begin = f"{key_of_subject(subject)}/"
    found = {
        one.removeprefix(begin): _count_unheard(reads, f"{one}/", as_of)
        for one in looked_by(reads, UNHEARD, begin)
    }
    return dict(sorted(filter(itemgetter(1), found.items()), key=lambda pair: (-pair[1], pair[0])))


def _count_unheard(reads: Reads, prefix: str, as_of: datetime | None) -> int:
    if as_of is None:
        return reads.kv.count(UNHEARD, prefix)
    marks = reads.kv.list(UNHEARD, KeyRange(prefix=prefix))
    return sum(msgspec.json.decode(one.value, type=datetime) <= as_of for one in marks)


def looked_by(reads: Reads, namespace: str, prefix: str = "") -> Iterator[str]:
    """What stands before the ids of passages in the keys of entries: of those that were looked at
    the extractor, of those that were not heard the person and the language. One probe each."""
    after = ""
    while entries := reads.kv.list(namespace, KeyRange(prefix=prefix, after=after, limit=1)):
        (entry,) = entries
        begin = entry.key.removesuffix(f"/{entry.refs[0]}")
        yield begin
        after = f"{begin}0"  # "0" sorts right behind "/"


def _spoken_at(record: Resource) -> datetime:
    return record.starts_at or record.created_at or _EARLIEST


def _seen_key(extractor: str, id: str) -> str:
    return f"{extractor}/{id}"
