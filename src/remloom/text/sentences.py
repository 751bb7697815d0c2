"""Where words, tokens and sentences of a text end: by pysbd where blanks are between words, by
marks alone in CJK."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

_KANA = "\u3040-\u30ff"
_IDEOGRAPHS = "\u3400-\u4dbf\u4e00-\u9fff"
_HANGUL = "\uac00-\ud7af"
_COMPATIBILITY = "\uf900-\ufaff"  # ideographs of other character sets, for their sake alone
_RARE = "\U00020000-\U0003ffff"  # ideographs beyond the first plane

# Indexes know runs of these by their pairs of characters. Changing it would change stored indexes.
CJK = _KANA + _IDEOGRAPHS + _HANGUL + _COMPATIBILITY + _RARE

# Each character of these counts as a word, and sentences end at marks without blanks. Korean has
# blanks; rare ideographs are left out since stored chunks were cut without them.
UNSPACED = _KANA + _IDEOGRAPHS + _COMPATIBILITY

_WORD = re.compile(rf"[{UNSPACED}]|[^\s{UNSPACED}]+")
_IS_UNSPACED = re.compile(rf"[{UNSPACED}]")
_UNSPACED_END = re.compile(r"[。！？｡…]+[」』”’）】》]*\s*|(?<=[.!?])\s+|\n+")
# A sentence ends behind its closing mark, quotes and blanks included, and at a line end; CJK marks
# need no blank.
_MARKED_END = re.compile(r"(?<![.!?…])[.!?…]+[\"'”’)\]]*\s+|[。！？]+[」』”’）]*\s*|\n+")
_MAYBE_END = re.compile(r"(?<![.!?…])[.!?…]+[\"'”’)\]*_]*\s+")
# Beyond doubt: "… ended. They …". A word of four small letters or more, unless it is one of the
# long abbreviations.
_CERTAIN_END = re.compile(
    r"(?<=[a-z]{4}[.!?])(?<!Messrs\.)(?<!ssoc\.)(?<!alif\.)(?<!pprox\.)\s+(?=[A-Z][a-z])"
)
_QUOTES = re.compile('["“”«»]')  # inside them several sentences may be one
# In a text too long for pysbd, where it is parted: behind a question, a shout, or a word too long
# for an abbreviation.
_PART_END = re.compile(r"(?:(?<=[!?])|(?<=[^\W\d_]{5}\.)|(?<=\d\d\.))[\"'”’)\]*_]*\s+")

_LONG = 4000  # characters from which quotes are cut too: pysbd's time grows faster than the text
_LONGEST = 20_000  # characters that pysbd is given at once
_PART = 4_000  # characters of the parts of a longer text


def count_words(text: str) -> int:
    """Count the words of a text; each character of a script without blanks is one."""
    if text.isascii() or not _IS_UNSPACED.search(text):
        return len(text.split())
    return len(_WORD.findall(text))


def marked_ends(text: str) -> list[int]:
    """Offsets behind marks that mostly end a sentence: quick, and wrong about abbreviations."""
    return [mark.end() for mark in _MARKED_END.finditer(text)]


def sentence_ends(text: str) -> list[int]:
    """Offsets where a sentence is over, blanks behind it included; the last is the text's end.

    >>> text = "Dr. Chen arrived at 5 p.m. on Friday. Why? Nobody knows."
    >>> [text[a:b] for a, b in zip([0, *sentence_ends(text)], sentence_ends(text))]
    ['Dr. Chen arrived at 5 p.m. on Friday. ', 'Why? ', 'Nobody knows.']
    """
    if not text:
        return []
    if not text.isascii() and len(_IS_UNSPACED.findall(text)) * 4 > len(text):
        ends = [mark.end() for mark in _UNSPACED_END.finditer(text)]
    elif not _MAYBE_END.search(text):
        ends = []
    else:
        ends = _spaced_ends(text)
    if not ends or ends[-1] != len(text):
        ends.append(len(text))
    return ends


def middle(text: str) -> int:
    """The offset of the end of a sentence that is nearest to the middle; 0 where there is only one.

    >>> middle("One. Two. Three.")
    10
    """
    ends = sentence_ends(text)[:-1]
    inner = [end for end in ends if text[:end].strip() and text[end:].strip()]
    return min(inner, key=lambda end: abs(2 * end - len(text)), default=0)


def _spaced_ends(text: str) -> list[int]:
    """Sentence ends in a text with blanks; pysbd sees only pieces where an end is in doubt."""
    certain: list[int] = []
    if len(text) >= _LONG or not _QUOTES.search(text):
        certain = [blank.end() for blank in _CERTAIN_END.finditer(text)]
    ends: list[int] = []
    start = 0
    for end in [*certain, len(text)]:
        piece = text[start:end]
        if _MAYBE_END.search(piece.rstrip()):
            ends += [start + inner for inner in _ends_in_parts(piece)]
        else:
            ends.append(end)
        start = end
    return ends


def _ends_in_parts(text: str) -> list[int]:
    """Sentence ends as pysbd sees them, in a text of any length: it is given a part at a time."""
    ends: list[int] = []
    start = 0
    size = _PART if len(text) > _LONGEST else _LONGEST
    while len(text) - start > size:
        cuts = [cut.end() for cut in _PART_END.finditer(text, start, start + size)]
        if cuts:
            cut = cuts[-1]
            ends += [start + end for end in _ends_by_pysbd(text[start:cut])]
        # the last sentence of the part is cut off, and belongs to the next
        elif whole := _ends_by_pysbd(text[start : start + _PART])[:-1]:
            ends += [start + end for end in whole]
            cut = ends[-1]
        else:
            # no sentence ends in the part: the marks must do
            mark = _MAYBE_END.search(text, start + size)
            cut = mark.end() if mark else len(text)
            ends += [mark.end() for mark in _MAYBE_END.finditer(text, start, cut)]
            ends.append(cut)
        start = cut
    if start < len(text):
        ends += [start + end for end in _ends_by_pysbd(text[start:])]
    return ends


def _ends_by_pysbd(text: str) -> list[int]:
    ends: list[int] = []
    position = 0
    for sentence in _segmenter().segment(text):
        core = sentence.strip()
        if not core:
            continue
        start = text.find(core, position)
        # pysbd rewrote the sentence, so it is not found: go by the marks for the rest
        if start < 0:
            ends += [mark.end() for mark in _MAYBE_END.finditer(text, position)]
            position = len(text)
            break
        position = start + len(core)
        while position < len(text) and text[position].isspace():
            position += 1
        ends.append(position)
    if not ends or ends[-1] < len(text):
        ends.append(len(text))
    return ends


@cache
def _segmenter() -> Any:
    import pysbd

    return pysbd.Segmenter(language="en", clean=False)


def approximate_token_ends(text: str) -> list[int]:
    """End offsets of roughly the tokens that a tokenizer makes of a text, rather too many."""
    return [piece.end() for piece in _piece().finditer(text)]


@cache
def _piece() -> re.Pattern[str]:
    return re.compile(rf"[{CJK}]|[A-Za-z0-9]{{1,4}}|\w{{1,2}}|[^\w\s]")


def approximate_windows(text: str, limit: int) -> list[tuple[int, int]]:
    """Cut a text into spans of at most `limit` tokens, by an estimate."""
    return split_by_tokens(text, approximate_token_ends(text), limit)


class _Stop(NamedTuple):  # the end of a sentence
    tokens: int  # of the text up to there
    offset: int  # characters up to there


def split_by_tokens(text: str, ends: Sequence[int], limit: int) -> list[tuple[int, int]]:
    """Cut a text into spans of at most `limit` tokens that cover it, in about equal parts.

    Args:
        text: the text.
        ends: the character offset where each of its tokens ends, ascending.
        limit: tokens of a span at most.

    >>> split_by_tokens("One two. Three four. Five.", [3, 7, 8, 14, 19, 20, 25, 26], 6)
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
