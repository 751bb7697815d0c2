"""A home: its tenants, grants, API keys and audit log."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ....errors import InvalidInputError
from ....settings import split_list
from ..frame.call import Invocation
from ..frame.command import Report
from ..frame.text_formats import plural

if TYPE_CHECKING:
    from ....memory import Home
    from ....tenancy.api_keys import ApiKeys
    from ....tenancy.audit import AuditEntry


def tenants(call: Invocation, home: Home) -> Report:
    """List the tenants of the home, whether they are encrypted, and their size on disk."""
    from ..views.lists import draw_tenants

    found = home.tenants()
    home_name = call.settings().shown_home
    return Report(found, lambda: draw_tenants(found) if found else f"no tenants in {home_name}")


def create(call: Invocation, home: Home, name: str) -> Report:
    """Create a tenant, encrypted when REMLOOM_KEY is set."""
    home.create(name)
    settings = call.settings()
    encrypted = bool(settings.key)
    # said aloud, since a tenant is not encrypted afterwards but by copying it
    protection = "encrypted" if encrypted else "not encrypted: REMLOOM_KEY is not set"
    return Report(
        {"tenant": name, "home": settings.shown_home, "encrypted": encrypted},
        f"created tenant {name}, {protection}",
    )


def adopt(call: Invocation, home: Home, name: str) -> Report:
    """Make the tenant that was copied, renamed or restored into folder NAME the tenant NAME."""
    home.adopt(name)
    home_name = call.settings().shown_home
    return Report({"tenant": name, "home": home_name}, f"tenants/{name} is tenant {name}")


def delete(call: Invocation, home: Home, name: str, *, yes: bool = False) -> Report:
    """Destroy a tenant: its key, its records, its folder. There is no way back."""
    home_name = call.settings().shown_home
    call.confirm(f"destroy tenant {name!r} in {home_name} and everything it remembers?", yes=yes)
    home.delete(name)
    return Report({"tenant": name, "deleted": True}, f"deleted tenant {name}")


def key(file: str | None = None) -> Report:
    """Make a fresh master key: into a new FILE that only you can read, or print it.

    Keep it: what it encrypts cannot be read without it.
    """
    from ....memory import Home

    fresh = Home.new_key(file)
    if file is None:
        return Report({"key": fresh}, fresh)
    where = f"file:{os.path.abspath(file)}"
    return Report({"file": file, "key": where}, f"made {file}; use it with REMLOOM_KEY={where}")


def migrate(call: Invocation, home: Home, *, citus: bool = False) -> Report:
    """Bring the PostgreSQL database that is the home up to date.

    Or make it ready for memories, if it has none yet. Any number of processes may do this at once.
    Needs a user who may create extensions, roles and schemas there.

    Args:
        citus: spread every table over the Citus cluster, by tenant.
    """
    done = home.migrate(citus=citus)
    home_name = call.settings().shown_home
    # equal versions: another process was first, or there was nothing to do
    was = f", it had {done.before or 'none'}" if done.before != done.after else ""
    spread = "; its tables are distributed by tenant" if citus else ""
    return Report(
        {"home": home_name, "before": done.before, "after": done.after, "citus": citus},
        f"{home_name} has schema version {done.after}{was}{spread}",
    )


def copy(
    call: Invocation,
    source: str,
    target: str,
    *,
    to_key: str | None = None,
    **options: Any,
) -> Report:
    """Copy a tenant from SOURCE to TARGET, each a folder or a postgresql:// URL.

    Everything arrives as it was, and is verified by checksums. A copy that was broken off goes on
    when the command is given again. The target must be empty.

    Args:
        to_key: key of the copy, file:PATH or keyring:NAME. [default: REMLOOM_KEY]
    """
    from ....memory import Home

    # A key itself would stay in the shell's history and show in the list of processes.
    if to_key is not None and not to_key.startswith(("file:", "shared-file:", "keyring:")):
        raise InvalidInputError(
            "a key never stands on a command line", remedy="give file:PATH or keyring:NAME"
        )
    copied = Home(source).copy(target, tenant=call.tenant, to_key=to_key, **options)
    counts = (
        plural(copied.records, "record"),
        plural(copied.edges, "edge"),
        plural(copied.vectors, "vector"),
    )
    # a second run over a complete copy writes nothing, and verifies it all the same
    done = "copied" if copied.written else "already there:"
    line = f"{done} {', '.join(counts)}"
    if copied.resumed:
        line += f"; went on where it was, {copied.written:,} were missing"
    verified = f"verified: source and copy have the same checksum {copied.checksum}"
    return Report(copied, f"{line}\n{verified}")


# what a key may do unless it is said: all that is done with one's own memory
SCOPES = "read,write,forget,dream"


def grant(call: Invocation, home: Home, to: str, **options: Any) -> Report:
    """Let TENANT find what the tenant (--tenant) remembers, by --across.

    What is outside of the grant is neither shown nor counted. Several grants add up.
    """
    made = home.grant(call.settings().tenant, to=to, **options)
    return Report(made, f"granted {to} {made.id}")


def grants(call: Invocation, home: Home, *, received: bool = False) -> Report:
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


def revoke(call: Invocation, home: Home, to: str, **options: str) -> Report:
    """End what the tenant (--tenant) lets TENANT find, from its next question on."""
    count = home.revoke(call.settings().tenant, to=to, **options)
    return Report({"to": to, "revoked": count}, f"revoked {plural(count, 'grant')} to {to}")


def create_key(
    call: Invocation,
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


def audit(call: Invocation, *, limit: int = 100, all_tenants: bool = False) -> list[AuditEntry]:
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
