"""How long a query may go on without being asked whether to stop.

The engine looks for an interrupt between steps of some two thousand rows. Within one, patterns are
matched against whatever the rows have: with long texts that takes minutes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from sqlglot import exp

from .guard import function_name
from .readable import Readable

__all__ = ["pattern_work"]

_STEP = 2_048  # rows
_REGEX = 64  # what a regular expression takes of a character, at least
_LIKE = 0.1  # and what a plain pattern takes, for each character of its own
_REPEATED = re.compile(r"\{(\d+)?,?(\d+)?\}")
_PLAIN = frozenset({
    "contains", "ends_with", "instr", "prefix", "replace", "split_part", "starts_with", "strpos",
    "suffix",
})  # fmt: skip


def pattern_work(query: Any, readable: Readable, bound: Callable[[Any], int]) -> float:
    """Estimate the most operations that the patterns of a query take in one step.

    Args:
        bound: the most characters that a node can give.
    """
    is_joined = query.find(exp.Join) is not None
    work = 0.0
    for node in query.walk():
        parts = _parts(node)
        if parts is None:
            continue
        text, pattern, kind = parts
        longest = bound(text)
        characters = _STEP * longest
        if not is_joined and isinstance(text, exp.Column):
            characters = min(characters, readable.characters)
        written = pattern.name if isinstance(pattern, exp.Literal) else ""
        length = len(written) or bound(pattern)
        if kind == "plain":
            work += characters * length * _LIKE
            continue
        counts = [
            max(map(int, filter(None, one))) for one in _REPEATED.findall(written) if any(one)
        ]
        states = max(_REGEX, min(length * math.prod(max(1, one) for one in counts), 100_000))
        # matched anew from each place that is replaced
        work += characters * (max(states, longest) if kind == "replace" else states)
    return work


def _parts(node: Any) -> tuple[Any, Any, str] | None:
    """The text that is searched, its pattern, and what kind that is."""
    if isinstance(node, exp.Like | exp.ILike):
        return node.this, node.expression, "plain"
    if isinstance(node, exp.RegexpLike | exp.RegexpILike | exp.SimilarTo):
        return node.this, node.expression, "regex"
    if not isinstance(node, exp.Anonymous) or len(node.expressions) < 2:
        return None
    name = function_name(node)
    text, pattern = node.expressions[:2]
    if name in _PLAIN:
        return text, pattern, "plain"
    if name.startswith("regexp_"):
        return text, pattern, "replace" if name == "regexp_replace" else "regex"
    return None
