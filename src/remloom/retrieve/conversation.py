"""The conversation a question belongs to: what was spoken of, latest first, and what its pronouns
stand for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeAlias

from .. import labels
from ..errors import InvalidInputError
from ..model import Entity, Message
from ..store.contract import Store
from ..text.analysis import term_set
from .candidates import Pool
from .question import LONGEST, Named, names_in

__all__ = ["HALF_LIFE", "Conversation", "Said", "recency"]

Said: TypeAlias = Message | Mapping[str, Any] | str

HALF_LIFE = 30.0  # days after which a record's recency counts half
_FADES = 0.7  # what a turn's names count, of what the next turn's do
_TURNS = 12  # of the conversation that are looked at, latest first
_EXCHANGE = 2  # turns that a question is about which says nothing by itself
_SAID = 500  # characters of each of them
_TEXTS = ("text", "content", "message")
_GROUPS = ("organization", "company", "team", "group")
_PERSON = re.compile(r"\b(?:he|him|his|she|her|hers)\b", re.IGNORECASE)
_PEOPLE = re.compile(r"\b(?:they|them|their|theirs)\b", re.IGNORECASE)
_PLACE = re.compile(
    r"(?<!is )(?<!are )(?<!was )(?<!were )\bthere\b(?! (?:is|are|was|were|any)\b)", re.IGNORECASE
)
_WORD = re.compile(r"\s+\w")
_OWNING = frozenset(("his", "hers", "its", "their", "theirs"))
_OWNS = "'s"
_THING = re.compile(  # "that" and "this" only where they stand for something, not in "that we met"
    r"\b(?:it|its|(?:that|this)(?: (?:project|one|company|place|product|topic|thing)\b|(?=\s*[?.!]*$)))\b",
    re.IGNORECASE,
)
_EMPTY = (
    # asks for nothing
    "tell more go on continue explain elaborate detail say thing please happen know why how also"
)


class Conversation:
    """What was said before the question.

    Args:
        history: turns, oldest first: `Message`, or `{"role": …, "content": …}` with any role, or
            plain text.

    Raises:
        InvalidInputError: a turn that is none of these.
    """

    def __init__(self, store: Store, history: Sequence[Said]) -> None:
        self._store = store
        self._mentions: list[Named] = []  # latest first
        self._said: list[str] = []  # the last exchange, oldest first
        # keys of what was spoken of: 1 for the last turn's, fading
        self.wanted: dict[str, float] = {}
        if isinstance(history, str | Mapping):
            raise InvalidInputError(
                "a history is a list of turns", remedy='history=[{"role": "user", "content": "…"}]'
            )
        for age, turn in enumerate(reversed(history)):
            text = _text(turn)
            if age < _EXCHANGE:
                self._said.insert(0, text[:_SAID])
            if age < _TURNS:
                names = names_in(store, text[-LONGEST:])
                self._mentions += [*reversed(names)]
                for named in names:
                    self.wanted.setdefault(labels.key(named.record.name), _FADES**age)

    def __bool__(self) -> bool:
        return bool(self._said)

    def resolved(self, question: str) -> str:
        """The question as it is to be searched: its pronoun replaced by what was last spoken of,
        unless it names something itself; and what was just said, if the question says nothing
        without it."""
        if not self or names_in(self._store, question):
            return question
        for pronoun, meant in self._referents():
            found = pronoun.search(question)
            if found and meant:
                before, after = question[: found.start()], question[found.end() :]
                word = found[0].lower()
                owns = word in _OWNING or (word == "her" and bool(_WORD.match(after)))
                name = f"in {meant}" if pronoun is _PLACE else meant
                return f"{before}{name}{_OWNS if owns else ''}{after}"
        if term_set(question) - term_set(_EMPTY):
            return question
        return f"{question} {' '.join(self._said)}".strip()[:LONGEST]

    def _referents(self) -> Iterator[tuple[re.Pattern[str], str]]:
        """What each kind of pronoun stands for: the latest mention that fits, or an empty string."""
        people = list(
            dict.fromkeys(named.record.name for named in self._mentions if _type(named) == "person")
        )
        groups = [named.record.name for named in self._mentions if _type(named) in _GROUPS]
        places = [named.record.name for named in self._mentions if _type(named) == "place"]
        things = [named.record.name for named in self._mentions if _type(named) != "person"]
        yield _PERSON, next(iter(people), "")
        yield (
            _PEOPLE,
            next(iter(groups), "")
            or (" and ".join(reversed(people[:2])) if len(people) > 1 else ""),
        )
        yield _PLACE, next(iter(places), "")
        yield _THING, next(iter(things), "")


def recency(pool: Pool, now: datetime | None, weight: float, half_life: float = HALF_LIFE) -> None:
    """Raise what is recent: by half as much for every `half_life` days of age."""
    now = now or datetime.now(UTC)
    for candidate in pool.candidates.values():
        at = getattr(candidate.record, "starts_at", None) or candidate.record.created_at
        if at is not None:
            days = max(0.0, (now - at).total_seconds() / 86_400)
            pool.weigh(
                candidate,
                "recency",
                weight * 0.5 ** (days / half_life),
                note=f"{days:.0f} days old",
            )


def _type(named: Named) -> str:
    return named.record.type if isinstance(named.record, Entity) else ""


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
        f"a turn of the history is no text: {str(turn)[:80]!r}",
        remedy='{"role": "user", "content": "…"}',
    )
