"""The records that may answer a question, and what each part of the search says for them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field

from ..model import Reason, RecallHit, Record
from ..query.duplicates import source_of, text_of
from .fusion import Fusion, blend, rrf

__all__ = ["Candidate", "Pool", "hit"]

Path = tuple[tuple[str, str, str], ...]
Scale = tuple[float | None, float | None]
# the fields of a Reason, in order: made one only for what is returned
Why = tuple[str, float, int, float, str]


@dataclass
class Candidate:
    """A record that may answer."""

    record: Record
    matched: str = ""
    path: Path = ()
    score: float = 0.0
    reasons: list[Why] = field(default_factory=list)
    copies: list[str] = field(default_factory=list)  # sources of other records with its text


class Pool:
    """Candidates by id. Parts that find put in lists; parts that weigh add to the score of who is
    there."""

    def __init__(self) -> None:
        self.candidates: dict[str, Candidate] = {}
        self.lists: dict[str, dict[str, float]] = {}
        self._scales: dict[str, Scale] = {}

    def put(
        self,
        part: str,
        found: Iterable[tuple[Record, float, str, Path]],
        scale: Scale = (None, None),
    ) -> None:
        """Put in a part's list: records with score, matched window and path; the first entry of a
        record counts.

        `scale` is what scores are worth nothing and all; else it is what the lowest and the highest
        of the list have.
        """
        scores = self.lists.setdefault(part, {})
        self._scales[part] = scale
        for record, score, matched, path in found:
            candidate = self.candidates.get(record.id)
            if candidate is None:
                candidate = self.candidates[record.id] = Candidate(record)
            candidate.matched = candidate.matched or matched
            candidate.path = candidate.path or path
            scores.setdefault(record.id, score)

    def fuse(self, fusion: Fusion, weights: Mapping[str, float]) -> None:
        """Give every candidate the weighted sum of what the lists say."""
        for part, scores in self.lists.items():
            floor, top = self._scales[part]
            values = blend(scores, floor=floor, top=top) if fusion == "blend" else rrf(scores)
            weight = weights[part]
            for rank, id in enumerate(sorted(scores, key=scores.__getitem__, reverse=True), 1):
                candidate, share = self.candidates[id], weight * values[id]
                candidate.score += share
                candidate.reasons.append((part, share, rank, scores[id], ""))

    @staticmethod
    def weigh(
        candidate: Candidate,
        part: str,
        share: float,
        *,
        rank: int = 0,
        score: float = 0.0,
        note: str = "",
    ) -> None:
        """Add a part's share to a candidate's score."""
        candidate.score += share
        candidate.reasons.append((part, share, rank, score, note))

    def best(self, count: int | None = None) -> list[Candidate]:
        """The candidates by score, ties in the order found; of one text the first, with the others'
        sources."""
        kept: dict[Hashable, Candidate] = {}
        for candidate in sorted(self.candidates.values(), key=lambda candidate: -candidate.score):
            same = kept.setdefault(text_of(candidate.record) or candidate.record.id, candidate)
            if same is candidate:
                candidate.copies.clear()
            else:
                same.copies.append(source_of(candidate.record))
        return list(kept.values())[:count]


def hit(candidate: Candidate) -> RecallHit:
    """A candidate as a value; its reasons from the weightiest."""
    weightiest = sorted(candidate.reasons, key=lambda why: -abs(why[1]))
    reasons = tuple(
        Reason(part=part, share=share, rank=rank, score=score, note=note)
        for part, share, rank, score, note in weightiest
    )
    return RecallHit(
        record=candidate.record, score=candidate.score, matched=candidate.matched, reasons=reasons,
        path=candidate.path, copies=tuple(candidate.copies),
    )  # fmt: skip
