"""Databases and schemas: a plan, a sync, a drift, what is registered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from ....text.quoting import visible
from ..frame.text_formats import plural
from .tables import draw_table

if TYPE_CHECKING:
    from ....model import Receipt, Registered, RowsMigrated, SchemaDefinition
    from ....schema.drift import Drift
    from ....schema.plan.plan import Plan
    from ....schema.plan.planned import Question
    from ....schema.sync.report import SyncReport

_SHOWN = 20  # questions, refusals and the like that are listed; --json has them all


def draw_drift(found: Drift, source: str) -> str:
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
    questions = [_question_line(question) for question in plan.questions]
    parts += [Text(visible(f"? {one}")) for one in questions[:_SHOWN]]
    if len(questions) > _SHOWN:
        parts.append(f"and {len(questions) - _SHOWN} more questions")
    where = f"written to {output}: read it, edit it, then remloom register {output}"
    parts.append(Text(visible(where if output else "-o FILE writes this as a plan to register")))
    return Group(*parts)


def _question_line(question: Question) -> str:
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
    for listed, count in ((refusals, report.refused), (left_out, report.left_out)):
        parts += [Text(visible(one)) for one in listed[:_SHOWN]]
        if count > _SHOWN:
            parts.append(f"and {count - _SHOWN:,} more")
    parts += _pair_lines(report)
    edges = plural(report.edges_added, "edge")
    verb = "would be added" if report.dry_run else "added"
    parts.append(f"{edges} {verb}, {report.edges_ended:,} ended")
    return Group(*parts)


def _pair_lines(report: SyncReport) -> Iterator[Text]:
    """Say which rows are one thing since, which are not any more, and which may be."""
    would = "would be " if report.dry_run else ""
    for verb, count in (("united", report.united), ("separated", report.separated)):
        if count:
            yield Text(f"{plural(count, 'pair')} of rows {would}{verb}", "green")
    for pair in report.same_as[:_SHOWN]:
        sign = "=" if pair.united else "≠" if pair.separated or pair.why else "may be"
        why = f": {pair.why}" if pair.why else ""
        yield Text(visible(f"  {pair.first} {sign} {pair.second}{why}"))
    if len(report.same_as) > _SHOWN:
        yield Text(f"  and {len(report.same_as) - _SHOWN:,} more: --json has them")


def draw_registered(done: Sequence[Registered]) -> str:
    return "\n".join(map(_registered, done))


def _registered(done: Registered) -> str:
    what = f"{done.schema_name}, version {done.version}"
    lines = [f"registered {what}" if done.changes else f"unchanged {what}"]
    return "\n".join([*lines, *(f"  note: {note}" for note in done.notes)])


def draw_dropped(receipt: Receipt, name: str) -> str:
    return f"dropped {name}, forgot {plural(receipt.records, 'row')}"


def draw_migrated(done: RowsMigrated, name: str) -> str:
    return f"{plural(done.rows, 'row')} of {name} are of version {done.version} now"


def draw_schemas(definitions: list[SchemaDefinition], counts: dict[str, int]) -> RenderableType:
    rows = [
        (
            one.schema_name,
            one.version,
            f"{counts.get(one.schema_name, 0):,}",
            len(one.base_fields),
            one.source,
            one.description,
        )
        for one in definitions
    ]
    columns = ("schema", "version", "rows", "fields", "source", "description")
    right = ("version", "rows", "fields")
    return draw_table(columns, rows, right=right, none="no schemas")


def draw_fields(definition: SchemaDefinition) -> RenderableType:
    marks = ("required", "is_key", "searchable")
    fields = [
        (
            name,
            str(field),
            ", ".join(mark.removeprefix("is_") for mark in marks if getattr(field, mark)),
            field.personal,
            field.description,
        )
        for name, field in definition.base_fields.items()
    ]
    edges = [
        (edge.name, ", ".join(edge.fields), edge.target, edge.inverse) for edge in definition.edges
    ]
    parts: list[RenderableType] = [
        f"{definition.schema_name}, version {definition.version}",
        draw_table(("field", "type", "", "personal", "description"), fields),
    ]
    if edges:
        parts.append(draw_table(("edge", "by", "to", "back"), edges))
    return Group(*parts)
