"""An overview: of what a user told an assistant about a subject, the turns that between them say
most.

What sums up months of talk, or in which order things came up, is in many turns, each little like
the question. They are chosen, in the sessions where the subject is found, by the words that each
adds to those chosen before (maximum coverage, greedy).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heapreplace, nlargest
from itertools import pairwise
from math import log, sqrt
from statistics import fmean

from ..model import Resource
from ..predicates import In, Query
from ..store.contract import Store
from ..text.analysis import term_set, terms
from ..text.sentences import marked_ends
from .candidates import Candidates
from .guidance import user_turns
from .question import ORDER, RecallQuestion

_SESSIONS = 40  # that are looked through, of those in which most was found
_AT_ONCE = 500  # turns that are got by one query
_ADJACENT = 2  # turns before and after one, whose finding speaks for it
_BEST = 10  # candidates: most are of chats with an assistant where there is something to sum up
# of the weight, for a summary: it may be of something small, which a few turns tell directly
_OF_SUMMARIES = 0.5
_LEAST_TERMS = 3  # that a turn counts as having, lest one of a single word be the best
_FACT_FACTOR = 3.0  # weight of a name or number, relative to a word in small letters
# at the start of a word only: else a long one without numbers is read again from each letter
_FACT = re.compile(r"\b\w*\d\w*|(?<=[^\s.!?:] )[^\W\d_a-z][\w’'-]+")
_QUESTION_ENDS = ("?", "？")


def raise_overview(
    store: Store, candidates: Candidates, question: RecallQuestion, weight: float
) -> None:
    """Raise the turns of users that cover the subject: for a question about order the first by
    `weight`, the last by half of it.

    Those that nothing else found become candidates. Nothing is raised unless most of the best
    candidates are of chats with an assistant.
    """
    best = candidates.first(_BEST)
    chats = {turn.uri for _, turn in user_turns(candidates)}
    if 2 * sum(getattr(one.record, "uri", "") in chats for one in best) <= len(best):
        return
    weights, turns = _statements_in_sessions(store, candidates, question)
    choose = _introducing
    if question.kind != ORDER:
        choose = _stating
        weight *= _OF_SUMMARIES
    subject = term_set(question.searched_text)
    chosen = choose(turns, weights, subject, question.options.limit)
    for position, turn in enumerate(chosen):
        share = weight * (1 - position / (2 * len(chosen)))
        candidates.include(turn).add_share("overview", share, rank=position + 1)


def _statements_in_sessions(
    store: Store, candidates: Candidates, question: RecallQuestion
) -> tuple[dict[str, float], list[Resource]]:
    """The turns of users in the best sessions, by time, and the weight of each: the mean score of
    its session and of the turns around it."""
    scores = {one.record.id: max(one.score, 0.0) for one in candidates}
    found = {one.record.id: one.record for one in candidates if isinstance(one.record, Resource)}
    # what a filter leaves out may be of a session, too
    moments = store.records.referring([*found]) if question.predicate is None else []
    sessions = [
        ([scores.get(id, 0.0) for id in moment.resource_refs], moment.resource_refs)
        for moment in moments
        if moment.type == "conversation"
    ]
    weights = {id: scores[id] for id in found}
    sessions = nlargest(_SESSIONS, sessions, key=lambda session: fmean(session[0]))
    neighbour_ids = dict.fromkeys(id for _, ids in sessions for id in ids if id not in found)
    found |= _resources(store, list(neighbour_ids))
    for of_turns, ids in sessions:
        for position, id in enumerate(ids):
            if id in found:
                neighbours = of_turns[max(0, position - _ADJACENT) : position + _ADJACENT + 1]
                weights[id] = fmean(of_turns) + sum(neighbours) / (2 * _ADJACENT + 1)
    looked_through = Candidates()
    for record in found.values():
        looked_through.include(record)
    statements = [turn for _, turn in user_turns(looked_through)]
    window = question.window
    if window is not None:
        statements = [
            turn for turn in statements if turn.starts_at and turn.starts_at in window
        ] or statements
    statements.sort(key=lambda turn: (str(turn.starts_at or ""), turn.uri, turn.ordinal))
    return weights, statements


def _resources(store: Store, ids: Sequence[str]) -> dict[str, Resource]:
    """Get resources by their ids; those that are no more are left out."""
    found: dict[str, Resource] = {}
    for first in range(0, len(ids), _AT_ONCE):
        some = Query().filter(In("id", ids[first : first + _AT_ONCE]))
        for record in store.records.query("resources", some):
            if isinstance(record, Resource):
                found[record.id] = record
    return found


def _stating(
    turns: Sequence[Resource], weights: Mapping[str, float], subject: set[str], count: int
) -> list[Resource]:
    """Choose turns by what they state: rare words, above all names and numbers."""
    stated = {
        turn.id: " ".join(part for part in _sentences(turn.content) if not _asks(part))
        for turn in turns
    }
    counts = Counter(term for turn in turns for term in term_set(turn.content))
    term_weights = {term: log(1 + len(turns) / number) for term, number in counts.items()}
    facts = " ".join(fact for text in stated.values() for fact in _facts(text))
    for term in term_set(facts) & term_weights.keys():
        term_weights[term] *= _FACT_FACTOR
    added = {id: term_set(text) - subject for id, text in stated.items()}
    return _covering(turns, added, term_weights, weights, count)


def _introducing(
    turns: Sequence[Resource], weights: Mapping[str, float], subject: set[str], count: int
) -> list[Resource]:
    """Choose turns by what they were the first to ask about and others went on with."""
    # the whole of a turn without a question: not all who ask write a mark
    query_terms = {
        turn.id: " ".join(filter(_asks, _sentences(turn.content))) or turn.content for turn in turns
    }
    words = {id: term_set(text) - subject for id, text in query_terms.items()}
    counts = Counter(term for some in words.values() for term in some)
    term_weights = {
        term: sqrt(number - 1) * log(1 + len(turns) / number) for term, number in counts.items()
    }
    known: set[str] = set()
    added: dict[str, set[str]] = {}
    for turn in turns:
        added[turn.id] = words[turn.id] - known
        known |= words[turn.id]
    by_length = {
        id: weights[id] / max(_LEAST_TERMS, len(terms(text))) for id, text in query_terms.items()
    }
    return _covering(turns, added, term_weights, by_length, count)


def _covering(
    turns: Sequence[Resource],
    added: Mapping[str, set[str]],
    term_weights: Mapping[str, float],
    weights: Mapping[str, float],
    count: int,
) -> list[Resource]:
    """Choose at most `count` turns, each by the weights of its words that none before it has."""

    def gain(position: int) -> float:
        id = turns[position].id
        return weights[id] * sum(term_weights[term] for term in added[id] - covered)

    covered: set[str] = set()
    chosen: list[Resource] = []
    # what a turn adds only ever shrinks: the best of old is the best if it is so again
    heap = [(-gain(position), position) for position in range(len(turns))]
    heapify(heap)
    while heap and len(chosen) < count:
        old, position = heap[0]
        new = -gain(position)
        if new > old:
            heapreplace(heap, (new, position))
            continue
        if not new:
            break
        heappop(heap)
        chosen.append(turns[position])
        covered |= added[turns[position].id]
    return chosen


def _facts(text: str) -> list[str]:
    # the pattern knows the small letters of English alone
    return [
        fact for fact in _FACT.findall(text) if not fact[0].islower() or any(map(str.isdigit, fact))
    ]


def _asks(sentence: str) -> bool:
    return sentence.endswith(_QUESTION_ENDS)


def _sentences(text: str) -> list[str]:
    ends = [0, *marked_ends(text), len(text)]
    return [text[start:end].strip() for start, end in pairwise(ends)]
