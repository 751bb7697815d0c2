"""Calls that may be short: they read little, and wait for no model."""

from __future__ import annotations

from typing import Any

FEW_LABELS = 64
FEW_HITS = 20
# of all labels, or of a text: each word costs, and each label that is unknown
FEW_CHARACTERS = 2_000
# a condition, a filter or another time can make any question read much
_MUCH = ("as_of", "filter", "type", "where")


def always(values: Any) -> bool:
    """Any call."""
    return True


def names_few(values: Any) -> bool:
    """A few labels, as they are now."""
    if len(values.labels) > FEW_LABELS or _reads_much(values):
        return False
    return sum(map(len, values.labels)) <= FEW_CHARACTERS


def finds_few(values: Any) -> bool:
    """A few of the nearest to a vector, or to words."""
    # a text without its vector has to be embedded
    embeds = "vector" in values.__struct_fields__ and values.vector is None
    if embeds or len(values.text) > FEW_CHARACTERS:
        return False
    return values.limit <= FEW_HITS and not _reads_much(values)


def _reads_much(values: Any) -> bool:
    return any(getattr(values, name, None) for name in _MUCH)
