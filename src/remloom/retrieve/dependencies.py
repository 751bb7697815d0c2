"""What depends on something: a hit that says so, in `rests_on` or in its text, brings along what
was said later of that on which it depends.

The question does not name that: "Who reviews this?", where reviews go with the lead of a team. So
no search for the question finds that there is another lead by now.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log
from typing import TYPE_CHECKING, NamedTuple

from ..heads.features import LONGEST
from ..heads.head import DEPENDENCY, head
from ..model import Resource
from ..model.records import ASSISTANT, NOBODY
from ..predicates import And, Eq, Gt, Predicate
from ..store.batch import Vector
from ..store.contract import Store
from ..store.specs import SearchSpec
from ..text.analysis import term_set
from .candidates import Candidate, Candidates
from .question import OVERVIEWS, TOLD, RecallQuestion
from .scores import blend, cosines

if TYPE_CHECKING:
    from ..embed.contract import Floats
    from ..query.late_interaction import LateInteraction

PART = "dependencies"
_STATING, _SAYING = 20, 3  # hits of which it is asked whether they state, or say in their text
_MOST = 2  # of them are followed
_DEPENDS = 0.4  # probability from which on a text is taken to say that something depends
_PROPOSED = 30  # later texts that words propose, and that meaning does
_FIRST = 20  # hits among which what they depend on is put
# one in so many hits is for what a text depends on, and for what a statement does; how many at most
_ROOM, _MOST_SAID = 20, 3
_STATED_ROOM, _MOST_STATED = 5, 4
_STEP = 1e-6  # between scores
_ASKED_WHOLE = (*OVERVIEWS, TOLD)  # kinds of questions that are not about how something is


class _Dependent(NamedTuple):
    """A hit that depends on something."""

    candidate: Candidate
    record: Resource
    vector: Floats | None  # of its text

    @property
    def on(self) -> str:
        """The words of what it depends on, where that is stated."""
        return " ".join(self.record.rests_on).replace(".", " ")


def bring_changes(
    store: Store, candidates: Candidates, question: RecallQuestion, late: LateInteraction | None
) -> None:
    """Bring what was said later of what the best hits depend on: right behind the hit that states
    what it rests on; where only its text says so, to the end of the first twenty.

    Where none of the best depends on anything, nothing is searched.
    """
    if question.kind in _ASKED_WHOLE:
        return
    limit = question.options.limit
    count = min(limit, _FIRST)
    first = candidates.first(count)
    ids = {one.record.id for one in first}
    found: list[tuple[_Dependent, list[Candidate]]] = []
    for one in _dependents(store, first):
        of, most = (_STATED_ROOM, _MOST_STATED) if one.on else (_ROOM, _MOST_SAID)
        most = max(1, min(most, limit // of))
        later = _said_later(store, one, question.predicate, late)[:most]
        new = [candidates.include(record) for record in later if record.id not in ids]
        found.append((one, new))
        ids |= {record.id for record in later}
    brought = sum(len(new) for _, new in found)
    last = first[max(0, min(count - brought, len(first)) - 1)].score if brought else 0.0
    for one, new in found:
        score = one.candidate.score if one.on else last
        for place, candidate in enumerate(new, 1):
            share = score - place * _STEP - candidate.score
            candidate.add_share(PART, share, note=f"what {one.record.name} depends on")


def _dependents(store: Store, best: Sequence[Candidate]) -> list[_Dependent]:
    """The first hits that depend on something: those that state it, then those that say so."""
    texts = [(one, one.record) for one in best if isinstance(one.record, Resource)]
    stating = [pair for pair in texts[:_STATING] if pair[1].rests_on][:_MOST]
    told = [pair for pair in texts[:_SAYING] if not pair[1].rests_on and _is_told(pair[1])]
    if not stating and not told:
        return []
    windows = store.vectors.of([record.id for _, record in (*stating, *told)])
    found = [
        _Dependent(one, record, _whole(windows.get(record.id, ())))
        for one, record in (*stating, *told)
    ]
    model = store.vectors.model()
    decide = head(DEPENDENCY, model[0] if model else "").decide
    return [
        one
        for one in found
        if one.on or decide(one.record.content, one.vector).probabilities["depends"] >= _DEPENDS
    ][:_MOST]


def _is_told(record: Resource) -> bool:
    """Whether it is what somebody said, and not a reply of an assistant or a document: of those the
    head knows nothing."""
    if record.speaker:
        return record.role not in (ASSISTANT, NOBODY)
    return record.trust == "told" or not record.uri


def _whole(windows: Sequence[Vector]) -> Floats | None:
    """The first vector of a text, which is that of all of it where it has several."""
    import numpy as np

    return np.frombuffer(windows[0].data, np.float32) if windows else None


def _said_later(
    store: Store, one: _Dependent, where: Predicate | None, late: LateInteraction | None
) -> list[Resource]:
    """What was said later in the same chat, or written later, by how well it fits what this depends
    on: by meaning, by tokens, and by words, the rarer the better; by those of `rests_on` as much
    again."""
    text = f"{one.on} {one.record.content[:LONGEST]}"
    spec = SearchSpec(_PROPOSED, "resources", _after(one.record, where))
    matches = store.search.text(text, spec)
    vector: list[float] = [] if one.vector is None else one.vector.tolist()
    if vector:
        matches = [*matches, *store.search.vector(vector, spec)]
    later = {
        record.id: record
        for match in matches
        if isinstance(record := match.record, Resource) and _is_told(record)
    }
    windows = store.vectors.of(list(later)) if vector else {}
    meaning = {id: max(cosines(some, vector)) for id, some in windows.items() if some}
    terms = {id: term_set(record.content) for id, record in later.items()}
    counts = Counter(term for some in terms.values() for term in some)
    by_words = [
        {
            id: sum(log(1 + len(later) / counts[term]) for term in some & wanted)
            for id, some in terms.items()
        }
        for wanted in (term_set(one.record.content), term_set(one.on))
    ]
    by_tokens = late.scores_beside(one.record.id, list(later)) if late is not None else {}
    scores = dict.fromkeys(later, 0.0)
    for fits in (meaning, by_tokens, *by_words):
        for id, fit in blend(fits).items():
            scores[id] += fit
    return sorted(later.values(), key=lambda record: -scores[record.id])


def _after(record: Resource, where: Predicate | None) -> Predicate:
    """What was said after a record in its chat; of what is of no chat, what was written after."""
    if record.uri and record.speaker:
        later: tuple[Predicate, ...] = (Eq("uri", record.uri), Gt("ordinal", record.ordinal))
    else:
        later = (Gt("created_at", record.created_at),)
    return And((*later, where) if where is not None else later)
