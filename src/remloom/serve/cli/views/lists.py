"""Lists of what is kept beside records, a line each."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from rich.console import RenderableType

from ..frame.text_formats import byte_size, short_id
from .job_lines import format_call, format_time, outcome, schedule_line
from .run_counts import counted
from .tables import draw_table

if TYPE_CHECKING:
    from ....federation.answer import ReceivedGrant
    from ....jobs import Job
    from ....model import TenantInfo
    from ....runs.run import Run
    from ....tenancy.api_keys import ApiKey
    from ....tenancy.audit import AuditEntry
    from ....tenancy.grants import Grant


SHOWN = 3  # records of a call; --json has more


def draw_jobs(jobs: Sequence[Job]) -> RenderableType:
    """Draw jobs, and what came of each."""
    rows = [
        (job.id, format_call(job), job.state, format_time(job.not_before), outcome(job))
        for job in jobs
    ]
    return draw_table(("job", "does", "state", "not before", "last outcome"), rows, none="no jobs")


def draw_schedule(scheduled: Sequence[Job]) -> RenderableType:
    """Draw what is scheduled, and what came of it."""
    rows = [
        (job.id, format_call(job), schedule_line(job), format_time(job.not_before), outcome(job))
        for job in scheduled
    ]
    none = 'nothing is scheduled: remloom schedule add "0 2 * * *" affinity'
    return draw_table(("name", "does", "when", "next", "last outcome"), rows, none=none)


def draw_runs(runs: Sequence[Run]) -> RenderableType:
    """Draw what ran, with what it did and wrote."""
    rows = [
        (
            short_id(run.id),
            run.kind,
            run.state,
            f"{run.started_at:%Y-%m-%d %H:%M}",
            counted(run.counts),
            counted(run.receipt),
        )
        for run in runs
    ]
    columns = ("run", "kind", "state", "began", "did", "wrote")
    return draw_table(columns, rows, none="nothing ran yet")


def draw_grants(grants: Sequence[Grant]) -> RenderableType:
    """Draw what a tenant lets others find."""
    rows = [
        (one.id, one.to, ", ".join(one.may), ", ".join(one.schemas), one.where, _until(one.until))
        for one in grants
    ]
    return draw_table(("id", "to", "may", "schemas", "where", "ends"), rows, none="no grants")


def draw_received(grants: Sequence[ReceivedGrant]) -> RenderableType:
    """Draw what others let a tenant find."""
    rows = [
        (
            one.tenant,
            ", ".join(one.may) or one.unreadable,
            ", ".join(one.schemas),
            _until(one.until),
        )
        for one in grants
    ]
    return draw_table(("tenant", "may", "schemas", "ends"), rows, none="no grants")


def draw_keys(keys: Sequence[ApiKey]) -> RenderableType:
    """Draw API keys."""
    rows = [
        (
            key.id,
            key.name,
            key.tenant or "(all)",
            ", ".join(key.scopes),
            format_time(key.created_at),
            _until(key.expires_at),
            _until(key.last_used_at) or "never",
        )
        for key in keys
    ]
    columns = ("id", "name", "tenant", "scopes", "made", "ends", "last used")
    return draw_table(columns, rows, none="no API keys")


def draw_audit(entries: Sequence[AuditEntry]) -> RenderableType:
    """Draw what was asked over a server."""
    rows = []
    for entry in entries:
        more = len(entry.records) - SHOWN
        records = [*entry.records[:SHOWN], *([f"and {more} more"] if more > 0 else [])]
        row = (format_time(entry.at), entry.key_id, entry.operation, entry.outcome)
        rows.append((*row, f"{entry.ms:.1f} ms", "\n".join(records)))
    columns = ("at", "key", "operation", "outcome", "took", "records")
    return draw_table(columns, rows, right=("took",), none="no calls")


def draw_tenants(tenants: Sequence[TenantInfo]) -> RenderableType:
    """Draw tenants, whether they are encrypted, and their size."""
    rows = []
    for info in tenants:
        encrypted = "yes" if info.encrypted else "no"
        # of a damaged tenant it cannot be known
        if info.damaged:
            encrypted = "damaged"
        rows.append((info.name, encrypted, byte_size(info.bytes)))
    return draw_table(("tenant", "encrypted", "on disk"), rows, right=("on disk",))


def _until(at: datetime | None) -> str:
    return format_time(at) if at else ""
