"""`grant`, `grants` and `revoke`: what tenants let each other find."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import msgspec

from ..app import Call, command

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ....tenancy.grants import Grant


@command("grant")
@click.argument("to", metavar="TENANT")
@click.option(
    "--may", default="lookup,search,recall", metavar="LIST", help="Of lookup, search, recall."
)
@click.option(
    "--schemas", default="resources", metavar="LIST", help="Of resources, entities, moments, …"
)
@click.option(
    "--where", metavar="CONDITION", help="Only where this holds, such as \"category = 'note'\"."
)
@click.option("--until", default="", metavar="TIME", help="How long, such as 30d, or until when.")
def grant(call: Call, to: str, may: str, schemas: str, where: str | None, until: str) -> None:
    """Let TENANT find what the tenant (--tenant) remembers, by --across.

    What is outside of the grant is neither shown nor counted. Several grants add up.
    """
    from ....memory import Home
    from ....settings import split_list

    settings = call.settings()
    made = Home(settings.home, key=settings.key or None).grant(
        settings.tenant,
        to=to,
        may=split_list(may),  # type: ignore[arg-type]  # which refuses others
        schemas=split_list(schemas),
        where=where,
        until=until,
    )
    call.show(msgspec.to_builtins(made), lambda: f"granted {to} {made.id}")


@command("grants")
@click.option("--received", is_flag=True, help="What others let the tenant find.")
def grants(call: Call, received: bool) -> None:
    """List what the tenant (--tenant) lets others find, and until when."""
    if received:
        _show_received(call)
        return
    from ....memory import Home

    settings = call.settings()
    found = Home(settings.home, key=settings.key or None).grants(settings.tenant)
    call.show(msgspec.to_builtins(found), lambda: _table(found) if found else "no grants")


@command("revoke")
@click.argument("to", metavar="TENANT")
@click.option("--id", default="", metavar="ID", help="One grant. [default: all to TENANT]")
def revoke(call: Call, to: str, id: str) -> None:
    """End what the tenant (--tenant) lets TENANT find, from its next question on."""
    from ....memory import Home
    from ..frame.text_formats import plural

    settings = call.settings()
    count = Home(settings.home, key=settings.key or None).revoke(settings.tenant, to=to, id=id)
    call.show({"to": to, "revoked": count}, lambda: f"revoked {plural(count, 'grant')} to {to}")


def _show_received(call: Call) -> None:
    from .across import open_across

    with open_across(call, "all") as federation:
        found = federation.grants()

    def view() -> RenderableType:
        from ..views.tables import draw_table
        from .jobs import format_time

        if not found:
            return "no grants"
        rows = [
            (
                one.tenant,
                ", ".join(one.may) or one.unreadable,
                ", ".join(one.schemas),
                format_time(one.until) if one.until else "",
            )
            for one in found
        ]
        return draw_table(("tenant", "may", "schemas", "ends"), rows)

    call.show(msgspec.to_builtins(found), view)


def _table(grants: list[Grant]) -> RenderableType:
    from ..views.tables import draw_table
    from .jobs import format_time

    rows = [
        (
            one.id,
            one.to,
            ", ".join(one.may),
            ", ".join(one.schemas),
            one.where,
            format_time(one.until) if one.until else "",
        )
        for one in grants
    ]
    return draw_table(("id", "to", "may", "schemas", "where", "ends"), rows)
