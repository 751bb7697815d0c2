"""Grants: what a tenant lets another find in its memory.

A grant lies in the store of the tenant that gives it, as sealed as its records. That it was given
is noted in the home's own store too, and only a grant that stands in both is in force: so a copy of
a tenant, a restored backup, or another tenant of an old name, has none that nobody gave it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from uuid_utils import uuid7

from ..engine.arguments import end_of
from ..engine.queries import parse_condition
from ..errors import (
    ForbiddenError,
    InvalidInputError,
    NotFoundError,
    StoreError,
    TenantNotFoundError,
    UnknownNameError,
)
from ..kv import Entry, EntryReads, KeyRange
from ..predicates import Predicate, Query
from ..store.tenants.backends import backend_for
from ..store.tenants.home import tenant_name
from .home_store import HomeStore

if TYPE_CHECKING:
    from ..settings import Settings
    from ..store.contract import Store


Use: TypeAlias = Literal["lookup", "search", "recall"]
USES: tuple[Use, ...] = get_args(Use)

_NAMESPACE = "grants"


class Grant(Struct, frozen=True, kw_only=True):
    """What one tenant lets another find.

    Attributes:
        tenant: who gives it.
        to: the tenant that may ask.
        may: how it may ask: "lookup" (by label), "search" (by words and by meaning), "recall".
        schemas: whose records it may find.
        where: only records for which this holds, as the text of a WHERE; empty: all of them.
        until: from then on it is not in force; None: until it is revoked.
    """

    id: str
    tenant: str
    to: str
    may: tuple[Use, ...]
    schemas: tuple[str, ...]
    where: str = ""
    made_at: datetime
    until: datetime | None = None

    def holds_at(self, at: datetime) -> bool:
        """Whether it has not ended by then."""
        return self.until is None or at < self.until


class Grants(HomeStore):
    """The grants of a home. Nothing is made before the first grant is. Any thread may use it.

    Args:
        tenant: only what this tenant gives is seen and made; empty: all.
    """

    def __init__(self, settings: Settings, *, tenant: str = "") -> None:
        super().__init__(settings)
        self._tenant = tenant

    def add(
        self,
        to: str,
        *,
        tenant: str = "",
        may: Sequence[Use] = USES,
        schemas: Sequence[str] = ("resources",),
        where: Predicate | str | None = None,
        until: str = "",
    ) -> Grant:
        """Let another tenant find what a tenant remembers. Several grants to one add up.

        Args:
            to: the tenant that may ask.
            tenant: the one that gives it.
            may: how it may ask: lookup, search, recall.
            schemas: whose records it may find.
            where: only records for which this holds.
            until: a time such as "2027-01-31", or how long: "12h", "30d", "4w". Empty: until it is
                revoked.

        Raises:
            TenantNotFoundError: one of the two does not exist.
            UnknownNameError: a use, a schema, or a field of a schema, that does not exist.
            InvalidInputError: it would be of no use.
            ForbiddenError: the caller is of another tenant.
        """
        tenant = self._giver(tenant)
        if tenant == to:
            raise InvalidInputError(f"{to!r} finds what it remembers without a grant")
        self._check_tenants(tenant, to)
        now = datetime.now(UTC)
        grant = Grant(
            id=str(uuid7()),
            tenant=tenant,
            to=to,
            may=_known_uses(may),
            schemas=_listed(schemas, "schemas"),
            made_at=now,
            until=end_of(until, now, "a grant"),
        )
        with closing(self._open(tenant)) as store:
            grant = replace(grant, where=_checked_text(store, grant.schemas, where))
            entry = Entry(_NAMESPACE, f"{to}/{grant.id}", msgspec.json.encode(grant))
            store.kv.put([entry])
        # last: without its note it is not in force
        note = Entry(_NAMESPACE, f"{to}/{tenant}/{grant.id}", msgspec.json.encode(now))
        self._opened(create=True).kv.put([note])
        return grant

    def received(self, to: str) -> dict[str, set[str]]:
        """Return the ids of what a tenant received, by the tenants that gave it: one range of an
        index."""
        ids: dict[str, set[str]] = {}
        for _, giver, id in self._index_keys(to=to):
            ids.setdefault(giver, set()).add(id)
        return ids

    def revoke(self, to: str, *, tenant: str = "", id: str = "") -> int:
        """End what a tenant granted another; in force from the next question on.

        Args:
            tenant: that granted it.
            id: of one grant; default all to that tenant.

        Returns: how many were ended.

        Raises:
            NotFoundError: there is none.
        """
        tenant = self._giver(tenant)
        given = [key for key in self._index_keys(to=to, tenant=tenant) if id in ("", key[2])]
        if not given:
            raise NotFoundError(
                f"{tenant!r} has granted {to!r} nothing" + (f" by the id {id!r}" if id else ""),
                remedy="remloom grants lists what was granted",
            )
        self._end(given)
        return len(given)

    def revoke_all(self, tenant: str) -> None:
        """End all that a tenant which is deleted gave or received: one of its name that is made
        later is another."""
        index_keys = self._index_keys()
        self._end([key for key in index_keys if tenant in key[:2]], gone=tenant)

    def _end(self, given: Sequence[tuple[str, str, str]], gone: str = "") -> None:
        store = self._found()
        if store is None or not given:
            return
        # first: without these notes the grants are not in force, whatever becomes of the rest
        store.kv.put([], deleted=[(_NAMESPACE, "/".join(key)) for key in given])
        for tenant in {giver for _, giver, _ in given} - {gone}:
            keys = [f"{to}/{id}" for to, giver, id in given if giver == tenant]
            with suppress(StoreError, NotFoundError), closing(self._open(tenant)) as giving:
                giving.kv.put([], deleted=[(_NAMESPACE, key) for key in keys])

    def _index_keys(self, *, to: str = "", tenant: str = "") -> list[tuple[str, str, str]]:
        """List who received what from whom, as (to, tenant, id)."""
        store = self._found()
        if store is None:
            return []
        prefix = f"{to}/{tenant}/" if to and tenant else f"{to}/" if to else ""
        keys = [entry.key.split("/") for entry in store.kv.list(_NAMESPACE, KeyRange(prefix))]
        return [(to, giver, id) for to, giver, id in keys if tenant in ("", giver)]

    def _giver(self, tenant: str) -> str:
        """Give the tenant that is spoken for, after checking that it may be."""
        if self._tenant and tenant not in ("", self._tenant):
            raise ForbiddenError(
                f"a key of tenant {self._tenant!r} cannot speak for another",
                remedy="leave the tenant out",
            )
        return tenant_name(self._tenant or tenant)

    def _open(self, tenant: str) -> Store:
        settings = replace(self._settings, tenant=tenant)
        return backend_for(settings).open(settings, create=False)

    def list(self, tenant: str = "", *, to: str = "") -> list[Grant]:
        """List the grants that were not revoked, newest first; those that have ended too.

        Args:
            tenant: that gave them; default every one.
            to: the tenant that received them; default every one.

        Raises:
            StoreError: the store of a tenant that gave some cannot be opened.
        """
        tenant = self._giver(tenant) if self._tenant or tenant else ""
        index_keys: dict[str, set[str]] = {}
        for _, giver, id in self._index_keys(to=to, tenant=tenant):
            index_keys.setdefault(giver, set()).add(id)
        found: list[Grant] = []
        for giver, ids in index_keys.items():
            with suppress(TenantNotFoundError), closing(self._open(giver)) as store:
                found += [one for one in stored_grants(store.kv, giver, to) if one.id in ids]
        return sorted(found, key=lambda grant: grant.made_at, reverse=True)


def stored_grants(kv: EntryReads, tenant: str, to: str) -> list[Grant]:
    """List what a tenant's store has of its grants to another; empty `to`: to every one."""
    entries = kv.list(_NAMESPACE, KeyRange(f"{to}/" if to else ""))
    grants = [msgspec.json.decode(entry.value, type=Grant) for entry in entries]
    # of a copy under another name
    return [grant for grant in grants if grant.tenant == tenant]


def _checked_text(store: Store, schemas: Sequence[str], where: Predicate | str | None) -> str:
    """Return a condition as text, after trying it on each schema."""
    from ..query.render import render_condition

    condition = parse_condition(where or None)
    for schema in schemas:
        query = Query().limit(1)
        store.records.query(schema, query if condition is None else query.filter(condition))
    return "" if condition is None else render_condition(condition)


def _known_uses(may: Sequence[str]) -> tuple[Use, ...]:
    given = _listed(may, "may")
    for use in given:
        if use not in USES:
            raise UnknownNameError("use of a grant", use, USES)
    return tuple(use for use in USES if use in given)


def _listed(names: Sequence[str], what: str) -> tuple[str, ...]:
    listed = (names,) if isinstance(names, str) else tuple(names)
    if not listed:
        raise InvalidInputError(
            f"a grant without {what} shows nothing", remedy=f"leave {what} out, or name some"
        )
    return tuple(dict.fromkeys(listed))
