"""Absence: what is said when the lines that were read do not answer a question."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache

from msgspec import Struct

from ...text.analysis import STOP_WORDS, WORD, term_set, terms_of_word, words
from .citations import describe_lines
from .evidence import Evidence

_MOST_NAMED = 8  # words, and documents
_MOST_LINES = 3  # that are named as those that fit best
_LEAST_SHARE = 0.5  # of the best line's weight, of a line that is named beside it


class _Matching(Struct, frozen=True, gc=False):
    """A line with some of the terms that are looked for."""

    document: str
    line: int
    terms: frozenset[str]


def describe_absence(question: str, evidence: Evidence, searched: Iterable[str] = ()) -> str:
    """Say that there is no answer: what was searched, which lines fit best, how much was read.

    Args:
        searched: words that were searched for, beside those of the question.
    """
    terms = _words(" ".join((question, *searched)))
    matching = _match(terms, evidence)
    parts = ["What was read does not answer this."]
    if named := terms[:_MOST_NAMED]:
        looked_for = term_set(" ".join(named))
        count = sum(not looked_for.isdisjoint(one.terms) for one in matching)
        total = sum(len(lines.texts) for lines in evidence.documents.values())
        listed = ", ".join(f"“{word}”" for word in named)
        parts.append(f"Searched for {listed}: {count:,} of {total:,} lines have one of them.")
    if best := _best(matching):
        several = len(evidence.documents) > 1
        places = ", ".join(describe_lines(*span, named=several) for span in best)
        parts.append(f"What fits the question best: {places}.")
    shares = evidence.shares()
    if shares:
        most_read = sorted(shares.items(), key=lambda item: -item[1])
        read = [f"{share:.0%} of {name}" for name, share in most_read[:_MOST_NAMED]]
        if more := len(shares) - len(read):
            read.append(f"less of {more:,} more documents")
        parts.append(f"Read: {', '.join(read)}.")
    return " ".join(parts)


def matching_lines(question: str, evidence: Evidence) -> list[tuple[str, int, int]]:
    """The lines with most of a question's words, rare ones above all: document, first and last.

    They are looked for in whole documents, whatever was read of them.
    """
    return _best(_match(_words(question), evidence))


def _best(matching: Sequence[_Matching]) -> list[tuple[str, int, int]]:
    counts = Counter(term for one in matching for term in one.terms)
    weights = {term: 1 / math.log2(1 + count) for term, count in counts.items()}
    scored = [(sum(weights[term] for term in one.terms), one) for one in matching]
    scored.sort(key=lambda pair: -pair[0])
    return [
        (one.document, one.line, one.line)
        for score, one in scored[:_MOST_LINES]
        if score >= _LEAST_SHARE * scored[0][0]
    ]


def _words(text: str) -> list[str]:
    words = WORD.findall(text.casefold())
    return list(dict.fromkeys(word for word in words if word not in STOP_WORDS))


def _match(looked_for: Iterable[str], evidence: Evidence) -> list[_Matching]:
    """List the lines with a form of one of these words."""
    terms = term_set(" ".join(looked_for))

    @cache
    def matching(word: str | bytes) -> set[str]:
        return terms.intersection(terms_of_word(word))

    matches = []
    others: set[str | bytes] = set()  # words that are no form of one: of most lines, all
    for name, lines in evidence.documents.items():
        for number, text in enumerate(lines.texts, 1):
            if unknown := set(words(text)) - others:
                if found := set[str]().union(*map(matching, unknown)):
                    matches.append(_Matching(name, number, frozenset(found)))
                others.update(word for word in unknown if not matching(word))
    return matches
