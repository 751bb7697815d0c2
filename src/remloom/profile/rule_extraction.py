"""Extraction without a model: what the rules find in passages."""

from __future__ import annotations

from collections.abc import Sequence

from .passages import Passage
from .rules import extract
from .scan import Extracted, Found

__all__ = ["RULES", "extract_by_rules"]

RULES = "rules"  # the name of this extractor


def extract_by_rules(passages: Sequence[Passage]) -> Extracted:
    """Find what passages say of their subject, by rule."""
    found = [
        Found(passage, claim)
        for passage in passages
        if not passage.is_behaviour
        for claim in extract(passage.record.content, at=passage.record.starts_at)
    ]
    return Extracted(tuple(found))
