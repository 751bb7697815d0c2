"""The purpose that a context is for: it decides what may be in it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import cache
from importlib.resources import files
from typing import Any, Literal, TypeAlias, get_args

import msgspec

from ..errors import UnknownNameError

__all__ = ["PURPOSES", "Purpose", "asks_for_everything", "purpose_of", "purpose_of_agent"]

Purpose: TypeAlias = Literal[
    # where soft identity may be used, unless the user says otherwise
    "chat",
    "recommend",
    "example",
    # work
    "general",
    "coding",
    "tools",
    "planning",
    "research",
    "formatting",
    "reasoning",
    "clarification",
    # what may do harm: security, and what cannot be undone
    "security",
    "risk",
    # moving the user to do something
    "persuade",
    # what other people read, and what is about them
    "letter",
    "somebody_else",
]
PURPOSES: tuple[Purpose, ...] = get_args(Purpose)
_BY_NAME: dict[str, Purpose] = {name: name for name in PURPOSES}
# in the order in which a query is asked for their signs
_HARMFUL: tuple[Purpose, ...] = ("security", "risk", "persuade")
_LIKELY: tuple[Purpose, ...] = ("recommend", "example", "chat", "planning")

# purposes of the agents that seed 4 is for; any other's is told from its query
_AGENTS: dict[str, Purpose] = {
    "planner": "planning",
    "coder": "coding",
    "distiller": "coding",
    "formatter": "formatting",
    "retriever": "research",
    "thinker": "reasoning",
    "clarification": "clarification",
}
# what restrains whichever agent asks
_RESTRAINED: frozenset[Purpose] = frozenset(("letter", "somebody_else", *_HARMFUL))
_LONGEST = 4000  # characters of a query that are looked at, from either end

_ASIDE = re.compile(r"\b(?:tell|show|give|help|remind|let|inform|teach|ask) (?:me|us)\b")
_OWN_NAMES = re.compile(
    r"\b(?:who (?:is|are|'s)|what(?: is|'s| are)? the names? of) my\b"
    r"|\bmy [\w-]+(?:'s|s')? names?\b"
    r"|\b(?:is|are) my [\w-]+ called\b|\bdo i have\b"
)
_SELF = re.compile(
    r"\b(?:i|i'm|i've|i'd|i'll|me|my|mine|myself|we|us|our|ours|ourselves|(?:the )?user(?:'s)?)\b"
)
_TOGETHER = re.compile(r"\b(?:we|us|our|and (?:me|i)|with me|me and|together)\b")
# a capital within a sentence begins a name
_NAME = r"(?<!\w)[^\W\d_a-z][\w'’-]{0,40}"
_WORDS = re.compile(r"\s+")


def purpose_of(
    query: str,
    *,
    agent: str = "",
    purpose: str = "",
    people: Collection[str] = (),
    known: Collection[str] = (),
) -> Purpose:
    """Return the purpose of a context: the one given; else what the query and the agent tell.

    What restrains goes first, whoever asks: a letter of a coding agent is a letter.

    Args:
        people: names of other people that are known.
        known: names in what is known of the user, which are not of people: "Python", "Berlin".

    Raises:
        UnknownNameError: there is no such purpose.

    >>> purpose_of("Write a letter to my landlord"), purpose_of("What should I cook tonight?")
    ('letter', 'recommend')
    """
    if purpose:
        if purpose not in _BY_NAME:
            raise UnknownNameError("purpose", purpose, PURPOSES)
        return _BY_NAME[purpose]
    told = _Query(query, people, known).purpose() if query.strip() else "general"
    of_agent = purpose_of_agent(agent)
    return told if of_agent is None or told in _RESTRAINED else of_agent


def purpose_of_agent(agent: str) -> Purpose | None:
    """Return the purpose of an agent by its name; None of one that may do anything.

    >>> purpose_of_agent("CoderAgent"), purpose_of_agent("writer")
    ('coding', None)
    """
    name = re.sub(r"[\W_]", "", agent).casefold()
    return _AGENTS.get(name.removesuffix("agent"))


def asks_for_everything(query: str) -> bool:
    """Whether a query asks for all that is known: "What do you know about me?"."""
    return _cue("chat", "everything").search(_folded(query)) is not None


class _Query:
    """A query, and the signs in it."""

    def __init__(self, query: str, people: Collection[str], known: Collection[str]) -> None:
        if len(query) > 2 * _LONGEST:
            query = f"{query[:_LONGEST]} {query[-_LONGEST:]}"
        self._text = _WORDS.sub(" ", query.replace("’", "'"))
        self._folded = self._text.casefold()
        self._people = {name.casefold() for name in people}
        self._known = {name.casefold() for name in known}

    def purpose(self) -> Purpose:
        if self._is_letter():
            return "letter"
        if self._is_of_somebody_else():
            return "somebody_else"
        for purpose in _HARMFUL:
            if self._says(purpose):
                return purpose
        if self._is_for_somebody_else():
            return "planning"
        is_work = self._says("coding") or self._says("tools")
        if is_work:
            return "coding" if self._says("coding") else "tools"
        for purpose in _LIKELY:
            if self._says(purpose):
                return purpose
        return "general"

    def _says(self, kind: str) -> bool:
        return _cue(kind, "words").search(self._folded) is not None

    def _is_letter(self) -> bool:
        text = _cue("letter", "technical").sub(" ", self._folded)
        if _cue("letter", "shapes").search(text):
            return True
        verb = _cue("letter", "verbs").search(text)
        if verb and _cue("letter", "documents").search(text, verb.end()):
            return True
        return self._addresses_somebody(text)

    def _addresses_somebody(self, text: str) -> bool:
        """Whether it says to tell something to somebody."""
        for match in _cue("letter", "addressing").finditer(text):
            after = text[match.end() :].lstrip()
            if _cue("letter", "addressees").match(after) or _relation_first().match(after):
                return True
            name = re.search(rf"\b{re.escape(after.split(' ', 1)[0])}", self._text, re.IGNORECASE)
            if after and name and self._is_name(name[0]):
                return True
        return False

    def _is_of_somebody_else(self) -> bool:
        """Whether it asks about somebody else, or what to give them."""
        if _OWN_NAMES.search(self._folded) or not self._mentions_somebody():
            return False
        if not self._is_of_user():
            return True
        is_gift = _cue("somebody_else", "gifts").search(self._folded) is not None
        return is_gift and not _TOGETHER.search(self._folded)

    def _is_for_somebody_else(self) -> bool:
        """Whether the user asks what to do for somebody, and is not with them."""
        if _OWN_NAMES.search(self._folded) or _TOGETHER.search(self._folded):
            return False
        return self._mentions_somebody()

    def _is_of_user(self) -> bool:
        text = _ASIDE.sub(" ", self._folded)
        # "my brother" is the brother
        text = _relation().sub(" ", text)
        return _SELF.search(text) is not None

    def _mentions_somebody(self) -> bool:
        folded = self._folded
        if _relation().search(folded) or _cue("somebody_else", "somebody").search(folded):
            return True
        if _cue("somebody_else", "pronouns").search(folded):
            return True
        return any(self._is_name(name) for name in self._named()) or any(
            re.search(rf"\b{re.escape(name)}\b", folded) for name in self._people
        )

    def _named(self) -> Iterable[str]:
        """What stands where a person's name would."""
        for pattern in _name_patterns():
            for match in pattern.finditer(self._text):
                yield match["name"]

    def _is_name(self, word: str) -> bool:
        name = re.sub(r"(?:'s|')?[^\w]*$", "", word)
        if not name or not name[0].isupper() or name.casefold() in _no_names():
            return False
        return name.casefold() not in self._known


def _folded(query: str) -> str:
    return _WORDS.sub(" ", query[: 2 * _LONGEST].replace("’", "'")).casefold()


@cache
def _no_names() -> frozenset[str]:
    """What has a capital and is no name: what begins sentences, days, languages."""
    return frozenset(_data()["somebody_else"]["no_names"])


@cache
def _relation() -> re.Pattern[str]:
    """ "my brother", "our boss's": who stands for themselves."""
    relations = "|".join(_data()["somebody_else"]["relations"])
    return re.compile(rf"\b(?:my|our|the user's) (?:[\w-]+ )?(?:{relations})(?:'s|s')?(?!\w)")


@cache
def _relation_first() -> re.Pattern[str]:
    relations = "|".join(_data()["somebody_else"]["relations"])
    return re.compile(rf"(?:(?:my|our|the|a) )?(?:[\w-]+ )?(?:{relations})(?!\w)")


@cache
def _name_patterns() -> tuple[re.Pattern[str], ...]:
    acts = "|".join(_data()["somebody_else"]["acts"])
    asks = r"(?i:does|did|is|was|has|would|could|can|will|should|do|are)"
    return (
        re.compile(rf"\b{asks} (?P<name>{_NAME})(?: {_NAME})? (?i:{acts})\b"),
        re.compile(rf"(?P<name>{_NAME})(?: {_NAME})? (?i:{acts})\b"),
        re.compile(
            r"(?i:who|how|how old|how tall|where|when) (?i:is|was|are|does|did|has) "
            rf"(?P<name>{_NAME})(?: {_NAME})?(?=\W*$)"
        ),
        re.compile(rf"(?P<name>{_NAME})(?<=['’]s)(?!\w)"),
        re.compile(rf"\b(?i:about|of|for|to|with|and|know) (?P<name>{_NAME})"),
    )


@cache
def _cue(kind: str, name: str) -> re.Pattern[str]:
    """The pattern of the words that tell something."""
    words = "|".join(_data()[kind][name])
    return re.compile(rf"(?<![\w-])(?:{words})(?![\w])")


@cache
def _data() -> dict[str, Any]:
    text = files(__package__).joinpath("purposes.toml").read_text("utf-8")
    data: dict[str, Any] = msgspec.toml.decode(text)
    return data
