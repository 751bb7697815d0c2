"""Scores: how near windows of texts are to a question, and lists of scores brought to one scale."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from math import log1p
from typing import TYPE_CHECKING, TypeVar

from ..errors import VectorError
from ..model import Record
from ..store.batch import Vector
from ..store.encoding import embedded_text
from ..store.results import Match
from ..store.specs import K1, B
from ..text.analysis import term_set, terms

if TYPE_CHECKING:
    from ..embed.contract import Floats

FUSIONS = ("blend", "rrf")
RRF_K = 60  # seed 2
_Id = TypeVar("_Id", bound=Hashable)


def blend(
    scores: Mapping[_Id, float],
    *,
    floor: float | None = None,
    top: float | None = None,
) -> dict[_Id, float]:
    """Bring the scores of one list to 0..1.

    Args:
        floor: what becomes 0; the lowest score of the list when not given.
        top: what becomes 1; the highest score of the list when not given.

    >>> blend({"a": 9.0, "b": 5.0, "c": 1.0})
    {'a': 1.0, 'b': 0.5, 'c': 0.0}
    """
    if not scores:
        return {}
    high = max(scores.values()) if top is None else top
    low = min(scores.values()) if floor is None else floor
    if high <= low:
        return {id: float(score >= low) for id, score in scores.items()}
    span = high - low
    if floor is None and top is None:
        return {id: (score - low) / span for id, score in scores.items()}
    return {id: min(1.0, max(0.0, (score - low) / span)) for id, score in scores.items()}


def rrf(scores: Mapping[str, float]) -> dict[str, float]:
    """Take the reciprocal ranks of one list, 1/(60 + rank), scaled so that the first is worth 1.

    Source: seed 2.

    >>> {id: round(score, 3) for id, score in rrf({"a": 9.0, "b": 5.0}).items()}
    {'a': 1.0, 'b': 0.984}
    """
    ordered = sorted(scores, key=lambda id: -scores[id])
    return {id: (RRF_K + 1) / (RRF_K + rank) for rank, id in enumerate(ordered, 1)}


def cosines(windows: Sequence[Vector], vector: Sequence[float]) -> list[float]:
    """The cosine of each window to the vector of a question.

    Raises:
        VectorError: as `rows_of`.
    """
    import numpy as np

    if not windows:
        return []
    rows = rows_of(windows, len(vector))
    similarities: list[float] = (rows @ np.asarray(vector, np.float32)).tolist()
    return similarities


def rows_of(windows: Sequence[Vector], dims: int) -> Floats:
    """The vectors of windows: shape (windows, dims).

    Raises:
        VectorError: they have other dimensions: models take seconds, in which another embedder may
            come to serve.
    """
    import numpy as np

    rows = np.frombuffer(b"".join(window.data for window in windows), np.float32)
    rows = rows.reshape(len(windows), -1)
    if windows and rows.shape[1] != dims:
        raise VectorError(
            f"the vectors have {rows.shape[1]} dimensions, that of the question {dims}"
        )
    return rows


def score_texts(question: str, records: Sequence[Record]) -> list[Match]:
    """Rank the records whose own text has words of the question, best first; ties by id."""
    query_terms = term_set(question)
    counts = [Counter(terms(embedded_text(record))) for record in records]
    lengths = [sum(count.values()) for count in counts]
    average = sum(lengths) / max(1, len(lengths)) or 1.0
    weights = {}
    for term in query_terms:
        having = sum(1 for count in counts if term in count)
        weights[term] = log1p((len(counts) - having + 0.5) / (having + 0.5))
    matches = []
    for record, count, length in zip(records, counts, lengths, strict=True):
        saturation = K1 * (1 - B + B * length / average)
        score = 0.0
        for term in sorted(query_terms & count.keys()):
            score += weights[term] * (K1 + 1) * count[term] / (count[term] + saturation)
        if score:
            matches.append(Match(record, score))
    return sorted(matches, key=lambda match: (-match.score, match.record.id))
