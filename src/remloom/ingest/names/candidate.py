"""A candidate for a name, and the rules that decide whether it is one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from .kinds import ACRONYM, MIXED_CASE, ROMAN, has_common_word, has_connector, is_head
from .word_lists import ENGLISH, split_words

__all__ = ["Candidate", "is_name"]

_PREFIXES = split_words("Anglo Sino Franco Russo Afro Euro Indo Anti Pro Non Pre Post")
_INFLECTED = re.compile(r"(?:ing|ly|ed)$")


class Candidate:
    """What may be a name, with what a document says of it.

    Args:
        lower: how often the document writes each word small.
    """

    def __init__(self, name: str, lower: Mapping[str, int]) -> None:
        self.name = name
        self.type = ""
        self.aliases: dict[str, None] = {}
        self.spans: list[tuple[int, int]] = []
        self.inside = 0  # mentions that do not begin a sentence
        self.titled = 0  # mentions after a person's title
        self.located = 0  # mentions after "in", "at", "near"
        # mentions in headings, where everything may be capitalised
        self.headed = 0
        self.is_known = False  # speakers, authors
        self._lower = lower

    @property
    def parts(self) -> list[str]:
        return self.name.split()

    @property
    def small(self) -> str:
        return self.name.lower()

    @property
    def lower_count(self) -> int:
        """How often the document writes it small, if it is one word."""
        return self._lower.get(self.small, 0)

    def absorb(self, other: Candidate) -> None:
        """Take over what was said of another form of the same name."""
        self.spans += other.spans
        self.inside += other.inside
        self.titled += other.titled
        self.headed += other.headed
        self.aliases |= {other.name: None, **other.aliases}
        self.aliases.pop(self.name, None)

    def has_ordinary_word(self, parts: list[str] | None = None) -> bool:
        """Whether a word of the name is an ordinary word, in this document or in general."""
        parts = self.parts if parts is None else parts
        if any(ACRONYM.fullmatch(part) or MIXED_CASE.fullmatch(part) for part in parts):
            return True
        if has_connector(parts) or has_common_word(parts):
            return True
        return any(self._lower.get(part.lower(), 0) for part in parts)


def is_name(candidate: Candidate) -> bool:
    """Whether a candidate is a name: the first rule that applies to it decides."""
    rules = _OF_PHRASES if " " in candidate.name else _OF_WORDS
    for applies, verdict in (*_OF_ALL, *rules):
        if applies(candidate):
            return verdict
    return False


# -- what the rules look at ----------------------------------------------------------------------


def _only_in_headings(candidate: Candidate) -> bool:
    return candidate.headed > 0 and candidate.headed == len(candidate.spans)


def _is_shouted(candidate: Candidate) -> bool:
    parts = candidate.parts
    if not candidate.name.isupper():
        return False
    return len(parts) > 3 or candidate.has_ordinary_word([part.title() for part in parts])


def _ends_in_adjective(candidate: Candidate) -> bool:
    """ "North American", but not "American Samoa"."""
    if candidate.name in ENGLISH.places or candidate.type == "person":
        return False
    return candidate.parts[-1].lower() in ENGLISH.demonyms


def _has_own_word(candidate: Candidate) -> bool:
    words = [part.lower() for part in candidate.parts]
    return not all(word in ENGLISH.stop_words or word in ENGLISH.demonyms for word in words)


def _is_common_word(candidate: Candidate) -> bool:
    word = candidate.small
    return (
        len(word) < 2
        or word in ENGLISH.stop_words
        or word in ENGLISH.calendar
        or word in ENGLISH.demonyms
        or word.rstrip(".") in ENGLISH.titles
    )


def _is_compound_adjective(candidate: Candidate) -> bool:
    """ "Spanish-controlled", "Anglo-French"."""
    if "-" not in candidate.name:
        return False
    parts = [part for part in candidate.name.split("-") if part]
    return all(
        part[0].islower() or part in _PREFIXES or part.lower() in ENGLISH.demonyms for part in parts
    )


def _is_number_or_head(candidate: Candidate) -> bool:
    """ "XII", "Treaty"."""
    return ROMAN.fullmatch(candidate.name) is not None or is_head(candidate.small)


def _is_well_known_place(candidate: Candidate) -> bool:
    return candidate.type == "place" and candidate.name in ENGLISH.places


def _has_evidence(candidate: Candidate) -> bool:
    return bool(candidate.aliases or candidate.titled or MIXED_CASE.fullmatch(candidate.name))


def _is_used_acronym(candidate: Candidate) -> bool:
    if not _is_acronym(candidate) or candidate.lower_count:
        return False
    return len(candidate.name) > 2 or candidate.inside > 0


def _is_acronym(candidate: Candidate) -> bool:
    return ACRONYM.fullmatch(candidate.name) is not None


def _often_begins_sentences(candidate: Candidate) -> bool:
    """Never inside a sentence, but too often at the start of one, and too unusual, for a word."""
    word = candidate.small
    if candidate.inside or candidate.lower_count:
        return False
    if len(candidate.spans) - candidate.headed < 2:
        return False
    return len(word) > 4 and not _INFLECTED.search(word)


def _only_begins_sentences(candidate: Candidate) -> bool:
    return not candidate.inside


def _is_mostly_capitalised(candidate: Candidate) -> bool:
    return candidate.lower_count * 2 <= candidate.inside


def _is_known(candidate: Candidate) -> bool:
    return candidate.is_known


# -- the rules -----------------------------------------------------------------------------------

Rule: TypeAlias = tuple[Callable[[Candidate], bool], bool]

_OF_ALL: tuple[Rule, ...] = (
    (_is_known, True),
    (_only_in_headings, False),
)
_OF_PHRASES: tuple[Rule, ...] = (
    (_is_shouted, False),
    (_ends_in_adjective, False),
    (_has_own_word, True),
)
_OF_WORDS: tuple[Rule, ...] = (
    (_is_common_word, False),
    (_is_compound_adjective, False),
    (_is_number_or_head, False),
    (_is_well_known_place, True),
    (_has_evidence, True),
    (_is_used_acronym, True),
    (_is_acronym, False),
    (_often_begins_sentences, True),
    (_only_begins_sentences, False),
    (_is_mostly_capitalised, True),
)
