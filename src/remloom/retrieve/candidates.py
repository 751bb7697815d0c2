"""The records that may answer a question, and what each part of the search says for them."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from operator import attrgetter

from msgspec import Struct

from ..model import SESSION_GAP, Reason, RecallHit, Record, Resource
from ..model.supersession import is_hidden
from ..query.duplicates import source_of, text_of
from .scores import blend, rrf

Path = tuple[tuple[str, str, str], ...]  # edges: keys and type
# the fields of a Reason, in order: made one only for what is returned
Share = tuple[str, float, int, float, str]
_SCORE = attrgetter("score")
_HITS_A_SUMMARY = 10
_MOST_COUNTED = 20  # hits that summaries take places of
_QUESTION_ENDS = ("?", "？", "?)", '?"')


def in_one_session(one: Resource, other: Resource) -> bool:
    """Whether two turns were said in one session of a chat; True where no times tell."""
    if one.uri != other.uri:
        return False
    if one.starts_at is None or other.starts_at is None:
        return True
    return abs(other.starts_at - one.starts_at) <= SESSION_GAP


def asks(turn: Resource) -> bool:
    """Whether it ends in a question."""
    return turn.content.rstrip().endswith(_QUESTION_ENDS)


class RankedRecord(Struct, frozen=True, gc=False):
    """A record as one part of the search found it."""

    record: Record
    score: float
    matched: str = ""  # its window, "start:end"
    path: Path = ()  # the edges walked to it


class Ranking(Struct, frozen=True):
    """The list of one part of the search; the first entry of a record counts."""

    records: list[RankedRecord]
    # the scores that become 0 and 1; None: the lowest and the highest of the list
    floor: float | None = None
    top: float | None = None


def ranking_beside(
    records: list[RankedRecord], schemas: Collection[str], floor: float | None = None
) -> Ranking:
    """A list of texts with summaries, the records of `schemas`, among them: on the scale of the
    texts, which are worth what they are without summaries."""
    scores = [one.score for one in records if one.record.schema not in schemas]
    if not scores or len(scores) == len(records):
        return Ranking(records, floor=floor)
    return Ranking(records, floor=min(scores) if floor is None else floor, top=max(scores))


class Candidate(Struct, gc=False, eq=False):
    """A record that may answer."""

    record: Record
    matched: str = ""
    path: Path = ()
    score: float = 0.0
    shares: list[Share] = []
    copies: list[str] = []  # sources of other records with its text

    def add_share(
        self,
        part: str,
        share: float,
        *,
        rank: int = 0,
        score: float = 0.0,
        note: str = "",
    ) -> None:
        """Add a part's share to the score."""
        self.score += share
        self.shares.append((part, share, rank, score, note))

    def rescale(self, factor: float) -> None:
        """Multiply the score, and every share of it."""
        self.score *= factor
        self.shares = [
            (part, share * factor, rank, score, note)
            for part, share, rank, score, note in self.shares
        ]

    def as_hit(self) -> RecallHit:
        """The candidate as a value, its reasons from the weightiest."""
        weightiest = sorted(self.shares, key=lambda share: -abs(share[1]))
        reasons = tuple(
            Reason(part=part, share=share, rank=rank, score=score, note=note)
            for part, share, rank, score, note in weightiest
        )
        return RecallHit(
            record=self.record,
            score=self.score,
            matched=self.matched,
            reasons=reasons,
            path=self.path,
            copies=tuple(self.copies),
        )


class CandidateTurn(Struct, frozen=True, gc=False):
    """A candidate that is a turn of a chat."""

    candidate: Candidate
    record: Resource
    speaker: str  # empty where only a role is stated
    role: str  # see `Resource.role`


class Candidates:
    """Candidates by id: signals add their lists, boosts change the scores of those found."""

    def __init__(self) -> None:
        self._by_id: dict[str, Candidate] = {}
        self._scores: dict[str, dict[str, float]] = {}
        self._rankings: dict[str, Ranking] = {}
        self._turns: list[CandidateTurn] | None = None  # as far as they were asked for

    def __iter__(self) -> Iterator[Candidate]:
        return iter(self._by_id.values())

    def __contains__(self, id: str) -> bool:
        return id in self._by_id

    def __getitem__(self, id: str) -> Candidate:
        return self._by_id[id]

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of the search that gave a list."""
        return tuple(self._scores)

    @property
    def turns(self) -> Sequence[CandidateTurn]:
        if self._turns is None:
            self._turns = [
                CandidateTurn(candidate, record, record.speaker, record.role)
                for candidate in self._by_id.values()
                if isinstance(record := candidate.record, Resource)
                and (metadata := record.metadata)
                and ("speaker" in metadata or "role" in metadata)
            ]
        return self._turns

    def scores(self, part: str) -> Mapping[str, float]:
        """The scores in the list of one part, by id; empty if it gave none."""
        return self._scores.get(part, {})

    def add(self, part: str, ranking: Ranking) -> None:
        """Add the list of one part."""
        scores = self._scores[part] = {}
        self._rankings[part] = ranking
        self._turns = None
        by_id = self._by_id
        for one in ranking.records:
            id = one.record.id
            candidate = by_id.get(id)
            if candidate is None:
                if is_hidden(one.record):
                    # by its name
                    continue
                by_id[id] = Candidate(one.record, one.matched, one.path)
            else:
                candidate.matched = candidate.matched or one.matched
                candidate.path = candidate.path or one.path
            scores.setdefault(id, one.score)

    def include(self, record: Record) -> Candidate:
        """The candidate of a record; a new one, without a score, if there was none."""
        self._turns = None
        return self._by_id.setdefault(record.id, Candidate(record))

    def drop(self, id: str) -> None:
        """Take a candidate out, if it is there; its scores in the lists stay."""
        self._by_id.pop(id, None)
        self._turns = None

    def hold_summaries(self, schemas: Collection[str], limit: int) -> None:
        """Let few summaries, the records of `schemas`, take places of texts: one in ten hits. Of
        the others only their names count, which the question may have."""
        summaries = [one for one in self._by_id.values() if one.record.schema in schemas]
        if not summaries:
            return
        free = limit - (len(self._by_id) - len(summaries))
        # a budget of tokens may end a long list early
        room = max(1, min(limit, _MOST_COUNTED) // _HITS_A_SUMMARY, free)
        for one in sorted(summaries, key=_SCORE, reverse=True)[room:]:
            named = [share for share in one.shares if share[0] == "entity"]
            one.shares, one.score = named, sum(share[1] for share in named)
            if not named:
                self.drop(one.record.id)

    def fuse(self, fusion: str, weights: Mapping[str, float]) -> None:
        """Give every candidate the weighted sum of what the lists say."""
        for part, scores in self._scores.items():
            ranking = self._rankings[part]
            if fusion == "blend":
                blended = blend(scores, floor=ranking.floor, top=ranking.top)
            else:
                blended = rrf(scores)
            weight = weights[part]
            ordered = sorted(scores, key=scores.__getitem__, reverse=True)
            for rank, id in enumerate(ordered, 1):
                candidate, share = self._by_id[id], weight * blended[id]
                candidate.score += share
                candidate.shares.append((part, share, rank, scores[id], ""))

    def first(self, count: int) -> list[Candidate]:
        """What `best` begins with; the sources of its other texts are not gathered."""
        by_text: dict[Hashable, Candidate] = {}
        for candidate in sorted(self._by_id.values(), key=_SCORE, reverse=True):
            by_text.setdefault(text_of(candidate.record) or candidate.record.id, candidate)
            if len(by_text) == count:
                break
        return list(by_text.values())

    def best(self, count: int | None = None) -> list[Candidate]:
        """The candidates by score, ties in the order found.

        Of one text only the first is among them, with the sources of the others.
        """
        by_text: dict[Hashable, Candidate] = {}
        for candidate in sorted(self._by_id.values(), key=_SCORE, reverse=True):
            text = text_of(candidate.record) or candidate.record.id
            first = by_text.setdefault(text, candidate)
            if first is candidate:
                candidate.copies.clear()
            else:
                first.copies.append(source_of(candidate.record))
        return list(by_text.values())[:count]
