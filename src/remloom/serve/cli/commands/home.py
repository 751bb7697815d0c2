"""A home and its tenants: `tenant`, `migrate`, `copy`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ....errors import InvalidInputError
from ..frame.call import Call
from ..frame.command import Report
from ..frame.text_formats import plural

if TYPE_CHECKING:
    from ....memory import Home


def tenants(call: Call, home: Home) -> Report:
    """List the tenants of the home, whether they are encrypted, and their size on disk."""
    from ..views.lists import draw_tenants

    found = home.tenants()
    place = call.settings().shown_home
    return Report(found, lambda: draw_tenants(found) if found else f"no tenants in {place}")


def create(call: Call, home: Home, name: str) -> Report:
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


def adopt(call: Call, home: Home, name: str) -> Report:
    """Make the tenant that was copied, renamed or restored into folder NAME the tenant NAME."""
    home.adopt(name)
    place = call.settings().shown_home
    return Report({"tenant": name, "home": place}, f"tenants/{name} is tenant {name}")


def delete(call: Call, home: Home, name: str, *, yes: bool = False) -> Report:
    """Destroy a tenant: its key, its records, its folder. There is no way back."""
    place = call.settings().shown_home
    call.confirm(f"destroy tenant {name!r} in {place} and everything it remembers?", yes=yes)
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


def migrate(call: Call, home: Home, *, citus: bool = False) -> Report:
    """Bring the PostgreSQL database that is the home up to date.

    Or make it ready for memories, if it has none yet. Any number of processes may do this at once.
    Needs a user who may create extensions, roles and schemas there.

    Args:
        citus: spread every table over the Citus cluster, by tenant.
    """
    done = home.migrate(citus=citus)
    place = call.settings().shown_home
    # equal versions: another process was first, or there was nothing to do
    was = f", it had {done.before or 'none'}" if done.before != done.after else ""
    spread = "; its tables are distributed by tenant" if citus else ""
    return Report(
        {"home": place, "before": done.before, "after": done.after, "citus": citus},
        f"{place} has schema version {done.after}{was}{spread}",
    )


def copy(
    call: Call,
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
