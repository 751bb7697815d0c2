"""How like a name is to a text: the same figures whichever index found the name.

A score is 1.0 for the same key, otherwise the similarity (one less the share of characters to
insert, delete, replace or swap) of whole names or of the words of the text to words of the name, at
most 0.95.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice, pairwise

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import OSA
from rapidfuzz.process import cdist

from ...text.analysis import IS_CJK, WORD
from .arrays import floor_of_best

__all__ = ["CANDIDATES", "GOOD", "WORD_LIKENESS", "Accept", "Found", "likeness", "words_of"]

Accept = Callable[[int], bool]
Floats = NDArray[np.float32]

CANDIDATES = 40  # names that an index offers for comparison, in each pass
GOOD = 0.8  # a score that says: this is what was meant
# the worth of having all the words but not being the text: base, and share covered
PARTIAL = (0.75, 0.2)
WORD_LIKENESS = 0.6  # words of a name less like a word of the text than this do not count


def words_of(name: str, *, asked: bool) -> list[str]:
    """The words of a name, none twice. A run of CJK characters is known by its characters and
    pairs; asked for by its pairs."""
    if name.isascii():
        return list(dict.fromkeys(WORD.findall(name)))
    words: dict[str, None] = {}
    for word in WORD.findall(name):
        if word.isascii() or not IS_CJK.match(word):
            words[word] = None
            continue
        if not asked or len(word) == 1:
            words.update(dict.fromkeys(word))
        words.update(dict.fromkeys(map("".join, pairwise(word))))
    return list(words)


class Found:
    """The names found so far, each with its best score, and the choice among them.

    Args:
        limit: how many names are wanted.
        accept: which ids may be returned; asked of names that reach the threshold, best first.
    """

    def __init__(self, limit: int, accept: Accept | None) -> None:
        self._limit = limit
        self._accept = accept
        self._accepted: dict[int, bool] = {}
        self._scores: dict[int, tuple[float, str]] = {}

    def add(
        self, named: Sequence[tuple[int, str]], text: str, words: Sequence[str], threshold: float
    ) -> None:
        """Score names by the whole text and by these words of it; keep those that may be among the
        best."""
        if not named:
            return
        names = [name for _, name in named]
        scores = likeness([text], names, threshold)[0]
        if words:
            scores = np.maximum(scores, _by_words(text, words, names))
        floor = np.float32(max(threshold, 1e-6))
        if self._accept is None:
            floor = max(floor, np.float32(floor_of_best(scores, self._limit)))
        for at in np.flatnonzero(scores >= floor).tolist():
            id, name = named[at]
            score = round(float(scores[at]), 4)
            if id not in self._scores or self._scores[id][0] < score:
                self._scores[id] = (score, name)

    def best(self) -> list[tuple[int, float]]:
        """The best ids that are accepted, and their scores (ties: shorter first, then by name, then
        by id)."""
        ranked = sorted(
            self._scores.items(),
            key=lambda item: (-item[1][0], len(item[1][1]), item[1][1], item[0]),
        )
        return [(id, score) for id, (score, _) in islice(filter(self._takes, ranked), self._limit)]

    def _takes(self, item: tuple[int, tuple[float, str]]) -> bool:
        if self._accept is None:
            return True
        id = item[0]
        if id not in self._accepted:
            self._accepted[id] = self._accept(id)
        return self._accepted[id]


def likeness(texts: Sequence[str], names: Sequence[str], threshold: float) -> Floats:
    """Similarity of each text to each name, 0 where it is below the threshold."""
    if not names:
        return np.zeros((len(texts), 0), np.float32)
    return cdist(
        texts, names, scorer=OSA.normalized_similarity, score_cutoff=threshold, dtype=np.float32
    )


def _by_words(text: str, words: Sequence[str], names: Sequence[str]) -> Floats:
    """How well names have the words of the text, in any order."""
    having = [words_of(name, asked=False) or [name] for name in names]
    alike = likeness(words, [word for some in having for word in some], WORD_LIKENESS)
    starts = np.cumsum([0, *map(len, having)])[:-1]
    best = np.maximum.reduceat(alike, starts, axis=1)
    sizes = np.array([len(word) for word in words], np.float32)
    base, share = PARTIAL
    covered = np.minimum(
        np.float32(len(text)) / np.array([len(name) for name in names], np.float32), 1
    )
    scores: Floats = (sizes / sizes.sum()) @ best * (np.float32(base) + np.float32(share) * covered)
    return scores
