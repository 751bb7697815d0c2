"""The terms of a question, and how much each of them weighs."""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import pairwise

from msgspec import Struct

from ..text.analysis import terms

__all__ = ["Pair", "QuestionTerms", "quoted", "read_question"]

Pair = tuple[str, str]

_QUOTED = re.compile(r'"([^"]+)"|“([^”]+)”|„([^“”]+)[“”]|«([^»]+)»|「([^」]+)」|『([^』]+)』')
# "Governing Law: Which state's law applies?"
_LABEL = re.compile(r"\s*([^:：.?!。？！]{2,80})[:：]\s*(?=\S)")

_EMPHASIS = 2.0  # weight of a term that is quoted, or stands before a colon


class QuestionTerms(Struct, frozen=True):
    """What is looked for: terms, and pairs of terms that follow each other, with their weights."""

    terms: dict[str, float]
    pairs: dict[Pair, float]


def read_question(question: str) -> QuestionTerms:
    """Weigh the terms of a question: what it quotes, or has before a colon, is what it is about.

    >>> read_question('Lease: when does it end?').terms
    {'leas': 2.0, 'end': 1.0}
    """
    label = _LABEL.match(question)
    parts = [(text, _EMPHASIS) for text in quoted(question)]
    rest = _QUOTED.sub(" ", question)
    if label:
        parts.append((label[1], _EMPHASIS))
        rest = rest[label.end() :]
    parts.append((rest, 1.0))
    weights: dict[str, float] = defaultdict(float)
    pairs: dict[Pair, float] = defaultdict(float)
    for text, weight in parts:
        found = terms(text)
        for term in dict.fromkeys(found):
            weights[term] += weight
        for pair in dict.fromkeys(pairwise(found)):
            pairs[pair] += weight
    return QuestionTerms(dict(weights), dict(pairs))


def quoted(text: str) -> list[str]:
    """List what stands in quotation marks."""
    found = (next(filter(None, match.groups())).strip() for match in _QUOTED.finditer(text))
    return [phrase for phrase in found if phrase]
