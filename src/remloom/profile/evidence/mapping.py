"""A mapping: what a claim in free words was taken for when it was normalised."""

from __future__ import annotations

from msgspec import Struct

from .claim import Value


class FieldMapping(Struct, frozen=True, kw_only=True):
    """What a claim was taken for.

    Args:
        raw_key: what it was about, as it was found.
        field: the id of the slot.
        is_new: nothing was believed there.
        is_reinforcement: the same was believed.
        is_contradiction: something else was believed, or it says that this is not so.
        claim: the id of the claim.
    """

    raw_key: str
    field: str
    value: Value
    is_new: bool = False
    is_reinforcement: bool = False
    is_contradiction: bool = False
    subject: str
    scope: str = ""
    claim: str
