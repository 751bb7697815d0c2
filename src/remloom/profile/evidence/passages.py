"""Passages: what was read that may say something of a person, and of whom; and up to which passage
an extractor has looked at them.

Texts are numbered in the order in which they are written (see `Records.texts_after`), whatever any
clock says; one that changes gets a new number. Up to the watermark all were looked through but for
those that are `open`, so that the next scan costs what is new. It says which passages need not be
asked for, and nothing else: a passage was looked at if it has an entry of its own. A rollback takes
such entries back, so after each the next scan looks through everything once more; so too when a
passage that is open is forgotten, with which the watermark goes, since it names the passage.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from operator import itemgetter

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ...errors import GoneError, InvalidInputError
from ...kv import Entry, KeyRange
from ...model import Record, Resource
from ...model.records import ASSISTANT, NOBODY, role_of
from ...runs.run import last_rollback_version
from ...settings import Settings
from ...store.contract import TEXT_NUMBERS, Reads, Store
from ...text.secrets import Masked, mask_with_origins
from .claim import Claim
from .evidence import CATEGORY, MASK, ME, key_of_subject, value_key

# namespaces of the entries: passages that were looked at, and those in a language that is not heard
SEEN, UNHEARD = "profile.seen", "profile.unheard"
_EARLIEST = datetime.min.replace(tzinfo=UTC)

# Categories whose first person is the user. A document is anybody's: nothing in it is taken for
# what the user said.
_OWN_WORDS = frozenset(("note", "session", "memory"))
# what the user did, not said
_BEHAVIOUR = frozenset(("browsing", "saved", "news"))
_LONGEST = 200  # characters of a name
# what nobody sees, or what changes how the text around it is seen; scripts need their joiners
_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
_JOINERS = "\u200c\u200d"
# what programs call the user in chats
_USER = frozenset(("user", "human", "me", "myself", "you", "customer", "prompt"))
_PAGE = 500  # records read at once
# passages that wait: beyond so many the watermark stays below them
_MOST_OPEN = 1_000


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
        subject = _subject_of_speaker(str(record.metadata["speaker"] or ""), settings)
        return Passage(record, subject) if subject else None
    if record.category in _BEHAVIOUR:
        return Passage(record, ME, is_behaviour=True)
    return Passage(record, ME) if record.category in _OWN_WORDS else None


def _subject_of_speaker(speaker: str, settings: Settings) -> str:
    if role_of(value_key(_clean(speaker))) in (ASSISTANT, NOBODY):
        return ""
    try:
        return resolve(speaker, settings)
    except InvalidInputError:
        return ""


def unseen(
    store: Store, settings: Settings, extractor: str, since: ScanPosition
) -> tuple[list[str], dict[str, int], int]:
    """Find the passages that this extractor has not looked at; without a name, all passages.

    Returns:
        the ids of their records, the newest first; the numbers of their texts, by id, as of
        `texts_since`; the number of the last text that was looked through for them.
    """
    found: list[tuple[datetime, int, str]] = []
    numbers: dict[str, int] = {}
    upto = since.upto
    for number, record in texts_since(store, since):
        upto = max(upto, number)
        if not isinstance(record, Resource) or passage_of(record, settings) is None:
            continue
        if extractor and store.kv.get(SEEN, f"{extractor}/{record.id}") is not None:
            continue
        found.append((_spoken_at(record), record.ordinal, record.id))
        numbers[record.id] = number
    return [id for _, _, id in sorted(found, reverse=True)], numbers, upto


def seen_entry(passage: Passage, extractor: str) -> Entry:
    """The entry that says a passage was looked at; it goes with the passage."""
    id = passage.record.id
    return Entry(SEEN, f"{extractor}/{id}", b"{}", (id,))


def unheard_entry(passage: Passage, language: str) -> Entry:
    """The entry that says a passage is in a language that is not heard; it goes with it."""
    id, begin = passage.record.id, key_of_subject(passage.subject)
    said_at = msgspec.json.encode(_spoken_at(passage.record))
    return Entry(UNHEARD, f"{begin}/{language}/{id}", said_at, (id,))


def unheard_in(reads: Reads, subject: str, as_of: datetime | None = None) -> dict[str, int]:
    """A person's passages by language that is not heard, the most first; of until `as_of`."""
    begin = f"{key_of_subject(subject)}/"
    found = {
        one.removeprefix(begin): _count_unheard(reads, f"{one}/", as_of)
        for one in key_prefixes(reads, UNHEARD, begin)
    }
    return dict(sorted(filter(itemgetter(1), found.items()), key=lambda pair: (-pair[1], pair[0])))


def _count_unheard(reads: Reads, prefix: str, as_of: datetime | None) -> int:
    if as_of is None:
        return reads.kv.count(UNHEARD, prefix)
    marks = reads.kv.list(UNHEARD, KeyRange(prefix=prefix))
    return sum(msgspec.json.decode(one.value, type=datetime) <= as_of for one in marks)


def key_prefixes(reads: Reads, namespace: str, prefix: str = "") -> Iterator[str]:
    """What precedes the ids of passages in keys: the extractor in `SEEN`, the person and the
    language in `UNHEARD`. One probe each."""
    after = ""
    while entries := reads.kv.list(namespace, KeyRange(prefix=prefix, after=after, limit=1)):
        (entry,) = entries
        begin = entry.key.removesuffix(f"/{entry.refs[0]}")
        yield begin
        after = f"{begin}0"  # "0" sorts right behind "/"


def seen_entries(reads: Reads, passages: Iterable[str]) -> list[tuple[str, str]]:
    """The entries that say that passages were looked at, by any extractor, and not heard."""
    marks = [(one, begin) for one in (SEEN, UNHEARD) for begin in key_prefixes(reads, one)]
    return [(one, f"{begin}/{passage}") for passage in passages for one, begin in marks]


def _spoken_at(record: Resource) -> datetime:
    return record.starts_at or record.created_at or _EARLIEST


class ScanPosition(Struct, frozen=True, array_like=True):
    """How far an extractor has looked through the texts of a store.

    Args:
        upto: the number of the last text that was looked through; 0: none.
        open: ids of records up to there that still wait: their call failed, or a limit was reached.
        rollbacks: the version of the last rollback, see `last_rollback_version`.
    """

    upto: int = 0
    open: tuple[str, ...] = ()
    rollbacks: int = 0


def read_position(store: Store, extractor: str, *, from_start: bool = False) -> ScanPosition:
    """The watermark that counts; the lowest if there is none, or a run was rolled back since."""
    rollbacks = last_rollback_version(store)
    entry = store.kv.get(TEXT_NUMBERS, f"profile/{extractor}")
    if entry is not None and not from_start:
        stored = msgspec.json.decode(entry.value, type=ScanPosition)
        if stored.rollbacks == rollbacks:
            return stored
    return ScanPosition(rollbacks=rollbacks)


def texts_since(store: Store, mark: ScanPosition) -> Iterator[tuple[int, Record]]:
    """Yield the records with a text that are new since a watermark, or still open, each once and
    with the number of its text; 0 for those that are open.
    """
    for id in mark.open:
        record = store.records.get(None, id)
        if record is not None:
            yield 0, record
    was_open = frozenset(mark.open)
    after = mark.upto
    while texts := store.records.texts_after(after, _PAGE):
        for number, record in texts:
            # it was changed since
            if record.id not in was_open:
                yield number, record
        after = texts[-1][0]


def write_position(
    store: Store, extractor: str, mark: ScanPosition, upto: int, waiting: Mapping[str, int]
) -> None:
    """Move a watermark to the last text that was looked through, but for passages that were not
    looked at: `waiting` has the numbers of their texts, as of `texts_since`, by id."""
    still_open = waiting
    if len(waiting) > _MOST_OPEN:
        upto = min(number for number in waiting.values() if number) - 1
        still_open = {id: number for id, number in waiting.items() if not number}
    moved = replace(mark, upto=upto, open=tuple(sorted(still_open)))
    while moved != mark:
        entry = Entry(TEXT_NUMBERS, f"profile/{extractor}", msgspec.json.encode(moved), moved.open)
        try:
            store.kv.put([entry], existing=moved.open)
            return
        except GoneError as error:
            # what was forgotten meanwhile waits no longer
            gone = set(error.fields["ids"])
            moved = replace(moved, open=tuple(id for id in moved.open if id not in gone))


def check_name(name: str) -> str:
    """Return a person's name in its one form: compatible characters are one, controls are left out,
    and so is a colon at the end. Empty for nothing but blanks.

    Raises:
        InvalidInputError: it has more than 200 characters, or none that anybody can see.

    >>> check_name("Ａnna  Lee: "), check_name("Bob\\u202e")
    ('Anna Lee', 'Bob')
    """
    text = _clean(name)
    if len(name) > _LONGEST or (name.strip() and not text):
        raise InvalidInputError(
            f"{name[:80]!r} is not the name of a person",
            remedy=f"a name has up to {_LONGEST} characters, and some that can be seen",
        )
    return text


def resolve(name: str, settings: Settings) -> str:
    """The subject that a name stands for: the user for an empty one, and for each of theirs.

    Raises:
        InvalidInputError: see `check_name`.
    """
    text = check_name(name)
    own = (settings.profile_subject, *settings.profile_names.split(","))
    names = _USER.union(value_key(_clean(one)) for one in own)
    return ME if not text or value_key(text) in names else text


def _clean(name: str) -> str:
    # what is beyond a name's length is refused, and costs nothing
    text = unicodedata.normalize("NFKC", name[: _LONGEST + 1])
    seen = [
        char
        for char in text
        if char.isspace() or char in _JOINERS or unicodedata.category(char) not in _UNSEEN
    ]
    return " ".join("".join(seen).split()).rstrip(": ")


class MaskedPassages(Struct, frozen=True):
    """Passages whose secrets are masked.

    Args:
        passages: to be looked at.
        count: of secrets in them.
        texts: their texts by the ids of the records.
    """

    passages: tuple[Passage, ...]
    count: int
    texts: Mapping[str, Masked]

    def as_stored(self, claim: Claim, record_id: str) -> Claim:
        """The claim with the place of its quote in the passage as it is stored, secrets and all.
        A mask that the quote breaks off in is shown whole."""
        masked = self.texts[record_id]
        start, end = claim.span
        if masked.text[start:end] != claim.quote or not claim.quote:
            start = max(masked.text.find(claim.quote), 0)
            end = start + len(claim.quote)
        # of a text that was masked when it was read, too
        for found in MASK.finditer(masked.text):
            if found.start() < end < found.end():
                end = found.end()
        span = masked.original_span(start, end)
        return replace(claim, quote=masked.text[start:end] or claim.quote, span=span)


def mask_passages(passages: Sequence[Passage]) -> MaskedPassages:
    masked = {passage.record.id: mask_with_origins(passage.record.content) for passage in passages}
    shown = tuple(
        replace(one, record=replace(one.record, content=masked[one.record.id].text))
        if masked[one.record.id].secrets
        else one
        for one in passages
    )
    return MaskedPassages(shown, sum(one.secrets for one in masked.values()), masked)
