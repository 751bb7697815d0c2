"""Lists: values of one type, a line each, and what their columns are."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ..frame.text_formats import byte_size, short_id
from .job_lines import format_call, outcome, schedule_line
from .run_counts import counted
from .tables import draw_list

if TYPE_CHECKING:
    from ....model import TenantInfo
    from ....tenancy.audit import AuditEntry

SHOWN = 3  # records of a call; --json has more


def _records(entry: AuditEntry) -> str:
    more = len(entry.records) - SHOWN
    return "\n".join([*entry.records[:SHOWN], *([f"and {more} more"] if more > 0 else [])])


def _encrypted(tenant: TenantInfo) -> str:
    # of a damaged tenant it cannot be known
    if tenant.damaged:
        return "damaged"
    return "yes" if tenant.encrypted else "no"


draw_jobs = partial(
    draw_list,
    columns={
        "job": "id",
        "does": format_call,
        "state": "state",
        "not before": "not_before",
        "last outcome": outcome,
    },
    none="no jobs",
)
draw_schedule = partial(
    draw_list,
    columns={
        "name": "id",
        "does": format_call,
        "when": schedule_line,
        "next": "not_before",
        "last outcome": outcome,
    },
    none='nothing is scheduled: remloom schedule add "0 2 * * *" affinity',
)
draw_runs = partial(
    draw_list,
    columns={
        "run": lambda run: short_id(run.id),
        "kind": "kind",
        "state": "state",
        "began": lambda run: f"{run.started_at:%Y-%m-%d %H:%M}",
        "did": lambda run: counted(run.counts),
        "wrote": lambda run: counted(run.receipt),
    },
    none="nothing ran yet",
)
draw_grants = partial(
    draw_list,
    columns={
        "id": "id",
        "to": "to",
        "may": "may",
        "schemas": "schemas",
        "where": "where",
        "ends": "until",
    },
    none="no grants",
)
draw_received = partial(
    draw_list,
    columns={
        "tenant": "tenant",
        "may": lambda grant: grant.may or grant.unreadable,
        "schemas": "schemas",
        "ends": "until",
    },
    none="no grants",
)
draw_keys = partial(
    draw_list,
    columns={
        "id": "id",
        "name": "name",
        "tenant": lambda key: key.tenant or "(all)",
        "scopes": "scopes",
        "made": "created_at",
        "ends": "expires_at",
        "last used": lambda key: key.last_used_at or "never",
    },
    none="no API keys",
)
draw_audit = partial(
    draw_list,
    columns={
        "at": "at",
        "key": "key_id",
        "operation": "operation",
        "outcome": "outcome",
        "took": lambda entry: f"{entry.ms:.1f} ms",
        "records": _records,
    },
    right=("took",),
    none="no calls",
)
draw_tenants = partial(
    draw_list,
    columns={
        "tenant": "name",
        "encrypted": _encrypted,
        "on disk": lambda tenant: byte_size(tenant.bytes),
    },
    right=("on disk",),
)
draw_candidates = partial(
    draw_list,
    columns={"extra": "extra", "kind": "kind", "values": "values", "evidence": "pieces"},
    right=("evidence",),
    none="no extra has three independent pieces of evidence yet",
)
draw_learned = partial(
    draw_list,
    columns={"what": "kind", "of": "name", "before": "prior", "now": "now", "answers": "count"},
    right=("before", "now", "answers"),
    none="nothing yet: confirm, correct or reject what is believed",
)
draw_sessions = partial(
    draw_list,
    columns={
        "session": "name",
        "answered": lambda session: len(session.asked),
        "open": lambda session: session.open.question if session.open else "",
    },
    right=("answered",),
    none="no session is kept: `--session NAME` keeps one",
)
