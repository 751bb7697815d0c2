"""Cutting a text into spans that fit a model's token limit, at sentence ends where there are any."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

__all__ = ["approximate_tokens", "split"]

# A sentence ends after its closing mark, quotes and blanks included, and at a line end; CJK marks
# need no blank.
_SENTENCE_END = re.compile(r"(?<![.!?…])[.!?…]+[\"'”’)\]]*\s+|[。！？]+[」』”’）]*\s*|\n+")
_PIECE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[A-Za-z0-9]{1,4}|\w{1,2}|[^\w\s]")


def approximate_tokens(text: str) -> list[int]:
    """End offsets of roughly what a subword tokenizer makes of a text; errs towards too many
    tokens.

    For models whose own tokenizer is not at hand.
    """
    return [piece.end() for piece in _PIECE.finditer(text)]


def split(text: str, ends: Sequence[int], limit: int) -> list[tuple[int, int]]:
    """Spans of at most `limit` tokens that cover the text, in about equal parts.

    Args:
        text: the text.
        ends: the character offset where each of its tokens ends, ascending.
        limit: tokens of a span at most.

    >>> split("One two. Three four. Five.", [3, 7, 8, 14, 19, 20, 25, 26], 6)
    [(0, 9), (9, 26)]
    """
    if not text:
        return []
    if len(ends) <= limit:
        return [(0, len(text))]
    # Token counts at which a sentence is over, with the offset where the next one starts.
    stops = [
        (bisect_right(ends, found.end()), found.end()) for found in _SENTENCE_END.finditer(text)
    ]
    spans: list[tuple[int, int]] = []
    # start: offset; begin: token; stop: index into `stops`
    start = begin = stop = 0
    while len(ends) - begin > limit:
        left = len(ends) - begin
        # equal parts: a short rest would make a vague vector
        target = left / -(-left // limit)
        best: tuple[int, int] | None = None
        while stop < len(stops) and stops[stop][0] <= begin + limit:
            if stops[stop][0] > begin and (
                best is None or _nearer(stops[stop][0], best[0], begin + target)
            ):
                best = stops[stop]
            stop += 1
        count, end = best or _word_end(text, ends, begin, limit)
        spans.append((start, end))
        start, begin = end, count
        while stop > 0 and stops[stop - 1][0] > begin:
            stop -= 1
    spans.append((start, len(text)))
    return spans


def _nearer(count: int, best: int, target: float) -> bool:
    return abs(count - target) < abs(best - target)


def _word_end(text: str, ends: Sequence[int], begin: int, limit: int) -> tuple[int, int]:
    """No sentence fits: end after the last whole word that does, or in the middle of one that is
    too long."""
    for count in range(begin + limit, begin + limit // 2, -1):
        end = ends[count - 1]
        if end < len(text) and text[end].isspace():
            return count, end
    return begin + limit, ends[begin + limit - 1]
