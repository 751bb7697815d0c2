"""`discover`, `sync` and `drift`: databases that are already there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec
from click.exceptions import Exit

from ....errors import ConflictError
from ..app import Call, command
from ..frame.text_formats import plural
from .reading import progress_bar

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ....schema.plan.plan import Plan
    from ....schema.plan.planned import Question
    from ....schema.sync.report import SyncReport


INCOMPLETE = 1  # exit code when rows or tables were not taken
DRIFTED = 3  # exit code when a database is otherwise than it was
_SHOWN = 20  # questions, refusals and the like that are listed; --json has them all

_url = click.option(
    "--url",
    metavar="URL",
    help="Where the database is now. [default: as in its plan, with REMLOOM_SOURCE_<NAME>]",
)


@command("discover")
@click.argument("url")
@click.option("-o", "--output", metavar="FILE", help="Write the plan here, to read and edit.")
@click.option("--name", default="", help="What the source is called. [default: as the database]")
@click.option("--tables", metavar="LIST", help="Only these, parted by commas. [default: all]")
@click.option("--relationships/--no-relationships", default=True, help="Look for foreign keys.")
@click.option(
    "--sample",
    default=20_000,
    show_default=True,
    metavar="ROWS",
    help="Rows of a table to look at; 0 goes by names alone.",
)
def discover(
    call: Call,
    url: str,
    output: str | None,
    name: str,
    tables: str | None,
    relationships: bool,
    sample: int,
) -> None:
    """Look at a database, and propose schemas, names and edges. Nothing is written to it, nor to
    the memory.

    URL is postgresql://, mysql://, mongodb://, snowflake://, or the path of an SQLite or DuckDB
    file or of a folder of CSV and Parquet files.
    """
    from ....schema.discovery.at_address import discover_at
    from ....settings import split_list

    if output and Path(output).exists():
        raise ConflictError(
            f"{output} exists already", remedy="give another file; an edited plan is not replaced"
        )
    chosen = split_list(tables) if tables else None
    with progress_bar(call, "tables") as progress:
        plan = discover_at(url, name, chosen, relationships, sample, progress)
    if output:
        plan.save(output)
    call.show(msgspec.to_builtins(plan), lambda: _plan_view(plan, output))


@command("sync")
@click.argument("source")
@click.option("--dry-run", is_flag=True, help="Write nothing, and print what would be written.")
@_url
def sync(call: Call, source: str, dry_run: bool, url: str | None) -> None:
    """Bring the rows of a database that was registered up to date.

    Exits with 1 when rows or tables could not be taken.
    """
    with call.open() as memory, progress_bar(call, "rows") as progress:
        report = memory.schemas.sync(source, dry_run=dry_run, url=url, progress=progress)
    call.show(msgspec.to_builtins(report), lambda: _sync_view(report))
    if report.refused or report.faults:
        raise Exit(INCOMPLETE)


@command("drift")
@click.argument("source")
@click.option("--accept", is_flag=True, help="Take over what is only added.")
@_url
def drift(call: Call, source: str, accept: bool, url: str | None) -> None:
    """Say how a database differs from what it was when it was registered.

    Exits with 3 when it does.
    """
    with call.open() as memory:
        found = memory.schemas.drift(source, accept=accept, url=url)
    left = [change for change in found.changes if change not in found.accepted]

    def view() -> str:
        lines = [str(change) for change in left]
        lines += [f"accepted {change}" for change in found.accepted]
        return "\n".join(lines) or f"{source} is as it was"

    call.show(msgspec.to_builtins(found), view)
    if left:
        raise Exit(DRIFTED)


def _plan_view(plan: Plan, output: str | None) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    from ....text.quoting import visible
    from ..views.tables import draw_table

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


def _sync_view(report: SyncReport) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    from ....text.quoting import visible
    from ..views.tables import draw_table

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
