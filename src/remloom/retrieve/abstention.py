"""Whether what was found answers the question at all.

Two doubts, each measured on questions that had no answer (docs/retrieval.md): nothing found is near
the question in meaning or has its words; or it is about somebody else than whom the question names.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..model import Resource
from ..store.contract import Store
from ..text.analysis import IS_CJK, term_set
from .candidates import Candidate, Pool
from .fusion import blend
from .question import Named
from .signals import speaker

__all__ = ["attribution", "drop_far", "misattributed", "unrelated"]

# cosine, by model, below which the best window is hardly about the question
NEAR = {"all-MiniLM-L6-v2": 0.38}
FAR = {"all-MiniLM-L6-v2": 0.1}  # cosine, by model, below which a record is about something else
# share of the question's words in the best records, below which they are hardly about it
COVERED = 0.4
_BEST = 3  # records, or sentences, that are judged by
_JUDGED = 30  # candidates whose sentences are looked at
MISATTRIBUTED = 0.56  # by how much more the sentences about others fit

# English only; in other languages no sentence is about anyone, and nothing is doubted.
_FIRST = re.compile(
    r"\b(?:I|me|my|mine|myself|we|us|our|ours)\b(?:[’'](?:m|ve|d|ll|re))?", re.IGNORECASE
)
_SECOND = re.compile(r"\b(?:you|your|yours|yourself)\b", re.IGNORECASE)


def unrelated(pool: Pool, best: Sequence[Candidate], text: str, model: str) -> str:
    """Why nothing found is about the question; empty when something is."""
    if not best:
        return "nothing was found"
    wanted = term_set(text)
    vectors = pool.lists.get("vector", {})
    near = max(vectors.values(), default=-1.0)
    if vectors and (model not in NEAR or near >= NEAR[model]):
        return ""
    covered = (
        max((len(wanted & _words(one)) / len(wanted) for one in best[:_BEST]), default=0.0)
        if wanted
        else 0.0
    )
    if covered >= (COVERED / 2 if IS_CJK.search(text) else COVERED):
        return ""
    nearness = (
        f", and nothing is nearer in meaning than {near:.2f}" if model in NEAR and vectors else ""
    )
    return f"nothing remembered has more than {covered:.0%} of the words{nearness}"


def drop_far(pool: Pool, model: str) -> None:
    """Drop the candidates for which nothing speaks but a vector that is far from the question's: in
    a small memory the nearest are all there are."""
    nearness = pool.lists.get("vector", {})
    others = {id for part, scores in pool.lists.items() if part != "vector" for id in scores}
    for id, near in nearness.items():
        if near < FAR.get(model, -1.0) and id not in others:
            del pool.candidates[id]


def _words(candidate: Candidate) -> set[str]:
    record = candidate.record
    said = f"{record.content}\n{record.context}" if isinstance(record, Resource) else record.summary
    return term_set(f"{record.name}\n{said}")


def misattributed(
    store: Store, pool: Pool, names: Sequence[Named], query: Sequence[float] | None
) -> str:
    """Whom the records are about instead of the one person the question names; empty when that is
    in order."""
    measure = attribution(store, pool, names, query)
    if measure is None or measure < MISATTRIBUTED:
        return ""
    name = next(named.record.name for named in names if named.speaks)
    return f"what was found is about somebody else than {name}"


def attribution(
    store: Store, pool: Pool, names: Sequence[Named], query: Sequence[float] | None
) -> float | None:
    """By how much the sentences about others fit the question better than those about whom it
    names.

    In a chat "I" is about the speaker, and "you" about the other. None where the question names
    nobody who speaks, or several.
    """
    import numpy as np

    keys = {frozenset(named.keys) for named in names if named.speaks}
    if len(keys) != 1 or query is None:
        return None
    person = next(iter(keys))
    fit: dict[str, float] = {}
    for part in ("text", "vector"):
        for id, value in blend(pool.lists.get(part, {})).items():
            fit[id] = fit.get(id, 0.0) + value
    judged = [pool.candidates[id] for id in sorted(fit, key=lambda id: -fit[id])[:_JUDGED]]
    vector = np.asarray(query, np.float32)
    about_person: list[tuple[str, float]] = []
    about_others: list[tuple[str, float]] = []
    cosines: dict[str, float] = {}
    for candidate in judged:
        record = candidate.record
        said_by = speaker(record)
        if not said_by or not isinstance(record, Resource):
            continue
        windows = store.vectors(record.id)
        for number, window in enumerate(windows[1:] or windows):  # the first is the whole turn
            sentence = record.content[window.start : window.end]
            own, other = _FIRST.search(sentence), _SECOND.search(sentence)
            name = f"{record.id} {number}"
            cosines[name] = float(np.frombuffer(window.data, np.float32) @ vector)
            mine = said_by in person
            if (own if mine else other) is not None:
                about_person.append((name, fit[record.id]))
            if (other if mine else own) is not None:
                about_others.append((name, fit[record.id]))
    if not about_others:
        return None
    near = blend(cosines)

    def fits(sentences: list[tuple[str, float]]) -> float:
        best = sorted((near[name] + base for name, base in sentences), reverse=True)[:_BEST]
        return sum(best) / _BEST

    return fits(about_others) - fits(about_person)
