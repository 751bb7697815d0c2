"""How far learning or dreaming has come."""

from __future__ import annotations

from msgspec import Struct


class Progress(Struct, frozen=True, kw_only=True):
    """How far a run has come."""

    phase: str  # reading | learning | dreaming
    done: int  # documents, or dreams
    total: int
    name: str = ""  # of the document, or the period
    calls: int = 0  # of the model
    tokens: int = 0
