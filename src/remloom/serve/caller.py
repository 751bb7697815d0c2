"""Who calls: the key that a request came with, and what it may do."""

from __future__ import annotations

from msgspec import Struct

from ..errors import ForbiddenError
from ..operations import Operation, Scope

__all__ = ["SCOPES", "Caller"]

SCOPES: tuple[Scope, ...] = ("read", "write", "forget", "dream", "admin", "metrics")


class Caller(Struct, frozen=True, kw_only=True):
    """Whoever presented a key that holds.

    Attributes:
        key_id: the public part of the key, as audit and logs name it.
        tenant: whose memory is opened. No argument, header or path can name another, except that a
            key with scope `admin` and no tenant of its own names one with each call.
        scopes: what it may do.
    """

    key_id: str
    tenant: str
    scopes: frozenset[Scope]

    def may(self, operation: Operation) -> bool:
        """Whether it may call an operation; what it may not is not shown to it either."""
        return operation.scope in self.scopes

    def check(self, operation: Operation) -> None:
        """Refuse an operation that it may not call.

        Raises:
            ForbiddenError: its key lacks the scope.
        """
        if not self.may(operation):
            raise ForbiddenError(
                f"this key may not {operation.name}: it has no scope {operation.scope!r}",
                remedy=f"ask for a key with it: remloom keys create --scopes {operation.scope}",
                scope=operation.scope,
            )
