"""`keys`: make, list and revoke the API keys of a server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import msgspec

from ....errors import InvalidInputError
from ..app import Call, command, program

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ....tenancy.api_keys import ApiKey


# what a key may do unless it is said: all that is done with one's own memory
SCOPES = "read,write,forget,dream"


@program.group("keys")
def keys() -> None:
    """Make, list and revoke API keys: who may call a server, and what they may do."""


@command("create", to=keys)
@click.argument("name")
@click.option(
    "--scopes",
    default=SCOPES,
    metavar="LIST",
    help="Of read, write, forget, dream, admin, metrics.",
)
@click.option(
    "--expires", default="", metavar="TIME", help="How long it lasts, such as 30d, or until when."
)
@click.option(
    "--all-tenants",
    is_flag=True,
    help="Of no tenant: it names one with each call, and needs the scope admin or metrics.",
)
def create(call: Call, name: str, scopes: str, expires: str, all_tenants: bool) -> None:
    """Make an API key for the tenant (--tenant), and print it. It is not shown again.

    NAME says what it is for.
    """
    from ....settings import split_list
    from ....tenancy.api_keys import ApiKeys

    settings = call.settings()
    named = call.tenant
    if all_tenants and named:
        raise InvalidInputError(
            "--all-tenants and --tenant contradict each other", remedy="give one of them"
        )
    given = split_list(scopes)
    with ApiKeys(settings) as keys:
        made = keys.create(
            name,
            given,  # type: ignore[arg-type]  # which refuses others
            tenant="" if all_tenants else settings.tenant,
            expires=expires,
        )
    call.show(msgspec.to_builtins(made), lambda: made.key)


@command("list", to=keys)
def list_keys(call: Call) -> None:
    """List the API keys: whose they are, what they may do, and when they were last used."""
    from ....tenancy.api_keys import ApiKeys

    with ApiKeys(call.settings()) as keys:
        found = keys.list()
    call.show(msgspec.to_builtins(found), lambda: _table(found) if found else "no API keys")


@command("revoke", to=keys)
@click.argument("id")
def revoke(call: Call, id: str) -> None:
    """End an API key. A server that runs refuses it from then on."""
    from ....tenancy.api_keys import ApiKeys

    with ApiKeys(call.settings()) as keys:
        keys.revoke(id)
    call.show({"id": id, "revoked": True}, lambda: f"revoked API key {id}")


def _table(keys: list[ApiKey]) -> RenderableType:
    from ..views.tables import draw_table
    from .jobs import format_time

    rows = [
        (
            key.id,
            key.name,
            key.tenant or "(all)",
            ", ".join(key.scopes),
            format_time(key.created_at),
            format_time(key.expires_at) if key.expires_at else "",
            format_time(key.last_used_at) if key.last_used_at else "never",
        )
        for key in keys
    ]
    columns = ("id", "name", "tenant", "scopes", "made", "ends", "last used")
    return draw_table(columns, rows)
