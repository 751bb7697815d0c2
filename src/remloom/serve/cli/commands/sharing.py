"""Who may ask and call: `grant`, `grants`, `revoke`, `keys` and `audit`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....settings import split_list
from ..frame.call import Call
from ..frame.command import Report
from ..frame.text_formats import plural

if TYPE_CHECKING:
    from ....memory import Home
    from ....tenancy.api_keys import ApiKeys
    from ....tenancy.audit import AuditEntry


# what a key may do unless it is said: all that is done with one's own memory
SCOPES = "read,write,forget,dream"


def grant(call: Call, home: Home, to: str, **options: Any) -> Report:
    """Let TENANT find what the tenant (--tenant) remembers, by --across.

    What is outside of the grant is neither shown nor counted. Several grants add up.
    """
    made = home.grant(call.settings().tenant, to=to, **options)
    return Report(made, f"granted {to} {made.id}")


def grants(call: Call, home: Home, *, received: bool = False) -> Report:
    """List what the tenant (--tenant) lets others find, and until when.

    Args:
        received: what others let the tenant find.
    """
    from ..views.lists import draw_grants, draw_received
    from .queries import open_across

    if received:
        with open_across(call, "all") as federation:
            others = federation.grants()
        return Report(others, lambda: draw_received(others))
    found = home.grants(call.settings().tenant)
    return Report(found, lambda: draw_grants(found))


def revoke(call: Call, home: Home, to: str, **options: str) -> Report:
    """End what the tenant (--tenant) lets TENANT find, from its next question on."""
    count = home.revoke(call.settings().tenant, to=to, **options)
    return Report({"to": to, "revoked": count}, f"revoked {plural(count, 'grant')} to {to}")


def create_key(
    call: Call,
    keys: ApiKeys,
    name: str,
    *,
    scopes: str = SCOPES,
    expires: str = "",
    all_tenants: bool = False,
) -> Report:
    """Make an API key for the tenant (--tenant), and print it. It is not shown again.

    NAME says what it is for.

    Args:
        expires: how long it lasts, such as 30d, or until when.
        all_tenants: of no tenant: it names one with each call, and needs the scope admin or
            metrics.
    """
    if all_tenants:
        call.refuse_tenant("--all-tenants")
    made = keys.create(
        name,
        split_list(scopes),  # type: ignore[arg-type]  # which refuses others
        tenant="" if all_tenants else call.settings().tenant,
        expires=expires,
    )
    return Report(made, made.key)


def revoke_key(keys: ApiKeys, id: str) -> Report:
    """End an API key. A server that runs refuses it from then on."""
    keys.revoke(id)
    return Report({"id": id, "revoked": True}, f"revoked API key {id}")


def audit(call: Call, *, limit: int = 100, all_tenants: bool = False) -> list[AuditEntry]:
    """List what was asked of a memory over a server, newest first: who, what, which records.

    The log has no content, and is kept in the memory itself.

    Args:
        all_tenants: what was done with API keys and tenants, of the home.
    """
    if not all_tenants:
        with call.open() as memory:
            return memory.admin.audit(limit)
    call.refuse_tenant("--all-tenants")
    with call.open_keys() as keys:
        return keys.audit(limit)
