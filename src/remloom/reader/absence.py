"""Absence: what is said when the lines that were read do not answer a question."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..text.analysis import STOP_WORDS, WORD
from .evidence import Evidence

__all__ = ["describe_absence"]

_MOST_NAMED = 8  # words, and documents


def describe_absence(question: str, evidence: Evidence, searched: Iterable[str] = ()) -> str:
    """Say that there is no answer: what was searched, how many lines matched, how much was read.

    Args:
        searched: words that were searched for, beside those of the question.
    """
    words = [word for text in (question, *searched) for word in WORD.findall(text.casefold())]
    wanted = list(dict.fromkeys(word for word in words if word not in STOP_WORDS))[:_MOST_NAMED]
    parts = ["What was read does not answer this."]
    if wanted:
        matched, lines = _count_matching(wanted, evidence)
        named = ", ".join(f"“{word}”" for word in wanted)
        parts.append(f"Searched for {named}: {matched:,} of {lines:,} lines have one of them.")
    shares = evidence.shares()
    if shares:
        most_read = sorted(shares.items(), key=lambda item: -item[1])
        read = [f"{share:.0%} of {name}" for name, share in most_read[:_MOST_NAMED]]
        if more := len(shares) - len(read):
            read.append(f"less of {more:,} more documents")
        parts.append(f"Read: {', '.join(read)}.")
    return " ".join(parts)


def _count_matching(words: list[str], evidence: Evidence) -> tuple[int, int]:
    pattern = re.compile("|".join(map(re.escape, words)), re.IGNORECASE)
    texts = [text for lines in evidence.documents.values() for text in lines.texts]
    return sum(1 for text in texts if pattern.search(text)), len(texts)
