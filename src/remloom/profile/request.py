"""A request, as it is read for what may be given: whom it is about, who reads the answer, what harm
it may do, and in which form it asks.

What is of the user alone is given where a request asks for it in a form that is known: a question
about oneself, a choice, an example, small talk. A sign that others are told, or that harm is done,
closes that again; a sign that is missed opens nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from functools import cache, cached_property, lru_cache
from typing import Literal, TypeAlias

from ..text.analysis import STOP_WORDS, term_set
from .domains import domain_words, domains_of, without_material
from .purpose import Purpose
from .relaying import is_relayed
from .signs import (
    name_patterns,
    no_names,
    relation,
    relation_first,
    sign,
    subject,
    talk,
    with_somebody,
    words,
)

__all__ = ["Extent", "Request"]

# some: what it names; most: all but what is sensitive, "What do you know about me?"; all
Extent: TypeAlias = Literal["some", "most", "all"]
# the terms of a name
_Terms: TypeAlias = frozenset[str]

# in the order in which their signs are looked for
_HARMFUL: tuple[Purpose, ...] = ("security", "risk", "persuade")
# these say by their form that it is for the user
_OF_USER: tuple[Purpose, ...] = ("recommend", "planning")
_WORK: tuple[Purpose, ...] = ("coding", "tools")
_LONGEST = 4000  # characters that are looked at, from either end
_FOR_WHOM = 4  # words after "for" that may say so

_ASIDE = re.compile(r"\b(?:tell|show|give|help|remind|let|inform|teach|ask|make|get) (?:me|us)\b")
_OWN_NAMES = re.compile(
    r"\b(?:who (?:is|are|'s)|what(?: is|'s| are)? the names? of) my\b"
    r"|\bmy [\w-]+(?:'s|s')? names?\b"
    r"|\b(?:is|are|'s) my [\w-]+ called\b|\bdo i have\b|\bhave i got\b"
)
_SELF = re.compile(
    r"\b(?:i|i'm|i've|i'd|i'll|me|my|mine|myself|we|us|our|ours|ourselves|(?:the )?user(?:'s)?)\b"
)
_TOGETHER = re.compile(r"\b(?:we|us|and (?:me|i)|with me|me and|together)\b")
# "my hobbies, name them" speaks of nobody else
_ONE = re.compile(r"\b(?:he|she|him|her|his|hers|their|theirs)\b")
# as they are written in haste: "im", "whats"
_HASTY = re.compile(r"\b(i)(m|ve)\b|\b(what|where|who|when|how)(s)\b", re.IGNORECASE)
_WORDS = re.compile(r"\s+")
_SENTENCE = re.compile(r"[.!?;]+\s+")
# "according to your notes, where do I live"
_NOTES = (
    r"(?:(?:answer|say|tell me) )?(?:according to|from|in|per|going by|based on|check|see)"
    r" your (?:notes|records|memory|files|data)"
)
_BY_NOTES = re.compile(rf"^(?:(?:so|and|ok|hey),? )?{_NOTES}\W+(?=\w)|(?<=\w),? {_NOTES}(?=\W*$)")
# "what am I allergic to, need to fill in a form": why the user asks, and nothing to be written
_REASON = re.compile(
    r"(?:[,;.?!]+ | [-–—] | (?:because|since|as) )"
    r"(?:(?:because|since|as|so|it's|it is) )?(?:(?:i|we|i'm|we're) )?"
    r"(?:need (?:it|this|that|them|to)|have to|must|got to|filling|trying|for (?:an?|the|my|this)) "
    r"(?:(?!and |then )[\w'-]+ ?)+[.!]?$"
)
_ASKS_NAME = re.compile(
    r"\b(?:(?:his|her|their|the) (?:first |full )?names?|by (?:first )?name"
    r"|what(?:'s| is|'re| are) (?:he|she|they) called)\b"
)
_FOR_A = re.compile(r"\bfor (?:an?|the|my|our|this|that|some|his|her|their)\b")
_FOR = re.compile(rf"\bfor ((?:[\w'-]+ ?){{1,{_FOR_WHOM}}})")


class Request:
    """What an agent is asked.

    Args:
        people: names of other people that are known.
        known: words of what is known of the user, which are not names of people: "Python",
            "Berlin".
        own: of each slot in which something is known of the user, its names and values.
    """

    def __init__(
        self,
        query: str,
        *,
        people: Collection[str] = (),
        known: Collection[str] = (),
        own: Iterable[Collection[str]] = (),
    ) -> None:
        if len(query) > 2 * _LONGEST:
            query = f"{query[:_LONGEST]} {query[-_LONGEST:]}"
        query = _HASTY.sub(
            lambda found: "'".join(filter(None, found.groups())),
            without_material(query.replace("’", "'")),
        )
        self._text = _WORDS.sub(" ", query).strip()
        self._folded = _BY_NOTES.sub("", self._text.casefold())
        self._people = {name.casefold() for name in people}
        self._known = {name.casefold() for name in known}
        self._own = own

    @cached_property
    def purpose(self) -> Purpose:
        """What is to be given is for this.

        >>> Request("Write a letter to my landlord").purpose
        'letter'
        >>> Request("What should I cook tonight?").purpose
        'recommend'
        """
        if not self._text:
            return "general"
        if self._asks_for_no_more_than_is_known():
            return "chat"
        return self._restrained() or self._work() or self._wanted() or "general"

    @cached_property
    def is_personal(self) -> bool:
        """Whether it is for the user, and for nobody else."""
        # "What about my partner?" speaks of somebody, and is for the user
        if self.purpose == "chat":
            return True
        if self._involves_others() or not self._is_for_nobody_else():
            return False
        return self.purpose in _OF_USER or _SELF.search(self._without_others()) is not None

    @cached_property
    def extent(self) -> Extent:
        """How much of what is known is asked for."""
        text, count = sign("own", "everything").subn(" ", self._folded)
        # "what is in my profile about health" names something
        if not count or not term_set(text) <= _asking():
            return "some"
        return "all" if self._says("own", "all") else "most"

    @cached_property
    def to_name(self) -> str:
        """Who stands to the user in a relation, and is asked to be called by their name.

        >>> Request("Draft a message to my sister, use her name").to_name
        'sister'
        """
        asks = _ASKS_NAME.search(self._folded)
        if not asks:
            return ""
        named = [found["who"] for found in relation().finditer(self._folded, 0, asks.start())]
        return named[-1] if named else ""

    def _restrained(self) -> Purpose | None:
        """The purpose that closes what is of the user, if there are signs of one."""
        if self._is_letter() or is_relayed(self._without_asides, self._own_terms):
            return "letter"
        if self._is_of_somebody_else():
            return "somebody_else"
        return next((purpose for purpose in _HARMFUL if self._says(purpose)), None)

    def _work(self) -> Purpose | None:
        return next((purpose for purpose in _WORK if self._says(purpose)), None)

    def _wanted(self) -> Purpose | None:
        """What is asked for, in a form that gives what is of the user."""
        if self._involves_others():
            return "somebody_else"
        # "What do vegans eat?" is of the world
        if subject().search(self._folded):
            return None
        is_for_user = self._is_for_nobody_else()
        if is_for_user and self._is_wish():
            return "recommend"
        if self._is_question_of_own():
            return "chat"
        if self._is_example() and (is_for_user or not _FOR_A.search(self._folded)):
            return "example"
        if self._is_talk():
            return "chat"
        return "planning" if self._says("planning") else None

    # -- about what is known of the user -----------------------------------------------------------

    @cached_property
    def _without_asides(self) -> str:
        return _ASIDE.sub(" ", self._folded)

    @property
    def _own_terms(self) -> _Terms:
        return frozenset().union(*(_terms_of(name) for names in self._own for name in names))

    def _asks_for_no_more_than_is_known(self) -> bool:
        """Whether nothing stands in it but the name of what is known of the user, or its value:
        "What about my kids?". Whatever words that name has, it is a question about oneself.
        """
        text = self._without_asides
        if self._addresses_somebody(text):
            return False
        asked = term_set(text)
        rest = asked - _asking()
        for names in self._own:
            said = [name for name in names if _terms_of(name) and _terms_of(name) <= asked]
            if said and rest <= frozenset().union(*map(_terms_of, said)):
                # "food they like" is of the user
                return not _pronoun_besides(text, said)
        return self._is_of_one_domain(rest) and not _pronoun_besides(text, ())

    def _is_of_one_domain(self, rest: set[str]) -> bool:
        """Whether the user is named, and all other words are of one domain: "my meds"."""
        if not rest or not _SELF.search(self._without_asides):
            return False
        for name in domains_of(self._folded):
            said = " ".join(domain_words(name).findall(self._folded))
            if rest <= term_set(said):
                return True
        return False

    def _is_question_of_own(self) -> bool:
        if self.extent != "some" or _OWN_NAMES.search(self._folded):
            return True
        return self._says("own", "questions")

    # -- who reads the answer ----------------------------------------------------------------------

    def _is_letter(self) -> bool:
        text = sign("letter", "technical").sub(" ", self._folded)
        if self._is_question_of_own():
            text = _REASON.sub("", text)
        if sign("letter", "shapes").search(text):
            return True
        verb = sign("letter", "verbs").search(text)
        if verb and sign("letter", "documents").search(text, verb.end()):
            return True
        return self._addresses_somebody(text)

    def _addresses_somebody(self, text: str) -> bool:
        """Whether it says to tell something to somebody."""
        for match in sign("letter", "addressing").finditer(text):
            after = text[match.end() :].lstrip()
            if sign("letter", "addressees").match(after) or relation_first().match(after):
                return True
            name = re.search(rf"\b{re.escape(after.split(' ', 1)[0])}", self._text, re.IGNORECASE)
            if after and name and self._is_name(name[0]):
                return True
        return False

    # -- whom it is about --------------------------------------------------------------------------

    def _is_of_somebody_else(self) -> bool:
        """Whether it asks about somebody else, or what to give them."""
        if not self._involves_others():
            return False
        return not self._is_of_user() or self._says("somebody_else", "gifts")

    def _involves_others(self) -> bool:
        """Whether it speaks of others who do not do it together with the user."""
        return (
            self._mentions_somebody
            and not self._is_together()
            and not _OWN_NAMES.search(self._folded)
        )

    def _is_of_user(self) -> bool:
        return _SELF.search(self._without_others()) is not None

    def _without_others(self) -> str:
        # "my brother" is the brother
        return relation().sub(" ", self._without_asides)

    def _is_together(self) -> bool:
        text = self._without_asides
        return _TOGETHER.search(text) is not None or with_somebody().search(text) is not None

    @cached_property
    def _mentions_somebody(self) -> bool:
        folded = sign("somebody_else", "technical").sub(" ", self._folded)
        if any(sign("somebody_else", name).search(folded) for name in ("somebody", "pronouns")):
            return True
        if relation().search(folded):
            return True
        return any(self._is_name(name) for name in self._named()) or any(
            re.search(rf"\b{re.escape(name)}\b", folded) for name in self._people
        )

    def _named(self) -> Iterator[str]:
        """What stands where a person's name would."""
        for pattern in name_patterns():
            for match in pattern.finditer(self._text):
                yield match["name"]

    def _is_name(self, word: str) -> bool:
        name = re.sub(r"(?:'s|')?[^\w]*$", "", word)
        folded = name.casefold()
        if not name or not name[0].isupper() or folded in STOP_WORDS or folded in no_names():
            return False
        return folded not in self._known

    # -- in which form it asks ---------------------------------------------------------------------

    def _is_wish(self) -> bool:
        """Whether a choice for the user is asked for."""
        if self._says("wish", "forms") or self._is_bare_wish():
            return True
        verb = sign("wish", "verbs").search(self._folded)
        return verb is not None and self._says("wish", "pleasures", verb.end())

    def _is_bare_wish(self) -> bool:
        """Whether it has nothing but what is for pleasure, and when: "Dinner tonight?"."""
        text, count = sign("wish", "pleasures").subn(" ", self._folded)
        return bool(count) and not term_set(sign("wish", "occasions").sub(" ", text))

    def _is_for_nobody_else(self) -> bool:
        """Whether all that it is for are times and occasions, or the user."""
        for match in _FOR.finditer(self._folded):
            whom = match[1]
            occasion = any(sign("wish", name).search(whom) for name in ("occasions", "pleasures"))
            if not occasion and self._known.isdisjoint(whom.split()):
                return False
        return True

    def _is_example(self) -> bool:
        """Whether an example is asked for that the user knows from themselves."""
        return self._says("example") and self._is_of_user()

    def _is_talk(self) -> bool:
        """Whether each sentence is a statement of the user on themselves, or a greeting."""
        sentences = [one for one in _SENTENCE.split(self._folded) if one]
        return all(talk().match(one) for one in sentences)

    def _says(self, kind: str, name: str = "words", start: int = 0) -> bool:
        return sign(kind, name).search(self._folded, start) is not None


def _pronoun_besides(text: str, names: Iterable[str]) -> bool:
    """Whether somebody else is spoken of, but within these names."""
    for name in names:
        text = text.replace(name.casefold(), " ")
    return _ONE.search(text) is not None


@lru_cache(maxsize=16_384)
def _terms_of(name: str) -> _Terms:
    return frozenset(term_set(name))


@cache
def _asking() -> _Terms:
    return frozenset(term_set(" ".join(words("own", "asking"))))
