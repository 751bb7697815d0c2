"""Gaps: what stood between two chunks of a document, so that it can be put together again."""

from __future__ import annotations

import re

from ..text.scripts import UNSPACED

PARAGRAPH = "\n\n"  # between two chunks of which nothing is known

# a line without blanks is cut where no blank is in this many characters
_UNBROKEN = 900
_JOINED_BEFORE = re.compile(rf"[{UNSPACED}。！？｡…」』”’）】》]\Z")
_JOINED_AFTER = re.compile(f"[{UNSPACED}]")


def guess_gap(before: str, after: str) -> str:
    """Guess what stood between two chunks that share a line: a blank, or nothing.

    >>> guess_gap("She left.", "He stayed."), guess_gap("東京へ行く。", "雨が降る。")
    (' ', '')
    """
    if _JOINED_BEFORE.search(before[-1:]) and (
        _JOINED_AFTER.match(after) or not after[:1].isascii()
    ):
        return ""
    is_cut = len(before) >= _UNBROKEN and len(before[-_UNBROKEN:].split(maxsplit=1)) == 1
    return "" if is_cut else " "


def normal_gap(gap: str) -> str:
    """Reduce a gap to its line ends and the indentation behind them, if it has line ends."""
    count = gap.count("\n")
    return "\n" * count + gap.rpartition("\n")[2] if count else gap
