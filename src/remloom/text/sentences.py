"""Where sentences end: pysbd for languages with blanks between words, the marks themselves for CJK."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

__all__ = ["count_words", "sentence_ends"]

CJK = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # Korean is left out: it has blanks
_WORD = re.compile(rf"[{CJK}]|[^\s{CJK}]+")
_IS_CJK = re.compile(rf"[{CJK}]")
_CJK_END = re.compile(r"[。！？｡…]+[」』”’）】》]*\s*|(?<=[.!?])\s+|\n+")
_CANDIDATE = re.compile(r"(?<![.!?…])[.!?…]+[\"'”’)\]*_]*\s+")
# Beyond doubt: "… ended. They …". A word of four small letters or more, unless it is one of the
# long abbreviations.
_SAFE = re.compile(
    r"(?<=[a-z]{4}[.!?])(?<!Messrs\.)(?<!ssoc\.)(?<!alif\.)(?<!pprox\.)\s+(?=[A-Z][a-z])"
)
_QUOTES = re.compile('["“”«»]')  # inside them several sentences may be one
_LONG = 4000  # characters from which quotes are cut too: pysbd's time grows faster than the text
_LONGEST = 20_000  # characters that pysbd is given at once
_PART = 4_000  # characters of the parts of a longer text
# In a longer text, where it is parted: behind a question, a shout, or a word too long for an
# abbreviation.
_CUT = re.compile(r"(?:(?<=[!?])|(?<=[^\W\d_]{5}\.)|(?<=\d\d\.))[\"'”’)\]*_]*\s+")


def count_words(text: str) -> int:
    """Words of a text; each CJK character counts as one."""
    if text.isascii():
        return len(text.split())
    return sum(1 for _ in _WORD.finditer(text))


def sentence_ends(text: str) -> list[int]:
    """Offsets where a sentence is over, blanks behind it included; the last is the end of the text.

    >>> text = "Dr. Chen arrived at 5 p.m. on Friday. Why? Nobody knows."
    >>> [text[a:b] for a, b in zip([0, *sentence_ends(text)], sentence_ends(text))]
    ['Dr. Chen arrived at 5 p.m. on Friday. ', 'Why? ', 'Nobody knows.']
    """
    if not text:
        return []
    if not text.isascii() and len(_IS_CJK.findall(text)) * 4 > len(text):
        ends = [found.end() for found in _CJK_END.finditer(text)]
    elif not _CANDIDATE.search(text):
        ends = []
    else:
        ends = []
        start = 0
        safe = (
            []
            if len(text) < _LONG and _QUOTES.search(text)
            else [found.end() for found in _SAFE.finditer(text)]
        )
        for end in [*safe, len(text)]:
            piece = text[start:end]
            doubtful = _CANDIDATE.search(piece.rstrip())
            if doubtful:
                ends += [start + inner for inner in _in_parts(piece)]
            else:
                ends.append(end)
            start = end
    if not ends or ends[-1] != len(text):
        ends.append(len(text))
    return ends


def _by_rule(text: str) -> list[int]:
    ends: list[int] = []
    position = 0
    for sentence in _segmenter().segment(text):
        core = sentence.strip()
        if not core:
            continue
        start = text.find(core, position)
        # the segmenter rewrote the sentence: go by the marks for the rest
        if start < 0:
            ends += [found.end() for found in _CANDIDATE.finditer(text, position)]
            position = len(text)
            break
        position = start + len(core)
        while position < len(text) and text[position].isspace():
            position += 1
        ends.append(position)
    if not ends or ends[-1] < len(text):
        ends.append(len(text))
    return ends


def _in_parts(text: str) -> list[int]:
    """As `_by_rule`, of a text of any length."""
    ends: list[int] = []
    start = 0
    size = _PART if len(text) > _LONGEST else _LONGEST
    while len(text) - start > size:
        cuts = [found.end() for found in _CUT.finditer(text, start, start + size)]
        # the last is cut off
        if not cuts and (found := _by_rule(text[start : start + _PART])[:-1]):
            ends += [start + end for end in found]
            cut = ends[-1]
        elif not cuts:  # no sentence ends in it: the marks must do
            mark = _CANDIDATE.search(text, start + size)
            cut = mark.end() if mark else len(text)
            ends += [*(found.end() for found in _CANDIDATE.finditer(text, start, cut)), cut]
        else:
            cut = cuts[-1]
            ends += [start + end for end in _by_rule(text[start:cut])]
        start = cut
    return ends + [start + end for end in _by_rule(text[start:])] if start < len(text) else ends


@cache
def _segmenter() -> Any:
    import pysbd

    return pysbd.Segmenter(language="en", clean=False)
