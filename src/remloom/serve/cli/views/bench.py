"""Memories beside each other: how well each found the evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from ....text.quoting import visible
from ..frame.text_formats import plural
from .tables import draw_table

if TYPE_CHECKING:
    from ....bench import BenchResult


def draw_comparison(comparison: BenchResult) -> RenderableType:
    from ....bench.tables import tables

    asked = plural(comparison.questions, "question")
    asked = f"{asked} ({comparison.with_answer:,} with an answer)"
    about = f"{asked} about {plural(comparison.documents, 'document')}, {comparison.k} asked for"
    head = f"{visible(comparison.data)}: {about}; budget {comparison.budget:,} tokens"
    parts: list[RenderableType] = [Text(head)]
    for table in tables(comparison):
        columns = (table.title, *table.columns)
        parts += [Text(), draw_table(columns, table.rows, right=table.columns)]
    parts += [Text(f"\n{visible(note)}", "dim") for note in comparison.notes]
    for one in comparison.memories:
        for problem in one.problems:
            parts.append(Text.assemble((f"\n{visible(one.memory)} ", "bold red"), visible(problem)))
    return Group(*parts)
