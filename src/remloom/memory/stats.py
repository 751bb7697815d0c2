"""What a memory holds, in numbers."""

from __future__ import annotations

from typing import Any

from ..store.stats import Stats

__all__ = ["MemoryStats"]


class MemoryStats(Stats, frozen=True, kw_only=True):
    """What a tenant's store holds, whose it is, and whether embedding goes on."""

    tenant: str
    token_encoder: str = ""  # of late interaction; "" when there is none
    embedding_error: str = ""  # why embedding in the background stopped; "" while it did not

    def as_dict(self) -> dict[str, Any]:
        """Give the same as a dictionary, as `remloom stats --json` prints it."""
        shown = {"tenant": self.tenant, **super().as_dict(), "token_encoder": self.token_encoder}
        # the key is there only when there is something to say
        return shown | {"embedding_error": self.embedding_error} if self.embedding_error else shown
