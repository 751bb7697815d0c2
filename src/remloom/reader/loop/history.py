"""The turns of a reading and what was read in them, as the model reads it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from ..check.evidence import Evidence
from ..lines.lines import Lines
from ..step import ReadStep
from .calls import count_tokens

_TOKENS = 1_200  # of all turns
_MOST_RANGES = 12
_SEARCHED = re.compile(r"(?i)\bsearch\(\s*'((?:[^']|'')+)'|\bi?like\s+'((?:[^']|'')+)'")


def describe_steps(steps: Sequence[ReadStep]) -> str:
    """Describe the turns with their notes; of many, the last ones."""
    texts: list[str] = []
    left = _TOKENS
    for step in reversed(steps):
        text = _describe_step(step)
        left -= count_tokens(text)
        if left < 0 and texts:
            texts.append("(earlier turns are left out)")
            break
        texts.append(text)
    return "\n".join(reversed(texts))


def describe_documents(documents: Mapping[str, Lines]) -> str:
    """Describe the documents: their names and sizes, a line each."""
    return "\n".join(
        f"doc '{' '.join(name.split())}': lines 1-{len(lines)}, {lines.words(1, len(lines))} words"
        for name, lines in documents.items()
    )


def describe_coverage(evidence: Evidence) -> str:
    """Describe which lines of each document were read."""
    parts = []
    for number, (name, lines) in enumerate(evidence.documents.items(), 1):
        spans = _spans(list(evidence.coverage(name)))
        # a name is what a document says of itself, so it is none of our words
        which = f"document {number}: " if len(evidence.documents) > 1 else ""
        parts.append(f"{which}{spans} of {len(lines)}")
    return "; ".join(parts)


def searched_words(steps: Iterable[ReadStep]) -> list[str]:
    """The words that the queries of the turns searched for."""
    found: dict[str, None] = {}
    for step in steps:
        for ranked, like in _SEARCHED.findall(step.sql):
            words = (ranked or like.strip("%_")).replace("''", "'").strip()
            if words:
                found[words] = None
    return list(found)


def _describe_step(step: ReadStep) -> str:
    brought = f"error: {step.error}" if step.error else f"{step.row_count} rows"
    if step.lines:
        brought += f", {_spans([(first, last) for _, first, last in step.lines])}"
    query = " ".join(step.original_sql.split()) or "no query"
    lines = [f"turn {step.iteration + 1}, {step.reading_mode or 'read'}: {query}", brought]
    if step.notes:
        # of what was shown before the query of the turn ran
        lines.insert(0, f"notes: {' '.join(step.notes.split())}")
    return "\n".join(lines)


def _spans(ranges: Sequence[tuple[int, int]]) -> str:
    if not ranges:
        return "no line"
    spans = ", ".join(f"{first}-{last}" for first, last in ranges[:_MOST_RANGES])
    more = len(ranges) - _MOST_RANGES
    return f"lines {spans}" + (f" and {more} more places" if more > 0 else "")
