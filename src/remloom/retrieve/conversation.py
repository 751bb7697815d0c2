"""The conversation a question belongs to: its topics, and what pronouns stand for in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from .. import labels
from ..errors import InvalidInputError
from ..model import Entity, Message
from ..predicates import LONGEST_QUESTION
from ..store.contract import Store
from ..text.analysis import term_set
from .names import NamedRecord, names_in

Utterance: TypeAlias = Message | Mapping[str, Any] | str

_FADES = 0.7  # what a turn's names count, of what the next turn's do
_TURNS = 12  # of the conversation that are looked at, latest first
_EXCHANGE = 2  # turns that a question is about which says nothing by itself
_EXCERPT = 500  # characters of each of them
_TEXT_FIELDS = ("text", "content", "message")
_GROUPS = ("organization", "company", "team", "group")
_PERSON = re.compile(r"\b(?:he|him|his|she|her|hers)\b", re.IGNORECASE)
_PEOPLE = re.compile(r"\b(?:they|them|their|theirs)\b", re.IGNORECASE)
_PLACE = re.compile(
    r"(?<!is )(?<!are )(?<!was )(?<!were )\bthere\b(?! (?:is|are|was|were|any)\b)", re.IGNORECASE
)
# "that" and "this" only where they stand for something, not in "that we met"
_THING = re.compile(
    r"\b(?:it|its|(?:that|this)"
    r"(?: (?:project|one|company|place|product|topic|thing)\b|(?=\s*[?.!]*$)))\b",
    re.IGNORECASE,
)
_NEXT_WORD = re.compile(r"\s+\w")
_POSSESSIVES = frozenset(("his", "hers", "its", "their", "theirs"))
# words of a question that asks for nothing by itself
_ASKS_NOTHING = (
    "tell more go on continue explain elaborate detail say thing please happen know why how also"
)


class History:
    """What was said before the question.

    Args:
        history: turns, oldest first: `Message`, or `{"role": …, "content": …}` with any role, or
            plain text.

    Attributes:
        topics: keys of what was spoken of: 1 for those of the last turn, less for earlier ones.

    Raises:
        InvalidInputError: a turn that is none of these.
    """

    def __init__(self, store: Store, history: Sequence[Utterance]) -> None:
        self.topics: dict[str, float] = {}
        self._mentions: list[NamedRecord] = []  # latest first
        self._exchange: list[str] = []  # the last turns, oldest first
        if isinstance(history, str | Mapping):
            raise InvalidInputError(
                "a history is a list of turns", remedy='history=[{"role": "user", "content": "…"}]'
            )
        for age, turn in enumerate(reversed(history)):
            text = _text(turn)
            if age < _EXCHANGE:
                self._exchange.insert(0, text[:_EXCERPT])
            if age < _TURNS:
                names = names_in(store, text[-LONGEST_QUESTION:])
                self._mentions += reversed(names)
                for named in names:
                    self.topics.setdefault(labels.key(named.record.name), _FADES**age)

    def __bool__(self) -> bool:
        return bool(self._exchange)

    def resolved(self, question: str, names: Sequence[NamedRecord]) -> str:
        """The question as it is to be searched.

        Its pronoun is replaced by what was last spoken of, unless it names something itself; what
        was just said is added if the question says nothing without it.
        """
        if not self or names:
            return question
        for pronoun, referent in self._referents():
            match = pronoun.search(question)
            if match and referent:
                return _replaced(question, match, referent)
        if term_set(question) - term_set(_ASKS_NOTHING):
            return question
        return f"{question} {' '.join(self._exchange)}".strip()[:LONGEST_QUESTION]

    def _referents(self) -> Iterator[tuple[re.Pattern[str], str]]:
        """Each kind of pronoun with the latest mention that fits, or an empty string."""
        mentioned = [
            (record.name, record.type if isinstance(record, Entity) else "")
            for record in (named.record for named in self._mentions)
        ]
        people = list(dict.fromkeys(name for name, type in mentioned if type == "person"))
        groups = [name for name, type in mentioned if type in _GROUPS]
        places = [name for name, type in mentioned if type == "place"]
        things = [name for name, type in mentioned if type != "person"]
        couple = " and ".join(reversed(people[:2])) if len(people) > 1 else ""
        yield _PERSON, next(iter(people), "")
        yield _PEOPLE, next(iter(groups), "") or couple
        yield _PLACE, next(iter(places), "")
        yield _THING, next(iter(things), "")


def _replaced(question: str, pronoun: re.Match[str], referent: str) -> str:
    before, after = question[: pronoun.start()], question[pronoun.end() :]
    word = pronoun[0].lower()
    if pronoun.re is _PLACE:
        referent = f"in {referent}"
    # "her" owns what follows it: "her plan", but not "about her"
    if word in _POSSESSIVES or (word == "her" and _NEXT_WORD.match(after)):
        referent = f"{referent}'s"
    return f"{before}{referent}{after}"


def _text(turn: Utterance) -> str:
    if isinstance(turn, str):
        return turn
    if isinstance(turn, Message):
        return turn.text
    if isinstance(turn, Mapping):
        for name in _TEXT_FIELDS:
            if isinstance(turn.get(name), str):
                return str(turn[name])
    raise InvalidInputError(
        f"a turn of the history is not a text: {str(turn)[:80]!r}",
        remedy='{"role": "user", "content": "…"}',
    )
