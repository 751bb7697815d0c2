"""Boosts: the parts of a hybrid search that raise or lower what was found.

To add one, write a function that boosts candidates, and list it in `BOOSTS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import Struct

from .. import labels
from ..model import Record, Resource
from ..store.batch import Vector
from ..store.contract import Store
from .candidates import Candidate, Candidates, asks, in_one_session
from .guidance import is_instruction, replies, user_turns
from .options import HALF_LIFE
from .question import TOLD, RecallQuestion
from .scores import blend, cosines

_OF_REPLIES = 0.5  # of the weight, how far they are raised where it is asked what was told
_AFTERMATH = timedelta(days=7)  # in which what happened is still spoken of

_RECENT_LOOKED_AT = 5  # of the best
# cosine of the best sentences of two turns, from which they are about the same thing
_ALIKE = 0.4
_LEAD = 1e-6  # of the newer


class Boost(Struct, frozen=True):
    """A part of the search that weighs: `apply` adds shares, up to a weight, to candidates."""

    part: str
    weight: float  # of what fits best, in the score
    apply: Callable[[Candidates, RecallQuestion, float], None]


def _boost_speakers(candidates: Candidates, question: RecallQuestion, weight: float) -> None:
    """Raise what was said by those whom the question is about."""
    names = {key: named.record.name for named in question.subjects for key in named.keys}
    if not names:
        return
    for turn in candidates.turns:
        name = names.get(labels.key(turn.speaker)) if turn.speaker else None
        if name:
            turn.candidate.add_share("speaker", weight, note=f"said by {name}")


def _lower_questions(candidates: Candidates, _question: RecallQuestion, weight: float) -> None:
    """Lower the turns that end in a question: the answer is mostly in another."""
    for candidate, _ in _asking(candidates):
        candidate.add_share("asks", weight, note="it asks")


def _boost_answers(candidates: Candidates, _question: RecallQuestion, weight: float) -> None:
    """Raise the turn after one that asks something similar: a short answer says little itself."""
    asking = {(turn.uri, turn.ordinal + 1): turn for _, turn in _asking(candidates)}
    if not asking:
        return
    nearness = blend(candidates.scores("vector") or candidates.scores("text"))
    for candidate in candidates:
        turn = candidate.record
        if not isinstance(turn, Resource):
            continue
        before = asking.get((turn.uri, turn.ordinal))
        if before is not None and in_one_session(before, turn):
            similarity = nearness.get(before.id, 0.0)
            if similarity:
                candidate.add_share("answers", weight * similarity, note=f"answers {before.name}")


def _asking(candidates: Candidates) -> list[tuple[Candidate, Resource]]:
    return [
        (turn.candidate, turn.record)
        for turn in candidates.turns
        if turn.speaker and asks(turn.record)
    ]


def _boost_roles(candidates: Candidates, question: RecallQuestion, weight: float) -> None:
    """Lower an assistant's replies, which repeat the user, unless the question asks for them."""
    share = -weight * _OF_REPLIES if question.kind == TOLD else weight
    for candidate in replies(candidates):
        candidate.add_share("role", share, note="an assistant's reply")


def _boost_time(candidates: Candidates, question: RecallQuestion, weight: float) -> None:
    """Raise records of the time named, and half as much those of the week after it.

    If none is of it, but some are earlier and some later: all, by how near they are to it.
    """
    window = question.window
    times = {one: at for one in candidates if (at := getattr(one.record, "starts_at", None))}
    if window is None or not times:
        return
    is_within = min(times.values()) < window.start <= max(times.values())
    if is_within and not any(at in window for at in times.values()):
        days = {one: window.days_from(at) for one, at in times.items()}
        for candidate, away in days.items():
            share, day = weight * min(days.values()) / away, f"{times[candidate]:%Y-%m-%d}"
            candidate.add_share("time", share, note=f"of {day}, near {window.expression!r}")
        question.notes.append(f"nothing that was found is of {window}: the nearest was raised")
        return
    for candidate, at in times.items():
        if at in window:
            candidate.add_share("time", weight, note=f"in the time of {window.expression!r}")
        elif any(end <= at < end + _AFTERMATH for _, end in window.spans):
            candidate.add_share("time", weight / 2, note=f"soon after {window.expression!r}")


def _boost_history(candidates: Candidates, question: RecallQuestion, weight: float) -> None:
    _boost_naming(candidates, question.conversation.topics, "history", weight)


def _boost_preferences(candidates: Candidates, question: RecallQuestion, weight: float) -> None:
    preferences = question.options.preferences
    weights = {labels.key(label): preference for label, preference in preferences.items()}
    _boost_naming(candidates, weights, "preferences", weight)


def _boost_naming(
    candidates: Candidates,
    weights: Mapping[str, float],
    part: str,
    weight: float,
) -> None:
    """Boost what names any of these keys, by the highest weight among them (-1..1)."""
    if not weights:
        return
    for candidate in candidates:
        named = _names_of(candidate.record)
        best = max((key for key in weights if key in named), key=weights.__getitem__, default=None)
        if best is not None:
            candidate.add_share(part, weight * weights[best], note=f"names {best}")


def _names_of(record: Record) -> set[str]:
    names: Iterable[str] = (record.name,)
    if isinstance(record, Resource):
        names = record.related_entities
    return {labels.key(name) for name in names if name.strip()}


def _boost_recent(candidates: Candidates, question: RecallQuestion, weight: float) -> None:
    """Raise what is recent: by half as much for every half-life of age."""
    options = question.options
    if options.half_life is None and options.mode != "contextual":
        return
    half_life = options.half_life or HALF_LIFE
    now = options.now or options.as_of or datetime.now(UTC)
    for candidate in candidates:
        at = getattr(candidate.record, "starts_at", None) or candidate.record.created_at
        if at is not None:
            days = max(0.0, (now - at).total_seconds() / 86_400)
            share = weight * 0.5 ** (days / half_life)
            candidate.add_share("recency", share, note=f"{days:.0f} days old")


BOOSTS = (
    Boost("speaker", 0.5, _boost_speakers),
    Boost("asks", -0.15, _lower_questions),
    Boost("answers", 0.5, _boost_answers),
    Boost("role", -0.4, _boost_roles),
    Boost("time", 0.8, _boost_time),
    Boost("history", 0.3, _boost_history),
    Boost("preferences", 0.3, _boost_preferences),
    Boost("recency", 0.2, _boost_recent),
)


def raise_newer_turns(
    store: Store, candidates: Candidates, question: RecallQuestion, most: float
) -> None:
    """Raise a turn above an older one that is of one thing and leads by `most` at most."""
    users = {turn.id: turn for _, turn in user_turns(candidates)}
    turns = [
        one
        for one in candidates.first(_RECENT_LOOKED_AT)
        # what is to be heeded holds whatever is said later
        if one.record.id in users and not is_instruction(users[one.record.id].content)
    ]
    if question.vector is None or len(turns) < 2:
        return
    windows = store.vectors.of([one.record.id for one in turns])
    nearest = {id: _nearest(some, question.vector) for id, some in windows.items()}
    for older in turns:
        for newer in turns:
            before, after = users[older.record.id], users[newer.record.id]
            if before.starts_at is None or after.starts_at is None:
                continue
            gap = older.score - newer.score
            is_later = after.uri == before.uri and after.starts_at > before.starts_at
            if not is_later or not 0 <= gap <= most or not {before.id, after.id} <= set(nearest):
                continue
            if _are_similar(nearest[before.id], nearest[after.id]):
                newer.add_share("newer", gap + _LEAD, note=f"newer than {before.name}")


def _nearest(windows: Sequence[Vector], question: Sequence[float]) -> Vector:
    """The sentence most like the question; the first window is the whole turn."""
    sentences = windows[1:] or windows
    similarities = cosines(sentences, question)
    return sentences[similarities.index(max(similarities))]


def _are_similar(one: Vector, other: Vector) -> bool:
    import numpy as np

    vector: Any = np.frombuffer(other.data, np.float32)
    return cosines([one], vector)[0] >= _ALIKE
