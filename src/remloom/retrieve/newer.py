"""Of what a user told an assistant of one thing at different times, the newer goes before the older
where it is asked how things are: "How much is my rent?"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..store.batch import Vector
from ..store.contract import Store
from .candidates import Candidates
from .cosines import cosines
from .guidance import is_instruction, said_by_users
from .question.question import Question

_LOOKED_AT = 5  # of the best
# cosine of what is most like the question in two turns, from which they speak of the same thing
_ALIKE = 0.4
_LEAD = 1e-6  # of the newer


def raise_newer(store: Store, candidates: Candidates, question: Question, most: float) -> None:
    """Raise a turn above an older one that is of one thing and leads by `most` at most."""
    users = {turn.id: turn for _, turn in said_by_users(candidates)}
    told = [
        one
        for one in candidates.first(_LOOKED_AT)
        # what is to be heeded holds whatever is said later
        if one.record.id in users and not is_instruction(users[one.record.id].content)
    ]
    if question.vector is None or len(told) < 2:
        return
    windows = store.vectors.of([one.record.id for one in told])
    nearest = {id: _nearest(some, question.vector) for id, some in windows.items()}
    for older in told:
        for newer in told:
            before, after = users[older.record.id], users[newer.record.id]
            if before.starts_at is None or after.starts_at is None:
                continue
            gap = older.score - newer.score
            is_later = after.uri == before.uri and after.starts_at > before.starts_at
            if not is_later or not 0 <= gap <= most or not {before.id, after.id} <= set(nearest):
                continue
            if _are_alike(nearest[before.id], nearest[after.id]):
                newer.add_share("newer", gap + _LEAD, note=f"newer than {before.name}")


def _nearest(windows: Sequence[Vector], question: Sequence[float]) -> Vector:
    """The sentence most like the question; the first window is the whole turn."""
    sentences = windows[1:] or windows
    near = cosines(sentences, question)
    return sentences[near.index(max(near))]


def _are_alike(one: Vector, other: Vector) -> bool:
    import numpy as np

    vector: Any = np.frombuffer(other.data, np.float32)
    return cosines([one], vector)[0] >= _ALIKE
