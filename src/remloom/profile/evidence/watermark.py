"""The watermark: how far texts were looked through, so that the next scan costs what is new.

Texts are numbered in the order in which they are written (see `Records.texts_after`), whatever any
clock says; one that changes gets a new number. Up to the watermark all were looked through but for
those that are `open`. It says which passages need not be asked for, and nothing else: a passage was
looked at if it has an entry of its own. A rollback takes such entries back, so after each the next
scan looks through everything once more; so too when a passage that is open is forgotten, with which
the watermark goes, since it names the passage.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ...errors import GoneError
from ...kv import Entry
from ...model import Record
from ...runs.run import last_rollback_version
from ...store.contract import TEXT_NUMBERS, Store

_PAGE = 500  # records read at once
# passages that wait: beyond so many the watermark stays below them
_MOST_OPEN = 1_000


class Watermark(Struct, frozen=True, array_like=True):
    """How far an extractor has looked through the texts of a store.

    Args:
        upto: the number of the last text that was looked through; 0: none.
        open: ids of records up to there that still wait: their call failed, or a limit was reached.
        rollbacks: the version of the last rollback, see `last_rollback_version`.
    """

    upto: int = 0
    open: tuple[str, ...] = ()
    rollbacks: int = 0


def read_watermark(store: Store, extractor: str, *, from_start: bool = False) -> Watermark:
    """The watermark that counts; the lowest if there is none, or if a run was rolled back since.

    Args:
        from_start: the lowest, in any case.
    """
    rollbacks = last_rollback_version(store)
    entry = store.kv.get(TEXT_NUMBERS, _key(extractor))
    if entry is not None and not from_start:
        stored = msgspec.json.decode(entry.value, type=Watermark)
        if stored.rollbacks == rollbacks:
            return stored
    return Watermark(rollbacks=rollbacks)


def texts_since(store: Store, mark: Watermark) -> Iterator[tuple[int, Record]]:
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


def write_watermark(
    store: Store, extractor: str, mark: Watermark, upto: int, waiting: Mapping[str, int]
) -> None:
    """Move a watermark.

    Args:
        mark: where it was.
        upto: the number of the last text that was looked through.
        waiting: passages among those since the mark that were not looked at: ids of the records,
            and the numbers of their texts as `texts_since` has them.
    """
    still_open = waiting
    if len(waiting) > _MOST_OPEN:
        upto = min(number for number in waiting.values() if number) - 1
        still_open = {id: number for id, number in waiting.items() if not number}
    moved = replace(mark, upto=upto, open=tuple(sorted(still_open)))
    while moved != mark:
        entry = Entry(TEXT_NUMBERS, _key(extractor), msgspec.json.encode(moved), moved.open)
        try:
            store.kv.put([entry], existing=moved.open)
            return
        except GoneError as error:
            # what was forgotten meanwhile waits no longer
            gone = set(error.fields["ids"])
            moved = replace(moved, open=tuple(id for id in moved.open if id not in gone))


def _key(extractor: str) -> str:
    return f"profile/{extractor}"
