"""Counting tokens without a tokenizer, for models whose own is not at hand."""

from __future__ import annotations

import re
from functools import cache

from .scripts import CJK


def approximate_token_ends(text: str) -> list[int]:
    """End offsets of roughly the tokens that a subword tokenizer makes of a text.

    It errs towards too many tokens.
    """
    return [piece.end() for piece in _piece().finditer(text)]


@cache
def _piece() -> re.Pattern[str]:
    return re.compile(rf"[{CJK}]|[A-Za-z0-9]{{1,4}}|\w{{1,2}}|[^\w\s]")
