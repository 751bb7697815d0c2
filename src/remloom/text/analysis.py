"""The terms that a text is indexed and compared by: its words without stop words, stemmed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from threading import Lock
from typing import Any
from unicodedata import normalize

from .sentences import CJK

_STOP_WORDS = """
    a about above after again against all am an and any are as at be because been before being
    below between both but by can cannot could did do does doing down during each few for from
    further had has have having he her here hers herself him himself his how i if in into is it its
    itself just let me more most my myself no nor not now of off on once only or other our ours
    ourselves out over own same shall she should so some such than that the their theirs them
    themselves then there these they this those through to too under until up upon very was we were
    what when where which while who whom whose why will with would you your yours yourself
    yourselves don doesn didn isn aren wasn weren won wouldn couldn shouldn hasn haven hadn ain ll
    ve re s t d m
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())

WORD = re.compile(rf"[{CJK}]+|[^\W_{CJK}]+")
IS_CJK = re.compile(f"[{CJK}]")

# For `bytes.translate`: ASCII letters in lower case, digits as they are, all else blank. It takes a
# third of the time of a regular expression.
_ASCII_LOWER = bytes(
    ord(char.lower()) if char.isalnum() and char.isascii() else 32 for char in map(chr, range(256))
)


def terms(text: str) -> list[str]:
    """List the terms of a text, in order, repeated as often as they occur.

    Casefolded unicode words (NFKC) without English stop words; ASCII words stemmed (Snowball
    English); runs of CJK characters as bigrams; numbers kept.

    >>> terms("The meetings of 2024 weren't in 東京タワー")
    ['meet', '2024', '東京', '京タ', 'タワ', 'ワー']
    """
    return [term for word in words(text) for term in terms_of_word(word)]


def term_set(text: str) -> set[str]:
    """Collect the terms of a text, each once."""
    return set(terms(text))


def words(text: str) -> Sequence[str | bytes]:
    """Split a text into folded words: bytes if the whole text is ASCII, which is quicker."""
    if text.isascii():
        return text.encode().translate(_ASCII_LOWER).split()
    return WORD.findall(normalize("NFKC", text).casefold())


def terms_of_word(word: str | bytes) -> tuple[str, ...]:
    """Make the terms of a folded word: none of a stop word, several of a run of CJK characters."""
    if isinstance(word, bytes):
        word = word.decode()
    if word in STOP_WORDS:
        return ()
    if word.isascii():
        with _STEMMING:
            return (_stemmer().stemWord(word),)
    if len(word) > 1 and IS_CJK.match(word):
        return tuple(word[start : start + 2] for start in range(len(word) - 1))
    return (word,)


_STEMMING = Lock()  # a Stemmer is not thread-safe


@cache
def _stemmer() -> Any:
    import Stemmer

    # without a cache of its own: the index keeps terms with their words
    return Stemmer.Stemmer("english", 0)
