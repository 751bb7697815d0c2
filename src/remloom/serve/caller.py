"""Who calls: the key that a request came with, and what it may do."""

from __future__ import annotations

from msgspec import Struct

from ..errors import ForbiddenError, InvalidInputError
from ..operations import Operation
from ..tenancy.api_keys import Scope


class Caller(Struct, frozen=True, kw_only=True):
    """The caller of a request, whose key is valid.

    Attributes:
        key_id: the public part of the key, as audit and logs name it.
        tenant: whose memory is opened. No argument, header or path can name another, except that a
            key with scope `admin` and no tenant of its own names one with each call; empty: it
            named none.
        scopes: what it may do.
        of_home: whether the key belongs to no tenant, and so may do what concerns all of them.
    """

    key_id: str
    tenant: str
    scopes: frozenset[Scope]
    of_home: bool = False

    def may(self, operation: Operation) -> bool:
        """Whether it may call an operation; what it may not is not shown to it either."""
        if operation.needs == "home":
            is_fitting = self.of_home
        else:
            # who asks others is one tenant: a key of all of them is nobody's
            is_fitting = operation.needs != "federation" or not self.of_home
        return operation.scope in self.scopes and is_fitting

    def check(self, operation: Operation, values: Struct | None = None) -> None:
        """Refuse an operation that it may not call."""
        also = operation.also_needs
        needed = also(values) if also is not None and values is not None else ()
        for scope in (operation.scope, *needed):
            self.require(operation, scope)
        if operation.needs == "federation" and self.of_home:
            raise ForbiddenError(
                f"this key may not {operation.name}: it is of no tenant, and others granted it "
                "nothing",
                remedy="use a key of the tenant that asks",
            )
        if not self.may(operation):
            raise ForbiddenError(
                f"this key may not {operation.name}: it is of tenant {self.tenant!r} alone",
                remedy="use a key of all tenants: remloom keys create --all-tenants",
            )
        if operation.needs == "memory" and not self.tenant:
            raise InvalidInputError(
                "this key is of no tenant, and the call names none",
                remedy="name one in the header X-Remloom-Tenant",
            )

    def require(self, operation: Operation, scope: Scope) -> None:
        """Refuse an operation if the key lacks a scope that this needs."""
        if scope not in self.scopes:
            raise ForbiddenError(
                f"this key may not {operation.name}: it has no scope {scope!r}",
                remedy=f"ask for a key with it: remloom keys create --scopes {scope}",
                scope=scope,
            )
