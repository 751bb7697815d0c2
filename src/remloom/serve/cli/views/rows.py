"""The rows of a SELECT: a table or, where its columns would be too narrow to read, a block for each
row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from ....model import Answer
from ....text.quoting import visible
from ..frame.text_formats import one_line, plural
from .tables import draw_pairs, draw_table

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult


NARROW = 9  # cells for a column, and the space beside it


def draw_rows(answer: Answer) -> RenderableType:
    """Draw what a SELECT returned, and whether there was more."""
    if not answer.rows:
        return Text("no rows", "yellow")
    drawn = _Rows(answer)
    if not answer.metadata.get("truncated"):
        return drawn
    note = f"only the first {plural(len(answer.rows), 'row')} shown; narrow it with WHERE"
    return Group(drawn, Text(note, "yellow"))


class _Rows:
    """Rows in the form that fits the console, whose width is known only when they are drawn."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        columns = self.answer.columns
        if len(columns) * NARROW <= options.max_width:
            # numbers are set flush right, so that their digits stand below each other
            numeric = [name for at, name in enumerate(columns) if self._is_numeric(at)]
            yield draw_table(columns, self.answer.rows, right=numeric)
            return
        # too many columns for the width: one block a row, blocks apart by an empty line
        for number, row in enumerate(self.answer.rows):
            if number:
                yield ""
            names = [one_line(column) for column in columns]
            yield draw_pairs(zip(names, map(_cell, row), strict=True))

    def _is_numeric(self, column: int) -> bool:
        values = [row[column] for row in self.answer.rows]
        return all(value is None or isinstance(value, int | float) for value in values)


def _cell(value: object) -> Text:
    return Text("null", "dim") if value is None else Text(visible(value))
