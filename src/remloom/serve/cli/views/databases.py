"""A plan for a database, what a sync did, and how a database has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from ....text.quoting import visible
from ..frame.text_formats import plural
from .tables import draw_table

if TYPE_CHECKING:
    from ....schema.drift import Drift
    from ....schema.plan.plan import Plan
    from ....schema.plan.planned import Question
    from ....schema.sync.report import SyncReport


_SHOWN = 20  # questions, refusals and the like that are listed; --json has them all


def draw_drift(found: Drift, source: str) -> str:
    """Say how a database differs, and what of that was taken over."""
    lines = [str(change) for change in found.changes if change not in found.accepted]
    lines += [f"accepted {change}" for change in found.accepted]
    return "\n".join(lines) or f"{source} is as it was"


def draw_plan(plan: Plan, output: str | None) -> RenderableType:
    tables = [
        (
            table.table,
            table.schema_name,
            f"{table.entity_type}-<{'/'.join(table.key) or 'content'}>",
            ", ".join(table.name),
            "" if table.rows is None else f"{table.rows:,}",
        )
        for table in plan.tables
    ]
    edges = [
        (
            f"{edge.table}.{', '.join(edge.columns)}",
            edge.name,
            edge.target or edge.entity_type,
            "declared" if edge.declared else f"{edge.confidence:.2f}",
        )
        for edge in plan.edges
    ]
    parts: list[RenderableType] = [
        draw_table(("table", "schema", "handle", "name", "rows"), tables, right=("rows",))
    ]
    if edges:
        parts.append(draw_table(("column", "edge", "to", "sure"), edges))
    asked = [_asked(question) for question in plan.questions]
    parts += [Text(visible(f"? {one}")) for one in asked[:_SHOWN]]
    if len(asked) > _SHOWN:
        parts.append(f"and {len(asked) - _SHOWN} more questions")
    where = f"written to {output}: read it, edit it, then remloom register {output}"
    parts.append(Text(visible(where if output else "-o FILE writes this as a plan to register")))
    return Group(*parts)


def _asked(question: Question) -> str:
    about = question.table
    if question.columns:
        about = f"{about}.{', '.join(question.columns)}"
    return f"{about}: {question.question} Proposed: {question.proposal}"


def draw_sync(report: SyncReport) -> RenderableType:
    columns = (
        "table", "read", "added", "changed", "unchanged", "deleted", "forgotten", "refused",
        "left_out",
    )  # fmt: skip
    counts = [
        (table.table, *(f"{getattr(table, column):,}" for column in columns[1:]))
        for table in report.tables
    ]
    titles = tuple(column.replace("_", " ") for column in columns)
    parts: list[RenderableType] = [draw_table(titles, counts, right=titles[1:])]
    parts += [Text(visible(f"! {table}: {fault}")) for table, fault in report.faults.items()]
    refusals = [
        f"! {table.table} {one.row}: {one.reason}"
        for table in report.tables
        for one in table.refusals
    ]
    left_out = [
        f"- {table.table} {one.row}, without a value: {one.reason}"
        for table in report.tables
        for one in table.left_out_values
    ]
    for told, count in ((refusals, report.refused), (left_out, report.left_out)):
        parts += [Text(visible(one)) for one in told[:_SHOWN]]
        if count > _SHOWN:
            parts.append(f"and {count - _SHOWN:,} more")
    edges = plural(report.edges_added, "edge")
    verb = "would be added" if report.dry_run else "added"
    parts.append(f"{edges} {verb}, {report.edges_ended:,} ended")
    return Group(*parts)
