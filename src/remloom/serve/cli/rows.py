"""The rows of a SELECT: a table or, where its columns would be too narrow to read, a block for each
row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from ...model import Answer
from .tables import draw_pairs, draw_table
from .terminal import visible
from .text_formats import one_line, plural

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

__all__ = ["draw_rows"]

NARROW = 9  # cells for a column, and the space beside it


def draw_rows(found: Answer) -> RenderableType:
    """Draw what a SELECT returned, and whether there was more."""
    if not found.rows:
        return Text("no rows", "yellow")
    drawn = _Rows(found)
    if not found.metadata.get("truncated"):
        return drawn
    return Group(
        drawn,
        Text(
            f"only the first {plural(len(found.rows), 'row')} shown; narrow it with WHERE", "yellow"
        ),
    )


class _Rows:
    def __init__(self, found: Answer) -> None:
        self.found = found

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        columns = self.found.columns
        if len(columns) * NARROW <= options.max_width:
            numeric = [
                column
                for at, column in enumerate(columns)
                if all(
                    isinstance(row[at], int | float) or row[at] is None for row in self.found.rows
                )
            ]
            yield draw_table(columns, self.found.rows, right=numeric)
            return
        for number, row in enumerate(self.found.rows):
            if number:
                yield ""
            yield draw_pairs(
                (one_line(column), Text("null", "dim") if value is None else Text(visible(value)))
                for column, value in zip(columns, row, strict=True)
            )
