"""The list of late interaction: the candidates of words and meaning, by their token vectors."""

from __future__ import annotations

from ..query.late_interaction import LateInteraction, TokenQuestion, with_missing
from .candidates import Candidates, RankedRecord, Ranking
from .fusion import blend

__all__ = ["rank_late"]

_PROPOSING = ("text", "vector")
# Share of the candidates that has token vectors, below which there is no list: with half of them it
# says less than the vectors do.
_MADE = 0.75


def rank_late(
    late: LateInteraction, candidates: Candidates, question: TokenQuestion
) -> Ranking | None:
    """Rank what words and vectors propose by late interaction; None where much of it has no token
    vectors yet.

    Raises:
        EmbedderError: the token encoder does not work.
    """
    ids = [*dict.fromkeys(id for part in _PROPOSING for id in candidates.scores(part))]
    scores = late.scores(question, ids)
    # one without tokens says nothing, and must not draw the scale down to it
    low = min((score for score in scores.values() if score > -1), default=None)
    if low is None or len(scores) < _MADE * len(ids):
        return None
    scores = with_missing(scores, ids, blend(candidates.scores("vector")))
    ordered = sorted(ids, key=lambda id: -scores[id])
    ranked = [RankedRecord(candidates[id].record, scores[id]) for id in ordered]
    return Ranking(ranked, floor=low)
