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
_CANDIDATE = re.compile(r"[.!?…]+[\"'”’)\]*_]*\s+")
_SAFE = re.compile(r"(?<=[a-z]{3}[.!?])[\"'”’)]*\s+(?=[\"'“‘(]?[A-Z][a-z])")  # beyond doubt: "… ended. They …"
_PIECE = 4000  # characters handed to pysbd at once: its time grows faster than the text


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
        for start, end in _pieces(text):
            ends += [start + inner for inner in _by_rule(text[start:end])]
    if not ends or ends[-1] != len(text):
        ends.append(len(text))
    return ends


def _pieces(text: str) -> list[tuple[int, int]]:
    """Cuts a long text at sentence ends beyond doubt."""
    pieces, start = [], 0
    if len(text) > _PIECE:
        for found in _SAFE.finditer(text):
            if found.end() - start >= _PIECE:
                pieces.append((start, found.end()))
                start = found.end()
    pieces.append((start, len(text)))
    return pieces


def _by_rule(text: str) -> list[int]:
    ends: list[int] = []
    position = 0
    for sentence in _segmenter().segment(text):
        core = sentence.strip()
        if not core:
            continue
        start = text.find(core, position)
        if start < 0:  # the segmenter rewrote the sentence: go by the marks for the rest
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


@cache
def _segmenter() -> Any:
    import pysbd

    return pysbd.Segmenter(language="en", clean=False)
