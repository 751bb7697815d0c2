"""Near copies: a sentence that repeats its lines but for a few words is held to the others.

A lie about a line is mostly the line with a word changed; a right answer in other words has few of
its words. The two can be told apart without knowing a language, but not the word's contrary from
another word for the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from ..text.analysis import STOP_WORDS, terms_of_word
from .figures import without_dates
from .quotes import plain_words
from .wording import wording

__all__ = ["changed_words"]

# of a sentence's words, in the order of the lines: from here on it is a copy
_COPIED = 0.7
_FEWEST = 5  # words of a sentence
_LEFT_OUT = 3  # words; more in a row are a part that is not repeated


def changed_words(sentence: str, text: str) -> str:
    """Say what a near copy of a text has in place of the text's words; empty: nothing, or no copy.

    >>> changed_words("The board refused the offer.", "The board accepted the offer in May.")
    "it repeats the lines, but says 'refused' where they say 'accepted'"
    >>> changed_words("They said no to the whole of it.", "The board refused the offer in May.")
    ''
    """
    from rapidfuzz.distance import LCSseq

    said, written = _words(sentence), _words(text)
    own, theirs = list(map(_stem, said)), list(map(_stem, written))
    if len(own) < _FEWEST or LCSseq.similarity(own, theirs) < _COPIED * len(own):
        return ""
    for words, instead in _differences(own, theirs, said, written):
        is_negated = _is_negated(words)
        # "does not" is one change, and "not refundable" is "nonrefundable"
        is_one = len(words) <= 1 + is_negated
        if not is_one or any(long.endswith(word) for word in words[-1:] for long in instead):
            continue
        if is_negated != _is_negated(instead):
            return "it repeats the lines, but for a 'not'"
        changed, others = list(filter(_counts, words)), list(filter(_counts, instead))
        if changed and others:
            return f"it repeats the lines, but says {changed[0]!r} where they say {others[0]!r}"
    return ""


def _differences(
    own: Sequence[str], theirs: Sequence[str], said: Sequence[str], written: Sequence[str]
) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """The words that a sentence has in place of words of the lines, and these."""
    from rapidfuzz.distance import LCSseq

    for is_equal, group in groupby(LCSseq.opcodes(own, theirs), lambda part: part.tag == "equal"):
        parts = list(group)
        first, last = parts[0], parts[-1]
        words = said[first.src_start : last.src_end]
        instead = written[first.dest_start : last.dest_end]
        if is_equal:
            continue
        if len(instead) <= _LEFT_OUT:
            yield words, instead
        elif words and not _is_negated(instead):
            # a part of what the lines say is not repeated: the word beside the copy is compared
            yield words, instead[-1:] if first.src_start == 0 else instead[:1]


def _is_negated(words: Sequence[str]) -> bool:
    return not wording().negators.isdisjoint(words)


def _words(text: str) -> Sequence[str]:
    return plain_words(without_dates(text))


def _counts(word: str) -> bool:
    """Whether a word says something by itself; numbers and units are compared as such."""
    known = wording()
    return not word.isdigit() and all(
        word not in listed for listed in (STOP_WORDS, known.numbers, known.units)
    )


def _stem(word: str) -> str:
    return next(iter(terms_of_word(word)), word)
