"""Which sessions decide what is asked, which of their turns tell it, and what amended that later.

A prompt says what is wrong in other words than those by which it was decided, and no turn alone is
much like it: a session is, by all that was said in it. What is said in passing, months later, of
the same thing amends it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from ...heads.features import LONGEST
from ...model import Episode, Reason, RecallHit
from ...model.supersession import amended_of
from ...store.contract import Store
from ...store.specs import SearchSpec
from ..candidates import Candidates
from ..question import RecallQuestion
from .measures import (
    AMENDS,
    DECIDES,
    ORDER,
    TURNS,
    Columns,
    Words,
    learned,
    of_first,
    of_pair,
    of_sessions,
    of_turns,
    probabilities,
    weigh,
)
from .sessions import ChatSession, ChatSessions, gains_of

PART = "episode"
MOST = 3  # episodes, besides what amends them
_ENOUGH = 0.9  # probability of all that are given, at which no further one is
_LEAST = 0.05  # of one, below which it is not given
_DECIDING = 3  # turns that an amendment is compared with
# probability from which on a session is taken to amend an earlier one; of two that are given both
_AMENDED, _BOTH_GIVEN = 0.3, 0.05
_MOST_AMENDING = 2
_EARLIER = 8  # of the sessions that fit best, one may be what another amends
_PROPOSED = 30  # turns that words propose as an amendment, and that meaning does
_MORE = 6  # sessions of them that are looked at
_TOLD = 0.02  # probability of a turn, below which it is left out; the best is given in any case
_MOST_TOLD = 12  # turns of an episode
_SURE = 0.5  # probability, below which nothing decides


class _Chosen(NamedTuple):
    """A session that is given."""

    session: ChatSession
    share: float  # probability that it decides, or that of what it amends
    reasons: tuple[Reason, ...]
    earlier: ChatSession | None = None  # what it amends


def find_episodes(
    store: Store, candidates: Candidates, question: RecallQuestion
) -> tuple[list[Episode], str]:
    """Find the few episodes that decide what is asked, each behind what amends it; or none, and
    why."""
    gains = gains_of(candidates)
    sessions = ChatSessions(store, question.vector, question.predicate)
    found = sessions.of(gains, known=candidates)
    if not found:
        return [], ""
    search = _Search(store, question, candidates, sessions, found)
    if question.options.abstain and (doubt := search.doubt()):
        return [], doubt
    return [search.episode(one) for one in search.chosen()], ""


class _Search:
    """The sessions of one question."""

    def __init__(
        self,
        store: Store,
        question: RecallQuestion,
        candidates: Candidates,
        sessions: ChatSessions,
        found: Sequence[ChatSession],
    ) -> None:
        self._store = store
        self._question = question
        self._candidates = candidates
        self._sessions = sessions
        self._words = Words(found)
        columns = of_sessions(found, self._words, question.text)
        scores = weigh(ORDER, columns)
        shares = np.exp(scores - scores.max())
        shares /= shares.sum()
        order = np.argsort(-scores, kind="stable").tolist()
        self._found = [found[number] for number in order]
        self._shares = [float(shares[number]) for number in order]
        self._reasons = [_reasons(columns, number) for number in order]
        self._counts = [self._words.counts[number] for number in order]
        self._given: set[str] = set()  # ids, without regard to what amends what
        self._top = max(float(one.gains.max()) for one in found)

    def doubt(self) -> str:
        """Say why nothing decides; empty if something does."""
        if self._question.vector is None:
            # nobody learned how few words are too few
            return ""
        columns = of_first(self._found[0], self._counts[0], self._words, self._question.text)
        sure = float(probabilities(weigh(DECIDES, columns))[0])
        if sure >= _SURE:
            return ""
        return (
            f"no session is about it: that which fits best decides it with a probability of "
            f"{sure:.2f} (needed: {_SURE:.2f})"
        )

    def chosen(self) -> list[_Chosen]:
        """The sessions that are given, in their order."""
        chosen: dict[str, _Chosen] = {}
        total = 0.0
        most = min(MOST, self._question.options.limit)
        firsts: list[tuple[ChatSession, float, tuple[Reason, ...]]] = []
        for first in zip(self._found[:most], self._shares, self._reasons, strict=False):
            if firsts and (total >= _ENOUGH or first[1] < _LEAST):
                break
            firsts.append(first)
            total += first[1]
        self._given = {session.id for session, *_ in firsts}
        for session, share, reasons in firsts:
            if session.id in chosen:
                continue
            own = _Chosen(session, share, reasons)
            amending = [one for one in self._amending(own) if one.session.id not in chosen]
            amended = [one for one in self._amended(own) if one.session.id not in chosen]
            if amended:
                own = own._replace(earlier=amended[0].session)
            for one in (*amending, own, *amended):
                chosen[one.session.id] = one
        return list(chosen.values())

    def _amending(self, one: _Chosen) -> list[_Chosen]:
        """What amends a session, the newest first."""
        deciding = self._deciding(one.session)
        # by what somebody said as they wrote it
        marked = {mark.by: 1.0 for turn in one.session.turns if (mark := amended_of(turn))}
        sure = {other.id: (1.0, other) for other in self._sessions.of(marked)} if marked else {}
        # a search takes its time: it is for what likely decides
        is_first = one.session is self._found[0]
        proposed = self._proposed(one.session, deciding) if is_first else []
        for other in (*self._found, *proposed):
            if one.session.is_before(other) and other.id not in sure:
                sure[other.id] = self._amends(other, one.session, deciding), other
        found = [
            _Chosen(other, one.share, _amends(probability, one.session), one.session)
            for probability, other in sure.values()
            if probability >= self._needed(other) and other.id != one.session.id
        ]
        found.sort(key=lambda amending: -amending.reasons[0].share)
        found = found[:_MOST_AMENDING]
        return sorted(found, key=lambda amending: str(amending.session.starts_at), reverse=True)

    def _amended(self, one: _Chosen) -> list[_Chosen]:
        """What a session amends, the likeliest first; at most one."""
        sure = [
            (self._amends(one.session, other, self._deciding(other)), other)
            for other in self._found[:_EARLIER]
            if other.is_before(one.session)
        ]
        if not sure:
            return []
        best, other = max(sure, key=lambda pair: pair[0])
        if best < self._needed(other):
            return []
        reason = Reason(part=AMENDS, share=best, note=f"amended by {one.session.name}")
        return [_Chosen(other, one.share, (reason,))]

    def _needed(self, other: ChatSession) -> float:
        return _BOTH_GIVEN if other.id in self._given else _AMENDED

    def _proposed(self, session: ChatSession, deciding: Sequence[int]) -> list[ChatSession]:
        """Further sessions with turns that are like what was decided, or have its words."""
        spec = SearchSpec(_PROPOSED, "resources", self._question.predicate)
        text = " ".join(session.turns[number].content for number in deciding)
        matches = self._store.search.text(text[:LONGEST], spec)
        if self._question.vector is not None:
            vector = session.rows[list(deciding)].sum(axis=0)
            matches = [*matches, *self._store.search.vector(vector.tolist(), spec)]
        known = {turn.id for one in self._found for turn in one.turns}
        ids = [match.record.id for match in matches if match.record.id not in known]
        return self._sessions.of({id: float(ids.count(id)) for id in ids}, _MORE) if ids else []

    def _amends(self, later: ChatSession, earlier: ChatSession, deciding: Sequence[int]) -> float:
        columns = of_pair(later, later.counts(), earlier, deciding, self._words)
        return float(probabilities(weigh(AMENDS, columns))[0])

    def _deciding(self, session: ChatSession) -> list[int]:
        """The turns that most likely decide."""
        log_odds = weigh(TURNS, of_turns(session, self._top))
        best: list[int] = np.argsort(-log_odds, kind="stable")[:_DECIDING].tolist()
        return best

    def episode(self, one: _Chosen) -> Episode:
        """The episode of a session: with the turns that may decide, in their order."""
        session, earlier = one.session, one.earlier
        amended = None if earlier is None else earlier.rows[self._deciding(earlier)]
        sure = probabilities(weigh(TURNS, of_turns(session, self._top, amended)))
        best = np.argsort(-sure, kind="stable")[:_MOST_TOLD].tolist()
        told = sorted(number for number in best if number == best[0] or sure[number] >= _TOLD)
        return Episode(
            id=session.id,
            name=session.name,
            uri=session.uri,
            starts_at=session.starts_at,
            ends_at=session.ends_at,
            score=one.share,
            reasons=one.reasons,
            amends="" if earlier is None else earlier.id,
            amends_at=None if earlier is None else earlier.starts_at,
            hits=tuple(self._hit(session, n, float(sure[n]), one.share) for n in told),
        )

    def _hit(self, session: ChatSession, number: int, sure: float, share: float) -> RecallHit:
        turn = session.turns[number]
        reason = Reason(part=PART, share=sure, note="probability that it decides")
        if turn.id not in self._candidates:
            return RecallHit(record=turn, score=sure * share, reasons=(reason,))
        hit = self._candidates[turn.id].as_hit()
        return replace(hit, score=sure * share, reasons=(reason, *hit.reasons))


def _reasons(columns: Columns, number: int) -> tuple[Reason, ...]:
    """What speaks for a session, the weightiest first."""
    weights = learned()[ORDER]
    shares = {name: weights.get(name, 0.0) * float(of[number]) for name, of in columns.items()}
    found = [Reason(part=name.partition(",")[0], share=share) for name, share in shares.items()]
    return tuple(sorted(found, key=lambda reason: -abs(reason.share)))


def _amends(sure: float, earlier: ChatSession) -> tuple[Reason, ...]:
    return (Reason(part=AMENDS, share=sure, note=f"amends {earlier.name}"),)
