"""The sessions of chats in which something was found, each with all of its turns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from heapq import nlargest
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from msgspec import Struct

from ...heads.differences import content_words
from ...model import Moment, Resource
from ...model.supersession import is_hidden
from ...predicates import And, In, Predicate, Query
from ...store.contract import Store
from ..candidates import Candidates
from ..scores import rows_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.floating[Any]]

_MOST = 24  # sessions that are looked through
_MOST_TURNS = 400  # of them all
_AT_ONCE = 500  # turns that are got by one query
_SESSION = "conversation"  # type of a moment


class ChatSession(Struct, frozen=True, eq=False):
    """A session of a chat. What was read or written outside of chats is one by itself: a note
    alone, of a document what was found."""

    id: str  # of its moment; outside of chats, of its first text
    name: str
    turns: Sequence[Resource]  # in order
    gains: Floats  # what the search says for each turn; 0 where it did not find it
    rows: Floats  # the vector of each turn: shape (turns, dims)
    likeness: Floats  # cosine of each turn to the question
    sentences: Floats  # that of its best sentence
    terms: Sequence[frozenset[str]]  # what each turn is about

    @property
    def uri(self) -> str:
        return self.turns[0].uri

    @property
    def starts_at(self) -> datetime | None:
        return min((one.starts_at for one in self.turns if one.starts_at), default=None)

    @property
    def ends_at(self) -> datetime | None:
        return max((one.starts_at for one in self.turns if one.starts_at), default=None)

    @property
    def centre(self) -> Floats:
        """The direction of all turns together; zeros without vectors."""
        centre: Floats = self.rows.sum(axis=0)
        return centre / max(float(np.linalg.norm(centre)), 1e-6)

    def counts(self) -> Counter[str]:
        """In how many turns each term is."""
        return Counter(term for some in self.terms for term in some)

    def is_before(self, other: ChatSession) -> bool:
        """Whether it ended before the other began; of what has no times nobody knows."""
        ends, starts = self.ends_at, other.starts_at
        return ends is not None and starts is not None and ends < starts


class _Found(NamedTuple):
    """A session as it is known before its turns are read."""

    id: str
    name: str
    ids: Sequence[str]


class ChatSessions:
    """Reads sessions; each once.

    Args:
        vector: of the question; None: there is no embedder.
        where: what holds for each turn.
    """

    def __init__(
        self, store: Store, vector: Sequence[float] | None, where: Predicate | None
    ) -> None:
        self._store = store
        self._vector = None if vector is None else np.asarray(vector, np.float32)
        self._where = where
        self._known: dict[str, ChatSession] = {}

    def of(
        self,
        gains: Mapping[str, float],
        most: int = _MOST,
        *,
        known: Candidates | None = None,
    ) -> list[ChatSession]:
        """The sessions of these texts, by id: those with the highest sums first.

        Args:
            known: where their records are.
        """
        if known is None:
            records = self._read(gains)
        else:
            found_before = (known[id].record for id in gains)
            records = {one.id: one for one in found_before if isinstance(one, Resource)}
        found: list[_Found] = []
        for one in nlargest(
            most, self._among(records), key=lambda one: sum(gains.get(id, 0.0) for id in one.ids)
        ):
            found.append(one)
            if sum(len(some.ids) for some in found) > _MOST_TURNS:
                break
        self._load([one for one in found if one.id not in self._known], records, gains)
        return [self._known[one.id] for one in found if one.id in self._known]

    def _among(self, records: Mapping[str, Resource]) -> list[_Found]:
        """The sessions of these records."""
        parts: dict[tuple[str, str], list[Moment]] = {}
        for moment in self._store.records.referring([*records]):
            if moment.type == _SESSION:
                key = str(moment.metadata.get("uri", "")), str(moment.metadata.get("session", ""))
                parts.setdefault(key if any(key) else (moment.id, ""), []).append(moment)
        found = []
        for some in parts.values():
            some.sort(key=lambda moment: int(moment.metadata.get("part", 1)))
            ids = list(dict.fromkeys(id for moment in some for id in moment.resource_refs))
            found.append(_Found(some[0].id, some[0].name, ids))
        told = {id for one in found for id in one.ids}
        others: dict[str, list[Resource]] = {}
        for record in records.values():
            if record.id not in told and not record.generation:
                others.setdefault(record.uri or record.id, []).append(record)
        for texts in others.values():
            texts.sort(key=lambda text: text.ordinal)
            found.append(_Found(texts[0].id, texts[0].name, [text.id for text in texts]))
        return found

    def _load(
        self, some: Sequence[_Found], known: Mapping[str, Resource], gains: Mapping[str, float]
    ) -> None:
        ids = dict.fromkeys(id for one in some for id in one.ids)
        turns = {id: known[id] for id in ids if id in known}
        turns |= self._read(id for id in ids if id not in turns)
        rows, sentences = self._vectors(list(turns))
        places = {id: place for place, id in enumerate(turns)}
        for one in some:
            kept = [turns[id] for id in one.ids if id in turns]
            if not kept:
                continue
            numbers = [places[turn.id] for turn in kept]
            self._known[one.id] = ChatSession(
                id=one.id,
                name=one.name,
                turns=kept,
                gains=np.array([gains.get(turn.id, 0.0) for turn in kept], np.float32),
                rows=rows[numbers],
                likeness=rows[numbers] @ self._asked,
                sentences=sentences[numbers],
                terms=[frozenset(content_words(turn.content)) for turn in kept],
            )

    @property
    def _asked(self) -> Floats:
        return np.zeros(1, np.float32) if self._vector is None else self._vector

    def _vectors(self, ids: Sequence[str]) -> tuple[Floats, Floats]:
        """The vector of each text, and the cosine of its best sentence to the question."""
        dims = len(self._asked)
        rows = np.zeros((len(ids), dims), np.float32)
        sentences = np.zeros(len(ids), np.float32)
        windows = self._store.vectors.of(ids) if self._vector is not None else {}
        having = [number for number, id in enumerate(ids) if windows.get(id)]
        if having:
            of_each = [windows[ids[number]] for number in having]
            vectors = rows_of([window for some in of_each for window in some], dims)
            starts = np.cumsum([0, *map(len, of_each[:-1])])
            # the first window is the whole text
            rows[having] = vectors[starts]
            sentences[having] = np.maximum.reduceat(vectors @ self._asked, starts)
        return rows, sentences

    def _read(self, ids: Iterable[str]) -> dict[str, Resource]:
        """Get texts by their ids, without those that are no more, were replaced, or are not
        asked for."""
        wanted = list(ids)
        found: dict[str, Resource] = {}
        for first in range(0, len(wanted), _AT_ONCE):
            among: Predicate = In("id", wanted[first : first + _AT_ONCE])
            if self._where is not None:
                among = And((among, self._where))
            for record in self._store.records.query("resources", Query().filter(among)):
                if isinstance(record, Resource) and not is_hidden(record):
                    found[record.id] = record
        return found


def gains_of(candidates: Candidates) -> dict[str, float]:
    """What the search says for each text, from 0."""
    scores = {
        one.record.id: one.score
        for one in candidates
        if isinstance(one.record, Resource) and not is_hidden(one.record)
    }
    lowest = min(scores.values(), default=0.0)
    return {id: score - lowest for id, score in scores.items()}
