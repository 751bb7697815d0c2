"""Cutting a text into spans that fit a model's token limit, at sentence ends if it has any."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from ..text.sentences import marked_ends


class _Stop(NamedTuple):
    """A sentence's end."""

    tokens: int  # of the text up to there
    offset: int  # characters up to there


def split(text: str, ends: Sequence[int], limit: int) -> list[tuple[int, int]]:
    """Cut a text into spans of at most `limit` tokens that cover it, in about equal parts.

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
    stops = [_Stop(bisect_right(ends, offset), offset) for offset in marked_ends(text)]
    spans: list[tuple[int, int]] = []
    offset = token = 0  # where the span begins
    number = 0  # of the next stop
    while len(ends) - token > limit:
        remaining = len(ends) - token
        # Equal parts: a short remainder would make a vague vector.
        target = token + remaining / -(-remaining // limit)
        best: _Stop | None = None
        while number < len(stops) and stops[number].tokens <= token + limit:
            stop = stops[number]
            if stop.tokens > token and (best is None or _is_nearer(stop, best, target)):
                best = stop
            number += 1
        end = best or _word_end(text, ends, token, limit)
        spans.append((offset, end.offset))
        token, offset = end
        # Stops behind the chosen one are looked at again, for the next span.
        while number > 0 and stops[number - 1].tokens > token:
            number -= 1
    spans.append((offset, len(text)))
    return spans


def _is_nearer(stop: _Stop, best: _Stop, target: float) -> bool:
    return abs(stop.tokens - target) < abs(best.tokens - target)


def _word_end(text: str, ends: Sequence[int], begin: int, limit: int) -> _Stop:
    """The end of the last whole word that fits; else the middle of one that is too long."""
    for count in range(begin + limit, begin + limit // 2, -1):
        end = ends[count - 1]
        if end < len(text) and text[end].isspace():
            return _Stop(count, end)
    return _Stop(begin + limit, ends[begin + limit - 1])
