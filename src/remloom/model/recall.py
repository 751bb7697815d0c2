"""Answers of recall: hits with the reasons for them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import Struct

from .answers import Hit
from .records import Resource


class Reason(Struct, frozen=True, kw_only=True):
    """One signal that brought a record up, and what it was worth."""

    part: str  # one of `remloom.retrieve.PARTS`
    share: float  # of the hit's score
    rank: int = 0  # in that signal's own list, from 1; 0: it has no list
    score: float = 0.0  # there: cosine, BM25, …
    note: str = ""


class RecallHit(Hit, frozen=True, kw_only=True):
    """A recalled record with the reasons.

    `matched` is its best window ("start:end" in its text), where one is known.
    """

    reasons: tuple[Reason, ...] = ()
    # edges walked to it: keys and type, from the question's side
    path: tuple[tuple[str, str, str], ...] = ()
    before: tuple[Resource, ...] = ()  # the neighbours of it in its source
    after: tuple[Resource, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        shown = super().as_dict()
        shown["source"] = self.source
        shown["reasons"] = [_set_fields(reason) for reason in self.reasons]
        if self.path:
            shown["path"] = [list(edge) for edge in self.path]
        for side, neighbours in (("before", self.before), ("after", self.after)):
            if neighbours:
                shown[side] = [
                    {"id": one.id, "name": one.name, "content": one.content} for one in neighbours
                ]
        return shown


class Recall(Struct, frozen=True, kw_only=True):
    """The answer to a question: hits; or, if recall abstained, none, and the `reason`."""

    question: str
    asked: str = ""  # the question as it was searched: pronouns resolved
    mode: str = "hybrid"  # hybrid | temporal | contextual | iterated: how it was answered
    hits: list[RecallHit] = []
    abstained: bool = False
    reason: str = ""
    # what was left out for it took too long, or a token encoder that nobody asked for failed
    note: str = ""
    window: tuple[datetime, datetime] | None = None  # the time it is about: from, until
    # of the hits as `Memory.context` writes them; counted only with a budget or `explain`
    tokens: int = 0
    # with `explain`: the names found, how many records each signal found, time taken, doubts
    explained: dict[str, Any] = {}

    def as_dict(self) -> dict[str, Any]:
        """Show the recall as JSON-ready values."""
        shown: dict[str, Any] = {name: getattr(self, name) for name in self.__struct_fields__}
        shown["window"] = [at.isoformat() for at in self.window] if self.window else None
        shown["hits"] = [hit.as_dict() for hit in self.hits]
        return shown


def _set_fields(value: Struct) -> dict[str, Any]:
    shown = {}
    for name in value.__struct_fields__:
        field = getattr(value, name)
        if field not in ("", 0):
            shown[name] = round(field, 6) if isinstance(field, float) else field
    return shown
