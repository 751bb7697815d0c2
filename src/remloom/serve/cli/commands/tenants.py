"""Tenants: list, create, adopt and delete them, and make a key for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import msgspec

from ..app import Call, command, program

if TYPE_CHECKING:
    from rich.console import RenderableType


@program.group("tenant")
def tenant() -> None:
    """List, create, adopt and delete tenants; make a key for them."""


@command("list", to=tenant)
def list_tenants(call: Call) -> None:
    """List the tenants of the home, whether they are encrypted, and their size on disk."""
    from ....memory import Home

    settings = call.settings()
    home = settings.shown_home
    tenants = Home(settings.home).tenants()

    def view() -> RenderableType:
        from ..frame.text_formats import byte_size
        from ..views.tables import draw_table

        if not tenants:
            return f"no tenants in {home}"
        rows = []
        for info in tenants:
            encrypted = "yes" if info.encrypted else "no"
            # of a damaged tenant it cannot be known
            if info.damaged:
                encrypted = "damaged"
            rows.append((info.name, encrypted, byte_size(info.bytes)))
        return draw_table(("tenant", "encrypted", "on disk"), rows, right=("on disk",))

    call.show(msgspec.to_builtins(tenants), view)


@command("create", to=tenant)
@click.argument("name")
def create(call: Call, name: str) -> None:
    """Create a tenant, encrypted when REMLOOM_KEY is set."""
    from ....memory import Home

    settings = call.settings()
    Home(settings.home, key=settings.key or None).create(name)
    encrypted = bool(settings.key)
    # said aloud, since a tenant is not encrypted afterwards but by copying it
    protection = "encrypted" if encrypted else "not encrypted: REMLOOM_KEY is not set"
    call.show(
        {"tenant": name, "home": settings.shown_home, "encrypted": encrypted},
        lambda: f"created tenant {name}, {protection}",
    )


@command("adopt", to=tenant)
@click.argument("name")
def adopt(call: Call, name: str) -> None:
    """Make the tenant that was copied, renamed or restored into folder NAME the tenant NAME."""
    from ....memory import Home

    settings = call.settings()
    Home(settings.home, key=settings.key or None).adopt(name)
    call.show(
        {"tenant": name, "home": settings.shown_home}, lambda: f"tenants/{name} is tenant {name}"
    )


@command("delete", to=tenant)
@click.argument("name")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
def delete(call: Call, name: str, yes: bool) -> None:
    """Destroy a tenant: its key, its records, its folder. There is no way back."""
    from ....memory import Home

    settings = call.settings()
    call.confirm(
        f"destroy tenant {name!r} in {settings.shown_home} and everything it remembers?", yes=yes
    )
    Home(settings.home).delete(name)
    call.show({"tenant": name, "deleted": True}, lambda: f"deleted tenant {name}")


@command("key", to=tenant)
@click.argument("file", required=False)
def key(call: Call, file: str | None) -> None:
    """Make a fresh master key: into a new FILE that only you can read, or print it.

    Keep it: what it encrypts cannot be read without it.
    """
    import os

    from ....memory import Home

    if file is None:
        fresh = Home.new_key()
        call.show({"key": fresh}, lambda: fresh)
        return
    Home.new_key(file)
    where = f"file:{os.path.abspath(file)}"
    call.show({"file": file, "key": where}, lambda: f"made {file}; use it with REMLOOM_KEY={where}")
