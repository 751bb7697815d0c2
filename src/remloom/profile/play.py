"""Play: what is said in a game that an earlier turn of the chat began may not be so.

Nothing says for sure that a game has begun, or is over. So what its speaker says in the next turns
after one that plays or supposes something, and does not ask, counts as a hint.
"""

from __future__ import annotations

from ..heads.head import head
from ..model import Resource
from ..model.records import SESSION_GAP
from ..predicates import Eq, Gte, Lt, Query
from ..store.contract import Store
from .passages import Passage

__all__ = ["Play"]

_LASTS = 8  # turns of its speaker after which it is over
_TURNS = 3 * _LASTS  # of everybody, in which those are looked for
_QUESTION = ("?", "？", "؟")
_PLAYED = 0.35  # probability from which on a turn plays
_MOST = 10_000  # turns whose decisions are kept


class Play:
    """Tells whether turns may be a part of a game."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._decided: dict[str, bool] = {}  # by id of the turn

    def has(self, passage: Passage) -> bool:
        """Whether its speaker played or supposed something shortly before, in its session."""
        record = passage.record
        if not record.uri or "speaker" not in record.metadata:
            return False
        near = (
            Query(Eq("uri", record.uri))
            .filter(Gte("ordinal", record.ordinal - _TURNS))
            .filter(Lt("ordinal", record.ordinal))
            .limit(_TURNS)
        )
        turns = [
            turn
            for turn in self._store.records.query("resources", near)
            if isinstance(turn, Resource)
            and not turn.generation
            and turn.metadata.get("speaker") == record.metadata["speaker"]
            and _is_of_session(turn, record)
        ]
        turns.sort(key=lambda turn: turn.ordinal)
        return any(map(self._begins, turns[-_LASTS:]))

    def _begins(self, turn: Resource) -> bool:
        if turn.id not in self._decided:
            if len(self._decided) >= _MOST:
                self._decided.clear()
            text = turn.content.rstrip()
            # "If I had a garden, which trees would fit?" asks, and plays nothing
            self._decided[turn.id] = (
                not text.endswith(_QUESTION)
                and head("statement").decide(text).probabilities["supposed"] >= _PLAYED
            )
        return self._decided[turn.id]


def _is_of_session(turn: Resource, last: Resource) -> bool:
    if turn.starts_at is None or last.starts_at is None:
        return True
    return last.starts_at - turn.starts_at < SESSION_GAP
