"""`audit`: what was asked of a memory over a server, and by whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import msgspec

from ....errors import InvalidInputError
from ..app import Call, command

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ....tenancy.audit import AuditEntry


SHOWN = 3  # ids of a call; --json has more


@command("audit")
@click.option("--limit", type=click.IntRange(1), default=100, metavar="N", help="At most so many.")
@click.option(
    "--all-tenants", is_flag=True, help="What was done with API keys and tenants, of the home."
)
def audit(call: Call, limit: int, all_tenants: bool) -> None:
    """List what was asked of a memory over a server, newest first: who, what, which records.

    The log has no content, and is kept in the memory itself.
    """
    if all_tenants and call.tenant:
        raise InvalidInputError(
            "--all-tenants and --tenant contradict each other", remedy="give one of them"
        )
    if all_tenants:
        from ....tenancy.api_keys import ApiKeys

        with ApiKeys(call.settings()) as keys:
            found = keys.audit(limit)
    else:
        with call.open() as memory:
            found = memory.admin.audit(limit)
    call.show(msgspec.to_builtins(found), lambda: _table(found) if found else "no calls")


def _table(entries: list[AuditEntry]) -> RenderableType:
    from ..views.tables import draw_table
    from .jobs import format_time

    rows = []
    for entry in entries:
        more = len(entry.records) - SHOWN
        records = [*entry.records[:SHOWN], *([f"and {more} more"] if more > 0 else [])]
        row = (format_time(entry.at), entry.key_id, entry.operation, entry.outcome)
        rows.append((*row, f"{entry.ms:.1f} ms", "\n".join(records)))
    columns = ("at", "key", "operation", "outcome", "took", "records")
    return draw_table(columns, rows, right=("took",))
