"""Rows: a table or, where its columns would be too narrow to read, a block for each row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from ....model import Answer
from ....text.quoting import visible
from ..frame.text_formats import one_line, plural
from .tables import draw_pairs, draw_table

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult


SPACE = 3  # cells beside a column
WIDEST = 16  # cells: a column in which a longer value has fewer is hard to read


def draw_rows(answer: Answer) -> RenderableType:
    """Draw what a SELECT returned, and whether there was more."""
    if not answer.rows:
        return Text("no rows", "yellow")
    drawn = TableOrBlocks(answer.columns, answer.rows)
    if not answer.metadata.get("truncated"):
        return drawn
    note = f"only the first {plural(len(answer.rows), 'row')} shown; narrow it with WHERE"
    return Group(drawn, Text(note, "yellow"))


class TableOrBlocks:
    """Rows in the form that fits the console, whose width is known only when they are drawn."""

    def __init__(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        self.columns = columns
        self.rows = rows

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self._width() <= options.max_width:
            # numbers are set flush right, so that their digits stand below each other
            numeric = [name for at, name in enumerate(self.columns) if self._is_numeric(at)]
            yield draw_table(self.columns, self.rows, right=numeric)
            return
        # one block a row, blocks apart by an empty line
        for number, row in enumerate(self.rows):
            if number:
                yield ""
            names = [one_line(column) for column in self.columns]
            yield draw_pairs(zip(names, map(_cell, row), strict=True))

    def _width(self) -> int:
        """The cells that a table takes in which values can be read."""
        width = 0
        for at, column in enumerate(self.columns):
            longest = max((len(str(row[at])) for row in self.rows), default=0)
            width += max(len(column), min(longest, WIDEST)) + SPACE
        return width

    def _is_numeric(self, column: int) -> bool:
        values = [row[column] for row in self.rows]
        return all(value is None or isinstance(value, int | float) for value in values)


def _cell(value: object) -> Text:
    return Text("null", "dim") if value is None else Text(visible(value))
