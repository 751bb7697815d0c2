"""Tables, rows of a SELECT, and names with their values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ....model import Answer
from ....text.quoting import visible
from ..frame.text_formats import byte_size, format_time, one_line, plural

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

_DATA = ("fields", "properties", "metadata")  # of records: what others wrote


def draw_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    right: Sequence[str] = (),
    none: str = "",
) -> RenderableType:
    """Draw a plain table.

    Args:
        right: names of the columns set flush right.
        none: shown instead when there are no rows.
    """
    if none and not rows:
        return none
    drawn = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for column in columns:
        # folded, not cut: a table never hides a value
        justify: Literal["left", "right"] = "right" if column in right else "left"
        drawn.add_column(one_line(column), justify=justify, overflow="fold")
    for row in rows:
        cells = [Text("null", "dim") if value is None else Text(visible(value)) for value in row]
        drawn.add_row(*cells)
    return drawn


def draw_list(
    values: Sequence[Any],
    *,
    columns: Mapping[str, str | Callable[[Any], Any]],
    right: Sequence[str] = (),
    none: str = "",
) -> RenderableType:
    """Draw values of one type, a line each.

    Args:
        columns: by title, the field of a value that a column shows, or a function of it.
        right: titles of the columns set flush right.
        none: shown instead when there are no values.
    """
    rows = [
        [_text(getattr(value, of) if isinstance(of, str) else of(value)) for of in columns.values()]
        for value in values
    ]
    return draw_table([*columns], rows, right=right, none=none)


def _text(value: Any) -> str:
    if isinstance(value, datetime):
        return format_time(value)
    if isinstance(value, tuple | list):
        return ", ".join(map(str, value))
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, int):
        return f"{value:,}"
    return "" if value is None else str(value)


def draw_pairs(values: Iterable[tuple[str, RenderableType]]) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in values:
        grid.add_row(name, value)
    return grid


def draw_words(meanings: Mapping[str, str]) -> RenderableType:
    return draw_pairs((word, Text(meaning)) for word, meaning in meanings.items())


def draw_nested(values: dict[str, Any], indent: str = "") -> RenderableType:
    """Draw a dictionary of counts and facts, the dictionaries in it indented."""
    return draw_pairs(_nested_pairs(values, indent))


def _nested_pairs(
    values: dict[str, Any], indent: str, is_data: bool = False
) -> Iterator[tuple[str, RenderableType]]:
    for name, value in values.items():
        # below the first level names are data, and stay as they are
        label = one_line(name.replace("_", " "))
        if indent:
            label = indent + (one_line(name) or "(none)")
        if isinstance(value, dict) and value:
            yield label, Text("")
            yield from _nested_pairs(value, indent + "  ", is_data or name in _DATA)
        elif is_data and isinstance(value, int) and not isinstance(value, bool):
            # a number there may be a key
            yield label, Text(str(value))
        else:
            yield label, Text(_fact(name, value))


def _fact(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return byte_size(value) if "bytes" in name else f"{value:,}"
    if isinstance(value, list | tuple):
        return one_line(", ".join(map(str, value)))
    return one_line(str(value)) if value or value == 0 else "none"


SPACE = 3  # cells beside a column
WIDEST = 16  # cells: a column in which a longer value has fewer is hard to read


def draw_rows(answer: Answer) -> RenderableType:
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
