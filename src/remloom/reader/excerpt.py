"""Excerpts: the part of an overlong line that has most of what is asked."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from ..text.analysis import terms
from ..text.scripts import UNSPACED

__all__ = ["excerpt"]

_WORD = re.compile(rf"[{UNSPACED}]+|[^\s{UNSPACED}]+")
_UNSPACED = re.compile(f"[{UNSPACED}]")


def excerpt(text: str, weights: Mapping[str, float], words: int) -> str:
    """Cut out at most so many words, those that together have the most of some terms.

    Each character of a script without blanks is a word.

    >>> excerpt("much is said before the rent is due and much is said behind", {"rent": 1.0}, 4)
    '… the rent is due …'
    """
    spans: list[tuple[int, int]] = []
    worth: list[float] = []
    known: dict[str, float] = {}
    for match in _WORD.finditer(text):
        word = match[0]
        if word not in known:
            known[word] = sum(weights.get(term, 0.0) for term in terms(word))
        if _UNSPACED.match(word):
            spans += [(at, at + 1) for at in range(*match.span())]
            worth += [known[word] / len(word)] * len(word)
        else:
            spans.append(match.span())
            worth.append(known[word])
    if len(spans) <= words:
        return text
    total = np.append(0.0, np.cumsum(worth))
    inside = total[words:] - total[:-words]
    best = np.flatnonzero(inside >= inside.max() - 1e-9)
    # of those that are as good, the one in which it stands in the middle
    first = int(best[len(best) // 2])
    part = text[spans[first][0] : spans[first + words - 1][1]]
    before = "… " if first else ""
    after = " …" if first + words < len(spans) else ""
    return f"{before}{part}{after}"
