"""What a memory holds, in numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..store.stats import MoveStats, Stats, TokenVectorStats


class MemoryStats(Stats, frozen=True, kw_only=True):
    """What a tenant's store holds, whose it is, and whether embedding goes on."""

    tenant: str
    token_encoder: str = ""  # of late interaction; "" when there is none
    # entities that earlier texts are still to be linked to, up to a thousand; `embed_pending()` and
    # `optimize()` do that
    unlinked: int = 0
    # why embedding in the background stopped, or what it has long waited for; else ""
    embedding_error: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Give the same as a dictionary, as `remloom stats --json` prints it."""
        shown = {
            "tenant": self.tenant,
            **super().as_dict(),
            "token_encoder": self.token_encoder,
            "unlinked": self.unlinked,
        }
        # the key is there only when there is something to say
        return shown | {"embedding_error": self.embedding_error} if self.embedding_error else shown


def moves_to(encoder: str, made: Mapping[str, TokenVectorStats]) -> tuple[MoveStats, ...]:
    """The move to a token encoder, while texts with the token vectors of others wait for its own.

    Args:
        made: the token vectors that there are, by the encoder that made them.
    """
    others = [name for name in made if name != encoder]
    if encoder not in made or not made[encoder].pending or not others:
        return ()
    own = made[encoder]
    total = own.count + own.pending + own.parked
    return (MoveStats("token vectors", ", ".join(others), encoder, own.count, total),)
