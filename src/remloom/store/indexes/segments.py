"""The shape shared by the name and the term index: sealed segments, a tail of newer rows, the dead.

A segment never changes but for which of its rows are dead. New rows go to the tail, which is
searched as it is; `compact` seals the tail into a segment, together with those before it that are
not much larger: so there are few segments, and a row is rewritten only a few times (a
log-structured merge).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from threading import Lock
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from .arrays import Array, Ids, pack, positions, unpack

_GROWTH = 4  # a segment is merged with the newer ones once they are a quarter of it
_DEAD_SHARE = 0.25  # a segment with more dead rows than this is rewritten

Mask = NDArray[np.bool_]


class Segment:
    """Rows by id, in an order of the segment's own, and the arrays that find them."""

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        self.arrays = arrays
        self.ids: Ids = arrays["ids"]
        # A copy, as the arrays of a loaded snapshot cannot be written to.
        dead = arrays.get("dead")
        self.dead: Mask = np.zeros(len(self.ids), bool) if dead is None else np.array(dead)
        self.has_dead = bool(self.dead.any())
        self._order: NDArray[np.intp] | None = None

    def mark_dead(self, ids: Ids) -> Ids:
        """Mark rows as dead; returns the ids that were alive here."""
        if self._order is None:
            self._order = np.argsort(self.ids, kind="stable")
        rows = self._order[positions(self.ids[self._order], ids)]
        rows = rows[~self.dead[rows]]
        self.dead[rows] = True
        self.has_dead = self.has_dead or bool(len(rows))
        return self.ids[rows]


class AllowedIds:
    """The only ids that a search may return, ascending. Where each segment has them is remembered,
    so that a filter that comes again costs little."""

    def __init__(self, ids: Ids) -> None:
        self.ids = ids
        self._rows: WeakKeyDictionary[Segment, NDArray[np.intp]] = WeakKeyDictionary()
        self._barred: WeakKeyDictionary[Segment, NDArray[np.bool_]] = WeakKeyDictionary()

    def __len__(self) -> int:
        return len(self.ids)

    def rows_in(self, segment: Segment) -> NDArray[np.intp]:
        """The rows of a segment that are allowed, ascending."""
        rows = self._rows.get(segment)
        if rows is None:
            rows = self._rows[segment] = positions(segment.ids, self.ids)
        return rows

    def barred_in(self, segment: Segment) -> NDArray[np.bool_]:
        """For each row of a segment, whether it is not allowed."""
        barred = self._barred.get(segment)
        if barred is None:
            barred = np.ones(len(segment.ids), bool)
            barred[self.rows_in(segment)] = False
            self._barred[segment] = barred
        return barred


S = TypeVar("S", bound=Segment)
T = TypeVar("T")  # a row of the tail


class State(NamedTuple, Generic[S, T]):
    """The rows that one search sees. `rows` may be ahead of `ids`, whose length counts."""

    segments: tuple[S, ...]
    ids: list[int]
    rows: list[T]


class SegmentedIndex(ABC, Generic[S, T]):
    """Rows by id: any number of threads may search while others add, remove and compact.

    Ids are positive and ever increasing; what an id holds never changes. A search sees every row
    added before it.
    """

    KIND: ClassVar[str]
    SEGMENT: ClassVar[type[Any]]  # the class of its segments, which are made of their arrays
    # of the snapshot; raise it with every change of the arrays or of what is indexed
    FORMAT: ClassVar[int]

    def __init__(self) -> None:
        self._lock = Lock()  # guards what changes the state
        self._compacting = Lock()  # one thread seals
        self._state: State[S, T] = State((), [], [])
        self._last = 0
        # removed, but still in a segment or in the tail
        self._dead: set[int] = set()

    @abstractmethod
    def _prepare(self, texts: Iterable[str]) -> list[T]:
        """Make the tail rows of these texts."""

    @abstractmethod
    def _seal(self, parts: Sequence[tuple[S, Mask]], ids: list[int], rows: list[T]) -> S:
        """Make one segment of the rows of `parts` that their masks select, and of these tail
        rows."""

    def __len__(self) -> int:
        state = self._state
        sealed = sum(len(segment.ids) for segment in state.segments)
        return sealed + len(state.ids) - len(self._dead)

    @property
    def tail_size(self) -> int:
        """Rows that no segment has yet; each costs every search a little until `compact`."""
        return len(self._state.ids)

    @property
    def last(self) -> int:
        """The highest id added so far, or, after `load`, of the rows loaded."""
        return self._last

    @property
    def ids(self) -> Ids:
        """The ids of every live row, ascending."""
        state = self._state
        # Copied, as another thread may add to it meanwhile.
        tail = [id for id in list(state.ids) if id not in self._dead]
        parts = [segment.ids[~segment.dead] for segment in state.segments]
        parts.append(np.array(tail, np.int64))
        return np.sort(np.concatenate(parts))

    def contains(self, ids: Iterable[int]) -> set[int]:
        """Select those of these ids whose rows are live: a search for each of them."""
        state = self._state
        unique = set(ids)
        array = np.array(sorted(unique), np.int64)
        present = unique.intersection(list(state.ids))
        for segment in state.segments:
            present.update(segment.ids[positions(segment.ids, array)].tolist())
        return present - self._dead

    def add(self, ids: Iterable[int], texts: Iterable[str]) -> None:
        """Add rows; they are found by every later search. Raises ValueError: ids that do not
        increase, or not as many as texts."""
        new = list(map(int, ids))
        rows = self._prepare(texts)
        if len(new) != len(rows):
            raise ValueError(f"{len(new)} ids for {len(rows)} texts")
        with self._lock:
            last = self._last
            for id in new:
                if id <= last:
                    raise ValueError(f"ids must increase: {id} after {last}")
                last = id
            self._state.rows.extend(rows)
            self._state.ids.extend(new)  # behind the rows: readers go by its length
            self._last = last

    def remove(self, ids: Iterable[int]) -> None:
        """Make rows unfindable; ids that are not there are ignored."""
        gone = np.unique(np.fromiter(ids, np.int64))
        with self._lock:
            state = self._state
            for segment in state.segments:
                self._dead.update(segment.mark_dead(gone).tolist())
            tail = np.array(state.ids, np.int64)
            self._dead.update(tail[positions(tail, gone)].tolist())

    def compact(self, *, purge: bool = False) -> bool:
        """Seal the tail into a segment; returns whether anything changed. Meant for a background
        thread. With `purge` no segment has a dead row afterwards."""
        is_stale = _has_dead if purge else _has_decayed
        with self._compacting:
            with self._lock:
                state = self._state
                count = len(state.ids)
                older = list(state.segments)
                merged: list[tuple[S, Mask]] = []
                size = count
                # Segments are merged from the newest on, so that their ids go on increasing.
                while older and (len(older[-1].ids) < _GROWTH * size or any(map(is_stale, older))):
                    segment = older.pop()
                    merged.insert(0, (segment, ~segment.dead))
                    size += len(segment.ids)
                if not size:
                    return False
                live = [row for row in range(count) if state.ids[row] not in self._dead]
                dropped = {id for id in state.ids[:count] if id in self._dead}
            for segment, alive in merged:
                dropped.update(segment.ids[~alive].tolist())
            # Without the lock: rows are added and removed meanwhile, and searches see them.
            ids = [state.ids[row] for row in live]
            rows = [state.rows[row] for row in live]
            sealed = self._seal(merged, ids, rows)
            with self._lock:
                # What died while the segment was being made is in it, and is marked there.
                self._dead -= dropped
                sealed.mark_dead(np.array(sorted(self._dead), np.int64))
                segments = (*older, sealed) if len(sealed.ids) else tuple(older)
                self._state = State(segments, state.ids[count:], state.rows[count:])
            return True

    def dump(self) -> bytes:
        """Compact, and make one blob, with a checksum, of every row added before the call and of
        none removed."""
        self.compact(purge=True)
        arrays: dict[str, Array] = {}
        with self._lock:
            segments = self._state.segments
            for number, segment in enumerate(segments):
                for name, array in segment.arrays.items():
                    arrays[f"{number}.{name}"] = array
                arrays[f"{number}.dead"] = segment.dead.copy()
        return pack(self.KIND, {"format": self.FORMAT, "segments": len(segments)}, arrays)

    @classmethod
    def load(cls, data: bytes) -> Self:
        """Restore the index as it was when this blob was dumped. Raises ValueError: the blob is
        damaged, or of another kind or format: build the index again."""
        fields, arrays = unpack(cls.KIND, data)
        if fields["format"] != cls.FORMAT:
            raise ValueError(f"format {fields['format']} of {cls.KIND}, expected {cls.FORMAT}")
        parts: list[dict[str, Array]] = [{} for _ in range(fields["segments"])]
        for qualified, array in arrays.items():
            number, _, name = qualified.partition(".")
            parts[int(number)][name] = array
        segments = tuple(map(cls.SEGMENT, parts))
        index = cls()
        index._state = State(segments, [], [])
        for segment in segments:
            if len(segment.ids):
                index._last = max(index._last, int(segment.ids.max()))
            index._dead.update(segment.ids[segment.dead].tolist())
        return index


def _has_dead(segment: Segment) -> bool:
    return segment.has_dead


def _has_decayed(segment: Segment) -> bool:
    return segment.has_dead and float(segment.dead.mean()) > _DEAD_SHARE
