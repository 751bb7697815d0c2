"""Whether what was found answers the question at all.

Two doubts, each measured on questions that had no answer (docs/recall-quality.md): nothing found is
near the question in meaning or has its words; or it is about others than the person the question
names.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from heapq import nlargest
from math import ceil
from operator import attrgetter
from typing import NamedTuple

from ..embed.model_card import ModelCard
from ..model import Resource, Row
from ..predicates import Query
from ..store.batch import Vector
from ..store.contract import Store
from ..store.encoding import SCHEMAS
from ..text.analysis import IS_CJK, term_set
from .candidates import Candidate, Candidates
from .names import speaker_key
from .question import RecallQuestion
from .scores import blend, cosines

# share of the question's words in the best records, below which they are hardly about it
COVERED = 0.4
_MOST_COVERED = 5  # words that are enough for a question of any length
_BEST = 3  # records, or sentences, that are judged by
_JUDGED = 30  # turns whose sentences are looked at
_BY_MEANING = ("vector", "late")  # the second ranks again what the first found
MISATTRIBUTED = 0.7  # by how much more the turns and sentences of others fit

# English only; in other languages no sentence is about anyone, and nothing is doubted.
_FIRST_PERSON = re.compile(
    r"\b(?:I|me|my|mine|myself|we|us|our|ours)\b(?:[’'](?:m|ve|d|ll|re))?", re.IGNORECASE
)
_SECOND_PERSON = re.compile(r"\b(?:you|your|yours|yourself)\b", re.IGNORECASE)


def unrelated(store: Store, candidates: Candidates, text: str, card: ModelCard | None) -> str:
    """Say why nothing found is about the question; empty when something is."""
    best = candidates.first(_BEST)
    if not best:
        return nothing_found(store)
    vectors = candidates.scores("vector")
    nearest = max(vectors.values(), default=-1.0)
    # Without a model card nobody knows how near is near, so that any vector found speaks for it.
    if vectors and (card is None or nearest >= card.near):
        return ""
    words = term_set(text)
    covered = max(len(words & _terms_of(candidate)) for candidate in best)
    # Terms of CJK are pairs of characters, of which fewer return.
    needed = min(_MOST_COVERED, (COVERED / 2 if IS_CJK.search(text) else COVERED) * len(words))
    if words and covered >= needed:
        return ""
    by_words = _by_words(len(words), covered, ceil(needed))
    if card is None or not vectors:
        return f"{by_words}, and none could be compared with it in meaning"
    return (
        f"{by_words}, and the nearest in meaning has a similarity of {nearest:.2f} "
        f"(needed: {card.near:.2f})"
    )


def _by_words(words: int, covered: int, needed: int) -> str:
    if not words:
        return "the question has no words that records could be found by"
    if covered:
        had = f"more than {covered} of the {words} words that count in the question"
    elif words > 1:
        had = f"any of the {words} words that count in the question"
    else:
        return "no record has the word that counts in the question"
    return f"no record has {had} (needed: {needed})"


def nothing_found(store: Store) -> str:
    """Say that nothing was found at all, and whether there is anything."""
    first = Query().limit(1)
    if not any(store.records.query(schema, first) for schema in (*SCHEMAS, *store.schemas())):
        return "nothing is remembered yet"
    return "no record that was searched has a word or a name of the question, or is like it"


def heeded(candidates: Candidates) -> bool:
    """Whether one of the best is guidance, which seldom resembles the request that it is for."""
    return any(share[0] == "guidance" for one in candidates.first(_BEST) for share in one.shares)


def _terms_of(candidate: Candidate) -> set[str]:
    record = candidate.record
    if isinstance(record, Resource):
        return term_set(f"{record.name}\n{record.content}\n{record.context}")
    text = record.text if isinstance(record, Row) else record.summary
    return term_set(f"{record.name}\n{text}")


def drop_far(candidates: Candidates, card: ModelCard | None) -> None:
    """Drop the candidates that only a vector speaks for, if it is far from the question's.

    In a small memory the nearest records are all records.
    """
    if card is None:
        return
    otherwise_found = {
        id for part in candidates.parts if part not in _BY_MEANING for id in candidates.scores(part)
    }
    for id, cosine in candidates.scores("vector").items():
        if cosine < card.far and id not in otherwise_found:
            candidates.drop(id)


def misattributed(store: Store, candidates: Candidates, question: RecallQuestion) -> str:
    """Say that the records are about others than the person named; empty when they are not."""
    lead = attribution(store, candidates, question)
    if lead is None or lead < MISATTRIBUTED or _is_note_about_them(candidates, question):
        return ""
    name = next(named.record.name for named in question.names if named.speaks)
    return (
        f"what was found is about somebody else than {name}: that fits better than what is about "
        f"{name} by {lead:.2f} (answered up to {MISATTRIBUTED:.2f})"
    )


def _is_note_about_them(candidates: Candidates, question: RecallQuestion) -> bool:
    """Whether the best is a text without a speaker that has the name of the person."""
    for candidate in candidates.first(1):
        record, terms = candidate.record, _terms_of(candidate)
        if isinstance(record, Resource) and not speaker_key(record):
            keys = {key for named in question.names if named.speaks for key in named.keys}
            return any(term_set(key) and term_set(key) <= terms for key in keys)
    return False


def attribution(store: Store, candidates: Candidates, question: RecallQuestion) -> float | None:
    """Measure how much better what is of others fits than what is of the person named.

    It is how far the turns lead that others spoke, and how far the sentences that are about others:
    in a chat of two "I" is about the speaker, and "you" about the other. None where the question
    names nobody who speaks, or several, where more than two speak, or where no sentence is about
    others.
    """
    people = {frozenset(named.keys) for named in question.names if named.speaks}
    if len(people) != 1 or question.vector is None:
        return None
    turns = _turns(candidates, next(iter(people)))
    if len({turn.record.speaker for turn in turns}) > 2:
        return None
    judged = nlargest(_JUDGED, turns, key=_FIT)
    windows = store.vectors.of([turn.record.id for turn in judged])
    sentences = _Sentences(question.vector)
    for turn in judged:
        sentences.add(turn, windows.get(turn.record.id, []))
    lead = sentences.lead_of_others()
    if lead is None:
        return None
    own = _mean_of_best([turn.fit for turn in turns if turn.is_own])
    return lead + _mean_of_best([turn.fit for turn in turns if not turn.is_own]) - own


class _JudgedTurn(NamedTuple):
    """A turn that was found."""

    record: Resource
    is_own: bool  # spoken by the person named
    fit: float


_FIT = attrgetter("fit")


def _turns(candidates: Candidates, person: Collection[str]) -> list[_JudgedTurn]:
    """The turns found, with their score but for the share of the speaker, which is judged."""
    turns: list[_JudgedTurn] = []
    for candidate in candidates:
        record, speaker = candidate.record, speaker_key(candidate.record)
        if isinstance(record, Resource) and speaker:
            for_speaking = sum(share for part, share, *_ in candidate.shares if part == "speaker")
            turns.append(_JudgedTurn(record, speaker in person, candidate.score - for_speaking))
    return turns


class _Sentences:
    """The sentences of turns, by whether they are about the person named or about others."""

    def __init__(self, vector: Sequence[float]) -> None:
        self._vector = vector
        self._windows: list[Vector] = []  # of each
        # the number of the sentence, and how well its turn fits
        self._about_person: list[tuple[int, float]] = []
        self._about_others: list[tuple[int, float]] = []

    def add(self, turn: _JudgedTurn, windows: Sequence[Vector]) -> None:
        # The first window is the whole turn, where there are several.
        for window in windows[1:] or windows:
            text = turn.record.content[window.start : window.end]
            about_speaker = _FIRST_PERSON.search(text) is not None
            about_listener = _SECOND_PERSON.search(text) is not None
            sentence = len(self._windows)
            self._windows.append(window)
            if about_speaker if turn.is_own else about_listener:
                self._about_person.append((sentence, turn.fit))
            if about_listener if turn.is_own else about_speaker:
                self._about_others.append((sentence, turn.fit))

    def lead_of_others(self) -> float | None:
        """By how much the best sentences about others fit better than those about the person."""
        if not self._about_others:
            return None
        similarities = blend(dict(enumerate(cosines(self._windows, self._vector))))
        person, others = (
            _mean_of_best([similarities[name] + fit for name, fit in sentences])
            for sentences in (self._about_person, self._about_others)
        )
        return others - person


def _mean_of_best(fits: Sequence[float]) -> float:
    return sum(nlargest(_BEST, fits)) / _BEST
