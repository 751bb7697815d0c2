"""What several tenants answer: hits that say whose they are, and who did not answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct

from ..model import Hit, RecallHit
from ..tenancy.grants import Use


class ReceivedGrant(Struct, frozen=True, kw_only=True):
    """A grant as the tenant that received it sees it: without its condition, which may tell of
    what it leaves out."""

    tenant: str
    id: str = ""
    may: tuple[Use, ...] = ()
    schemas: tuple[str, ...] = ()
    until: datetime | None = None
    unreadable: str = ""  # why what this tenant granted cannot be read


class FederatedHit(RecallHit, frozen=True, kw_only=True):
    """A record that another tenant lets be found.

    It shows what it says itself: no edges, related entities or parents, and of entities no aliases.
    `score` is that of its tenant's own list, and does not compare with another's.
    """

    tenant: str

    @classmethod
    def of(cls, hit: Hit, tenant: str) -> FederatedHit:
        """The hit of one tenant as one of several."""
        values = {name: getattr(hit, name) for name in hit.__struct_fields__}
        return cls(tenant=tenant, **values)

    @property
    def source(self) -> str:
        """A citation: the tenant, and what it cites."""
        # not `super()`: a struct is made again by its metaclass
        return f"{self.tenant}: {RecallHit.source.fget(self)}"  # type: ignore[attr-defined]

    def as_dict(self) -> dict[str, Any]:
        return {"tenant": self.tenant, **RecallHit.as_dict(self)}


class FederatedAnswer(Struct, frozen=True, kw_only=True):
    """What several tenants answered together.

    Attributes:
        hits: best first: the first of each tenant, then the second of each, and so on.
        suggestions: names like the labels that nobody has.
        missing: labels that nobody has.
        tenants: who answered.
        unanswered: who did not, and why.
        reason: why there are no hits.
        note: what was left out, as in `Recall.note`.
        tokens: of the hits as `context` writes them; counted only with a budget.
    """

    hits: list[FederatedHit] = []
    suggestions: list[FederatedHit] = []
    missing: tuple[str, ...] = ()
    tenants: tuple[str, ...] = ()
    unanswered: dict[str, str] = {}
    reason: str = ""
    note: str = ""
    tokens: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Show the answer as JSON-ready values."""
        shown: dict[str, Any] = {name: getattr(self, name) for name in self.__struct_fields__}
        shown["hits"] = [hit.as_dict() for hit in self.hits]
        shown["suggestions"] = [hit.as_dict() for hit in self.suggestions]
        return shown


def merge_by_rank(
    lists: Mapping[str, Sequence[Hit]], limit: int | None = None
) -> list[FederatedHit]:
    """Merge lists by rank; of one rank the higher score goes first, then by tenant.

    >>> merge_by_rank({})
    []
    """
    ranked = [
        (rank, -hit.score, tenant, hit)
        for tenant, hits in lists.items()
        for rank, hit in enumerate(hits)
    ]
    ranked.sort(key=lambda entry: entry[:3])
    return [FederatedHit.of(hit, tenant) for _, _, tenant, hit in ranked[:limit]]
