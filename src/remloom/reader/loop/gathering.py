"""Gathering evidence without a model: whole documents, a first look, and what else fits."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ..check.evidence import Evidence, number_lines
from .calls import count_tokens
from .strategy import ReadTools, Strategy
from .transcript import Range, Shown, show_lines

# what lines are worth when evidence is packed, down from FOUND: what fits the question best comes
# before all that a model chooses, what else fits behind
FOUND = 3.0
_OPENING = 0.3
_FILLING = 0.1
_FILLING_WORDS = 2_500
_OUTLINE_TOKENS = 500
_OPENING_TOKENS = 600  # of how the documents begin
_FOUND_TOKENS = 1_500


class Look(Struct, frozen=True):
    """The first look at the documents, as a model is shown it."""

    shown: Shown
    outline: str
    headings: Sequence[Range]  # the lines of the headings in the outline


def read_whole(tools: ReadTools, evidence: Evidence, tokens: int) -> bool:
    """Read the documents whole if they have at most so many tokens; returns whether they have."""
    left = tokens
    for lines in tools.documents.values():
        # counting takes time, and no token has so many characters
        if sum(map(len, lines.texts)) > 8 * left:
            return False
        left -= count_tokens(number_lines(lines, 1, len(lines)))
        if left < 0:
            return False
    for name, lines in tools.documents.items():
        evidence.add(name, 1, len(lines), value=FOUND)
    return True


def look_first(question: str, tools: ReadTools, strategy: Strategy, evidence: Evidence) -> Look:
    """Read the outline, how the documents begin, and what fits the question."""
    outline, headings = tools.outline(_OUTLINE_TOKENS)
    look = strategy.look_first(question, tools)
    for place, (name, first, last) in enumerate(look.found):
        evidence.add(name, first, last, value=FOUND - place / len(look.found))
    found = show_lines(tools.documents, look.found, _FOUND_TOKENS)
    opening = show_lines(tools.documents, look.opening, _OPENING_TOKENS)
    for range in opening.ranges:
        evidence.add(*range, value=_OPENING)
    text = "\n\n".join(filter(None, (opening.text, found.text)))
    return Look(Shown(text, opening.ranges + found.ranges), outline, headings)


def fill_evidence(question: str, tools: ReadTools, evidence: Evidence, tokens: int) -> None:
    """Read what else fits the question, as far as there is room in a pack of so many tokens."""
    packed = evidence.pack(tokens)
    room = tokens - packed.tokens
    if packed.left_out or room <= 0:
        return
    unread = [
        (passage.document, *gap)
        for passage in tools.find(question, _FILLING_WORDS)
        for gap in evidence.coverage(passage.document).unread(passage.first, passage.last)
    ]
    for range in show_lines(tools.documents, unread, room).ranges:
        evidence.add(*range, value=_FILLING)
