"""Extraction without a model: what the rules find in passages, and what behaviour suggests."""

from __future__ import annotations

from collections.abc import Sequence

from ..evidence.claim import Claim
from ..evidence.passages import Passage
from .behaviour import claims_of
from .rules import extract
from .scan import Extracted, Found

RULES = "rules"  # the name of this extractor


def extract_by_rules(passages: Sequence[Passage]) -> Extracted:
    """Find what passages say of their subject, by rule."""
    found = [Found(passage, claim) for passage in passages for claim in _claims(passage)]
    return Extracted(tuple(found))


def _claims(passage: Passage) -> list[Claim]:
    if passage.is_behaviour:
        return claims_of(passage)
    return list(extract(passage.record.content, at=passage.record.starts_at))
