"""How similar a name is to a text: the same scores whichever index offers the name.

A score is 1.0 for the same key, otherwise the similarity (one less the share of characters to
insert, delete, replace or swap) of whole names or of the words of the text to words of the name, at
most 0.95.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, islice, pairwise

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import OSA
from rapidfuzz.process import cdist

from ...text.analysis import IS_CJK, WORD
from .arrays import floor_of_best

Accept = Callable[[int], bool]
Floats = NDArray[np.float32]

CANDIDATES = 40  # names that an index offers for comparison, in each pass
GOOD_SCORE = 0.8  # from here on a name is taken for what was meant
WORD_SIMILARITY = 0.6  # words of a name less similar to a word of the text than this do not count

# A name that has all the words but is not the text scores this base, and up to this share more by
# how much of the name the text covers.
_WORDS_BASE = np.float32(0.75)
_WORDS_SHARE = np.float32(0.2)


def split_name(name: str, *, query: bool) -> list[str]:
    """List the words of a name, each once. A run of CJK characters is indexed by its characters and
    pairs; a query looks up its pairs."""
    if name.isascii():
        return list(dict.fromkeys(WORD.findall(name)))
    words: dict[str, None] = {}
    for word in WORD.findall(name):
        if word.isascii() or not IS_CJK.match(word):
            words[word] = None
            continue
        if not query or len(word) == 1:
            words.update(dict.fromkeys(word))
        words.update(dict.fromkeys(map("".join, pairwise(word))))
    return list(words)


class NameMatches:
    """The names found so far, each with its best score, and the choice of `limit` among them.
    `accept` is called with the ids of names that reach the threshold, best first."""

    def __init__(self, limit: int, accept: Accept | None) -> None:
        self._limit = limit
        self._accept = accept
        self._accepted: dict[int, bool] = {}
        self._scores: dict[int, tuple[float, str]] = {}

    def add(
        self,
        candidates: Sequence[tuple[int, str]],
        text: str,
        words: Sequence[str],
        threshold: float,
    ) -> None:
        """Score names by the whole text and these words of it; remember those that may be best."""
        if not candidates:
            return
        names = [name for _, name in candidates]
        scores = similarities([text], names, threshold)[0]
        if words:
            scores = np.maximum(scores, _score_by_words(text, words, names))
        floor = np.float32(max(threshold, 1e-6))
        # With a filter the best may be refused, and any of the others be needed.
        if self._accept is None:
            floor = max(floor, np.float32(floor_of_best(scores, self._limit)))
        for at in np.flatnonzero(scores >= floor).tolist():
            id, name = candidates[at]
            score = round(float(scores[at]), 4)
            if id not in self._scores or self._scores[id][0] < score:
                self._scores[id] = (score, name)

    def best(self) -> list[tuple[int, float]]:
        """List the best ids that are accepted, and their scores (ties: shorter first, then by name,
        then by id)."""
        ranked = sorted(self._scores.items(), key=_rank)
        accepted = ((id, score) for id, (score, _) in ranked if self._is_accepted(id))
        return list(islice(accepted, self._limit))

    def _is_accepted(self, id: int) -> bool:
        if self._accept is None:
            return True
        if id not in self._accepted:
            self._accepted[id] = self._accept(id)
        return self._accepted[id]


def _rank(match: tuple[int, tuple[float, str]]) -> tuple[float, int, str, int]:
    id, (score, name) = match
    return -score, len(name), name, id


def similarities(texts: Sequence[str], names: Sequence[str], threshold: float) -> Floats:
    """Compare each text with each name: similarities of shape (texts, names), 0 where they are
    below the threshold."""
    if not names:
        return np.zeros((len(texts), 0), np.float32)
    return cdist(
        texts, names, scorer=OSA.normalized_similarity, score_cutoff=threshold, dtype=np.float32
    )


def _score_by_words(text: str, words: Sequence[str], names: Sequence[str]) -> Floats:
    name_words = [split_name(name, query=False) or [name] for name in names]
    word_scores = similarities(words, list(chain.from_iterable(name_words)), WORD_SIMILARITY)
    # For each word of the text, the word of each name that is most similar to it.
    starts = np.cumsum([0, *map(len, name_words)])[:-1]
    best = np.maximum.reduceat(word_scores, starts, axis=1)
    # A longer word weighs more.
    sizes = np.array([len(word) for word in words], np.float32)
    name_sizes = np.array([len(name) for name in names], np.float32)
    covered = np.minimum(np.float32(len(text)) / name_sizes, 1)
    scores: Floats = (sizes / sizes.sum()) @ best * (_WORDS_BASE + _WORDS_SHARE * covered)
    return scores
