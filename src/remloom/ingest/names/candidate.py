"""A candidate for a name, and the rules that decide whether it is one."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .kinds import ACRONYM, MIXED_CASE, ROMAN, has_common_word, has_connector, is_head
from .word_lists import english, split_words

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
    """Whether a candidate is a name."""
    if candidate.is_known:
        return True
    if candidate.headed and candidate.headed == len(candidate.spans):
        return False
    return _is_phrase(candidate) if " " in candidate.name else _is_word(candidate)


def _is_phrase(candidate: Candidate) -> bool:
    """Whether several words are a name."""
    parts = candidate.parts
    words = [part.lower() for part in parts]
    is_shouted = len(parts) > 3 or candidate.has_ordinary_word([part.title() for part in parts])
    if candidate.name.isupper() and is_shouted:
        return False
    # "North American", but not "American Samoa"
    is_known = candidate.name in english().places or candidate.type == "person"
    if words[-1] in english().demonyms and not is_known:
        return False
    return not all(word in english().stop_words or word in english().demonyms for word in words)


def _is_word(candidate: Candidate) -> bool:
    """Whether a word is a name."""
    name, word = candidate.name, candidate.small
    # "XII", "Treaty"
    is_other = ROMAN.fullmatch(name) or is_head(word) or _is_compound_adjective(name)
    if is_other or _is_common(word):
        return False
    if candidate.type == "place" and name in english().places:
        return True
    if candidate.aliases or candidate.titled or MIXED_CASE.fullmatch(name):
        return True
    if ACRONYM.fullmatch(name):
        return not candidate.lower_count and (len(name) > 2 or candidate.inside > 0)
    if candidate.inside:
        return candidate.lower_count * 2 <= candidate.inside
    # too often at the start of a sentence, and too unusual, for a word
    is_often = len(candidate.spans) - candidate.headed > 1
    is_unusual = len(word) > 4 and not _INFLECTED.search(word)
    return is_often and is_unusual and not candidate.lower_count


def _is_common(word: str) -> bool:
    lists = (english().stop_words, english().calendar, english().demonyms)
    return (
        len(word) < 2 or any(word in one for one in lists) or word.rstrip(".") in english().titles
    )


def _is_compound_adjective(name: str) -> bool:
    """ "Spanish-controlled", "Anglo-French"."""
    parts = [part for part in name.split("-") if part]
    return "-" in name and all(
        part[0].islower() or part in _PREFIXES or part.lower() in english().demonyms
        for part in parts
    )
