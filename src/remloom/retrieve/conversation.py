"""The conversation a question belongs to: what was spoken of, latest first, and what its pronouns stand for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeAlias

from .. import labels
from ..errors import InvalidInputError
from ..model import Entity, Message
from ..store.contract import Store
from .pool import Pool
from .question import LONGEST, Named, names_in

__all__ = ["HALF_LIFE", "Conversation", "Said", "recency"]

Said: TypeAlias = Message | Mapping[str, Any] | str

HALF_LIFE = 30.0  # days after which a record's recency counts half
_FADES = 0.7  # what a turn's names count, of what the next turn's do
_TURNS = 12  # of the conversation that are looked at, latest first
_TEXTS = ("text", "content", "message")
_PERSON = re.compile(r"\b(?:he|him|his|she|her|hers)\b", re.IGNORECASE)
_WORD = re.compile(r"\s+\w")
_OWNS = "'s"
_THING = re.compile(  # "that" and "this" only where they stand for something, not in "that we met"
    r"\b(?:it|its|(?:that|this)(?: (?:project|one|company|place|product|topic|thing)\b|(?=\s*[?.!]*$)))\b",
    re.IGNORECASE,
)


class Conversation:
    """What was said before the question.

    Args:
        history: turns, oldest first: `Message`, or `{"role": …, "content": …}` with any role, or plain text.

    Raises:
        InvalidInputError: a turn that is none of these.
    """

    def __init__(self, store: Store, history: Sequence[Said]) -> None:
        self._store = store
        self._mentions: list[Named] = []  # latest first
        self.wanted: dict[str, float] = {}  # keys of what was spoken of: 1 for the last turn's, fading
        if isinstance(history, str | Mapping):
            raise InvalidInputError("a history is a list of turns", remedy='history=[{"role": "user", "content": "…"}]')
        for age, turn in enumerate(reversed(history)):
            text = _text(turn)
            if age < _TURNS:
                names = names_in(store, text[-LONGEST:])
                self._mentions += [*reversed(names)]
                for named in names:
                    self.wanted.setdefault(labels.key(named.record.name), _FADES**age)

    def __bool__(self) -> bool:
        return bool(self.wanted)

    def resolved(self, question: str) -> str:
        """The question with its pronoun replaced by what was last spoken of, unless it names something itself."""
        if not self._mentions or names_in(self._store, question):
            return question
        for pronoun, is_person in ((_PERSON, True), (_THING, False)):
            found = pronoun.search(question)
            meant = next((named for named in self._mentions if _is_person(named) == is_person), None)
            if found and meant:
                name = meant.record.name
                before, after = question[: found.start()], question[found.end() :]
                owns = found[0].lower() in ("his", "hers", "its") or bool(
                    found[0].lower() == "her" and _WORD.match(after)
                )
                return f"{before}{name}{_OWNS if owns else ''}{after}"
        return question


def recency(pool: Pool, now: datetime | None, weight: float) -> None:
    """Raise what is recent: by half as much for every `HALF_LIFE` days of age."""
    now = now or datetime.now(UTC)
    for candidate in pool.candidates.values():
        at = getattr(candidate.record, "starts_at", None) or candidate.record.created_at
        if at is not None:
            days = max(0.0, (now - at).total_seconds() / 86_400)
            pool.weigh(candidate, "recency", weight * 0.5 ** (days / HALF_LIFE), note=f"{days:.0f} days old")


def _is_person(named: Named) -> bool:
    return isinstance(named.record, Entity) and named.record.type == "person"


def _text(turn: Said) -> str:
    if isinstance(turn, str):
        return turn
    if isinstance(turn, Message):
        return turn.text
    if isinstance(turn, Mapping):
        text = next((turn[name] for name in _TEXTS if isinstance(turn.get(name), str)), None)
        if text is not None:
            return str(text)
    raise InvalidInputError(
        f"a turn of the history is no text: {str(turn)[:80]!r}", remedy='{"role": "user", "content": "…"}'
    )
