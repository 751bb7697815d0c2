"""Scope: the sentences of a document that a quote is of."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from ..text.sentences import sentence_ends
from .quotes import WORD, Match, folded

__all__ = ["Scope", "read_scope"]

_AROUND = 6  # lines before and after a quote into which its sentence may reach
_SHORTEST = 40  # characters of a line that may go on in the next
_PART = re.compile(r";\s+")
_PARAGRAPH = re.compile(r"\n\s*\n")
_WRAP = re.compile(r"\n(?!\s*\n)")
_CLOSED = re.compile(r"[.;:!?。！？][\"”’)\]*_]*\s*$")
_ITEM = re.compile(r"\s*(?:[-*•–#|>]|\(?\w{1,4}[.)]\s|\d+(?:\.\d+)+\.?\s)")


class Scope(Struct, frozen=True):
    """The whole sentences that a quote is of."""

    text: str
    count: int = 1  # sentences


def read_scope(texts: Sequence[str], match: Match) -> Scope:
    """Read the whole sentences that a quote is of, a sentence going over several lines included."""
    first, last = match.first, match.last
    while first > 1 and match.first - first < _AROUND and _goes_on(texts, first - 1):
        first -= 1
    while last < len(texts) and last - match.last < _AROUND and _goes_on(texts, last):
        last += 1
    before = "\n".join(texts[first - 1 : match.first - 1])
    text = folded("\n".join(texts[first - 1 : last]))
    spans = [word.span() for word in WORD.finditer(text)]
    start = len(WORD.findall(folded(before))) + match.start
    if not spans:
        return Scope(text)
    begin = spans[min(start, len(spans) - 1)][0]
    end = spans[min(start + match.words, len(spans)) - 1][1]
    paragraphs = (end.end() for end in _PARAGRAPH.finditer(text))
    sentences = {*sentence_ends(_WRAP.sub(" ", text)), *paragraphs}
    cuts = [*sentences, *(part.end() for part in _PART.finditer(text))]
    opening = max((cut for cut in cuts if cut <= begin), default=0)
    closing = min((cut for cut in cuts if cut >= end), default=len(text))
    within = sum(begin < cut < end for cut in sentences)
    return Scope(text[opening:closing].strip(), 1 + within)


def _goes_on(texts: Sequence[str], line: int) -> bool:
    """Whether the sentence at the end of a line goes on in the next."""
    text, following = texts[line - 1], texts[line]
    if not following.strip() or _CLOSED.search(text[-8:]) or _ITEM.match(following):
        return False
    return len(text.strip()) >= _SHORTEST
