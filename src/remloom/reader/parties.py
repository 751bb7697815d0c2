"""Parties: who does what in a sentence, so that two who changed places are noticed."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from ..text.analysis import STOP_WORDS, terms
from .wording import wording

__all__ = ["swapped_party"]

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*|\d+|[,;.()]")
_JOINING = frozenset(("and", "or", ",", "the", "either", "both", "neither", "nor"))
_ARTICLES = frozenset(("the", "a", "an", "any", "such", "said", "each", "either"))
_PREPOSITIONS = frozenset((
    "of", "to", "with", "from", "for", "between", "against", "upon", "on", "in", "at", "under",
    "without", "behalf", "among", "through", "than",
))  # fmt: skip
_OWNER = re.compile(r"['’]s?$")
_MOST = 4  # words that say what somebody does
_ENOUGH = 0.5  # of the weight of the first of them


class _Mention(Struct, frozen=True):
    """A name, and the stems of what is said of it, the nearest first."""

    name: tuple[str, ...]
    said: tuple[str, ...]


def swapped_party(sentence: str, text: str) -> str:
    """Say whom a sentence has in the place of somebody else; empty: nobody, as far as is known.

    >>> swapped_party("Zeta shall pay Acme.", "Acme shall pay Zeta the fee.")
    "it says 'pay' of 'Zeta', the sentence that is quoted of 'Acme'"
    >>> swapped_party("Zeta is paid by Acme.", "Acme paid Zeta the fee.")
    ''
    """
    written = _mentions(text)
    for mention in _mentions(sentence):
        own = other = 0.0
        instead: _Mention | None = None
        for candidate in written:
            weight = _agreement(mention, candidate)
            if _is_same(mention.name, candidate.name):
                own = max(own, weight)
            elif weight > other:
                other, instead = weight, candidate
        if instead and other >= _ENOUGH and other > own:
            shared = next(stem for stem in mention.said if stem in instead.said)
            name, place = " ".join(mention.name), " ".join(instead.name)
            return f"it says {shared!r} of {name!r}, the sentence that is quoted of {place!r}"
    return ""


def _mentions(text: str) -> list[_Mention]:
    """The names in a text, each with what is said of it."""
    words = _WORD.findall(text)
    names = _find_names(words)
    bounds = [0, *(end for _, end in names)]
    starts = [*(start for start, _ in names), len(words)]
    regions = [words[begin:end] for begin, end in zip(bounds, starts, strict=True)]
    said: list[list[str]] = [[] for _ in names]
    for number, name in enumerate(names):
        before, after = regions[number], regions[number + 1]
        if _is_agent(before):
            # a passive: what is done is said of whom it is done by
            said[number] = _stems(before)[::-1]
        elif _OWNER.search(words[name[1] - 1]):
            # what somebody has is compared with what others have
            said[number] = [f"’s {stem}" for stem in _stems(after)[:1]]
        elif _is_subject(before, after) and not _is_agent(after):
            said[number] = _stems(after)
    _share(said, regions)
    return [
        _Mention(tuple(words[start:end]), tuple(stems[:_MOST]))
        for (start, end), stems in zip(names, said, strict=True)
    ]


def _find_names(words: Sequence[str]) -> list[tuple[int, int]]:
    """Where names begin and end; capitalised words that follow each other are one."""
    names: list[tuple[int, int]] = []
    for at, word in enumerate(words):
        if not _is_name(word):
            continue
        if names and names[-1][1] == at:
            names[-1] = (names[-1][0], at + 1)
        else:
            names.append((at, at + 1))
    return names


def _is_agent(before: Sequence[str]) -> bool:
    return _last_word(before) == "by"


def _is_subject(before: Sequence[str], after: Sequence[str]) -> bool:
    """Whether somebody is said to do something, and is not the one to whom it is done."""
    if _last_word(before) in _PREPOSITIONS or not after:
        return False
    following = after[0].casefold()
    return following in wording().modals or (following.isalpha() and following not in STOP_WORDS)


def _last_word(words: Sequence[str]) -> str:
    """The word before a name, its article apart."""
    lowered = (word.casefold() for word in reversed(words))
    return next((word for word in lowered if word not in _ARTICLES), "")


def _share(said: list[list[str]], regions: Sequence[Sequence[str]]) -> None:
    """Of those who are named together the same is said."""
    for number in range(len(said) - 2, -1, -1):
        between = regions[number + 1]
        if between and _JOINING.issuperset(between):
            said[number] = said[number] or said[number + 1]
            said[number + 1] = said[number + 1] or said[number]


def _stems(words: Sequence[str]) -> list[str]:
    passed_over = wording().modals | wording().generic
    # numbers are compared as such
    said = (word for word in words if word.isalpha() and word.casefold() not in passed_over)
    return terms(" ".join(said))


def _is_name(word: str) -> bool:
    folded = word.casefold()
    return (
        word[0].isupper()
        and folded not in STOP_WORDS
        and folded not in wording().generic
        and folded not in wording().negators
    )


def _is_same(one: Sequence[str], other: Sequence[str]) -> bool:
    first, second = _folded(one), _folded(other)
    return first <= second or second <= first


def _folded(name: Sequence[str]) -> set[str]:
    return {_OWNER.sub("", word.casefold()) for word in name}


def _agreement(one: _Mention, other: _Mention) -> float:
    """How far the same is said of both: the nearest words weigh most."""
    weights = {stem: 1 / (1 + at) for at, stem in reversed(list(enumerate(other.said)))}
    return sum(min(1 / (1 + at), weights.get(stem, 0.0)) for at, stem in enumerate(one.said))
