"""Relevance: how well each paragraph fits a question, by words and by meaning."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..store.indexes.arrays import Ids
from .joined import JoinedLines
from .question_terms import read_question
from .term_scorer import Scores

__all__ = ["score_paragraphs"]

_BESIDE = 0.3  # what a paragraph gets of the scores of those before and after it
_WIDE = 0.6  # weight of the words of the wider passage
_TITLES = 0.8  # weight of the words of the headings above
_MEANING = 0.7  # weight of the likeness in meaning


def score_paragraphs(
    joined: JoinedLines, question: str, likeness: Mapping[str, float] | None = None
) -> Scores:
    """Score each paragraph of documents for a question; 0 where nothing of it is.

    Args:
        likeness: of the chunks that are most like the question in meaning, by their ids.
    """
    asked = read_question(question)
    spans = joined.paragraphs
    near = _with_neighbours(joined.terms.score(asked, spans.starts), spans.documents)
    wide = joined.wide
    begins = np.flatnonzero(np.diff(wide, prepend=-1))
    around = joined.terms.score(asked, spans.starts[begins])[wide]
    # behind the last, for paragraphs that are in no section
    titles = np.append(joined.titles.score(asked, joined.titles.starts), 0.0)[joined.sections]
    scores = _scaled(near) + _WIDE * _scaled(around) + _TITLES * _scaled(titles)
    if likeness:
        scores += _MEANING * _scaled(_spread(joined, likeness))
    return scores


def _spread(joined: JoinedLines, likeness: Mapping[str, float]) -> Scores:
    """Give each paragraph the likeness of the chunk that it is in, above the least of them."""
    spans = joined.paragraphs
    least = min(likeness.values())
    scores = np.zeros(len(spans))
    for number, lines in enumerate(joined.documents):
        own = spans.of(number)
        firsts, lasts, of_document = spans.firsts[own], spans.lasts[own], scores[own]
        for chunk in lines.chunks:
            if chunk.id in likeness:
                first = int(np.searchsorted(lasts, chunk.first))
                end = int(np.searchsorted(firsts, chunk.last, "right"))
                part = of_document[first:end]
                np.maximum(part, likeness[chunk.id] - least, out=part)
    return scores


def _with_neighbours(scores: Scores, documents: Ids) -> Scores:
    """Give each paragraph something of the scores of those beside it, of the same document."""
    spread = scores.copy()
    same = documents[1:] == documents[:-1]
    spread[1:] += _BESIDE * scores[:-1] * same
    spread[:-1] += _BESIDE * scores[1:] * same
    return spread


def _scaled(scores: Scores) -> Scores:
    """Scale scores to at most 1."""
    scaled: Scores = scores / (scores.max(initial=0.0) or 1.0)
    return scaled
