"""The terms of a question, and how much each of them weighs."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from msgspec import Struct

from ...text.analysis import terms
from ...text.sentences import marked_ends

Pair = tuple[str, str]

_QUOTED = re.compile(r'"([^"]+)"|“([^”]+)”|„([^“”]+)[“”]|«([^»]+)»|「([^」]+)」|『([^』]+)』')
# "Governing Law: Which state's law applies?"
_LABEL = re.compile(r"\s*([^:：.?!。？！]{2,80})[:：]\s*(?=\S)")

_EMPHASIS = 3.0  # weight of a term that is quoted, or stands before a colon
_BESIDE_QUOTED = 0.5  # of the others in a sentence with a quotation: they speak of what is quoted


class QuestionTerms(Struct, frozen=True):
    """What is looked for: terms, and pairs of terms that follow each other, with their weights."""

    terms: dict[str, float]
    pairs: dict[Pair, float]


def read_question(question: str) -> QuestionTerms:
    """Weigh the terms of a question: what it quotes, or has before a colon, is what it is about.

    >>> read_question('Lease: when does it end?').terms
    {'leas': 3.0, 'end': 1.0}
    """
    weights: dict[str, float] = defaultdict(float)
    pairs: dict[Pair, float] = defaultdict(float)
    for text, weight in _weighed(question):
        found = terms(text)
        for term in dict.fromkeys(found):
            weights[term] += weight
        for pair in dict.fromkeys(pairwise(found)):
            pairs[pair] += weight
    return QuestionTerms(dict(weights), dict(pairs))


def _weighed(question: str) -> Iterator[tuple[str, float]]:
    """Yield the parts of a question, each with the weight of its terms."""
    label = _LABEL.match(question)
    if label:
        yield label[1], _EMPHASIS
        question = question[label.end() :]
    ends = marked_ends(question)
    for first, end in pairwise([0, *ends, len(question)]):
        sentence = question[first:end]
        phrases = quoted(sentence)
        for phrase in phrases:
            yield phrase, _EMPHASIS
        yield _QUOTED.sub(" ", sentence), _BESIDE_QUOTED if phrases else 1.0


def quoted(text: str) -> list[str]:
    """List what stands in quotation marks."""
    found = (next(filter(None, match.groups())).strip() for match in _QUOTED.finditer(text))
    return [phrase for phrase in found if phrase]
