"""A report as one HTML page, which needs no other file: figures, and sections with plots.

Plots are inline SVG. They are drawn in placeholder colours, which the page's style sheet replaces,
so that they follow a dark mode.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ..errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, FIRST, SECOND, THIRD = "#010101", "#010102", "#010103", "#010104"  # placeholders
_COLOURS = {
    INK: "currentColor",
    FIRST: "var(--first)",
    SECOND: "var(--second)",
    THIRD: "var(--third)",
}
_CSS = Path(__file__).with_name("report_page.css")
_LONGEST_NAME = 32  # characters of a name beside a bar


class PageSection(Struct, frozen=True):
    """A part of the page.

    Attributes:
        plot: SVG; empty: there is nothing to plot.
        rows: the numbers, in cells as `columns` names them.
    """

    title: str
    text: str
    plot: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


def page(
    title: str, about: str, figures: Mapping[str, str], sections: Iterable[PageSection]
) -> str:
    """Write the page; all texts but the plots are escaped."""
    items = [
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>"
        for name, value in figures.items()
    ]
    lines = (
        "<!doctype html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title>",
        f"<style>\n{_CSS.read_text(encoding='utf-8')}</style>",
        "</head>",
        "<body>",
        "<main>",
        f"<h1>{escape(title)}</h1>",
        f'<p class="dim">{escape(about)}</p>',
        f"<dl>{''.join(items)}</dl>",
        f"{''.join(map(_section_html, sections))}</main>",
        "</body>",
        "</html>",
        "",
    )
    return "\n".join(lines)


def bars(
    title: str,
    names: Sequence[str],
    values: Sequence[float],
    *,
    limit: float | None = None,
) -> str:
    """A bar for each name, the first on top; `limit` is the right end of the axis."""
    if not names:
        return ""

    def draw(axes: Axes) -> None:
        positions = range(len(names))
        axes.barh(positions, values, color=FIRST, height=0.6)
        axes.set_yticks(positions, [_shorten(name) for name in names])
        axes.invert_yaxis()
        if limit is not None:
            axes.set_xlim(0, limit)

    return svg(title, draw, height=0.9 + 0.32 * len(names))


def _shorten(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"


def svg(title: str, draw: Callable[[Axes], None], *, height: float = 3.4) -> str:
    """A plot as SVG for a page: with a description to be read out, and coloured by the page.

    Raises:
        MissingExtraError: the extra `report` is not installed.
    """
    try:
        import matplotlib
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("a page with plots", "report") from error

    settings = {
        "svg.fonttype": "none",
        # else the ids inside are others each time
        "svg.hashsalt": title,
        "font.family": "sans-serif",
        "text.parse_math": False,
    }
    with matplotlib.rc_context(settings):
        figure = Figure(figsize=(8, height), layout="constrained")
        axes = figure.add_subplot()
        draw(axes)
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["left", "bottom"]].set_color(INK)
        axes.tick_params(colors=INK)
        axes.xaxis.label.set_color(INK)
        axes.yaxis.label.set_color(INK)
        figure.patch.set_alpha(0)
        axes.patch.set_alpha(0)
        file = StringIO()
        FigureCanvasSVG(figure).print_svg(file, metadata={"Date": None, "Creator": None})
    return _inline(file.getvalue(), title)


def _inline(svg: str, title: str) -> str:
    """An SVG file as a part of the page, in the page's font and colours."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"font: ([\d.]+)px[^;\"]*", r"font: \1px system-ui, sans-serif", svg)
    for placeholder, colour in _COLOURS.items():
        svg = svg.replace(placeholder, colour)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{escape(title)}" ', 1)


def _section_html(section: PageSection) -> str:
    # without a text, the numbers speak for themselves
    opened = "" if section.plot or section.text else " open"
    if section.plot:
        plot = f"<figure>{section.plot}</figure>"
    elif opened:
        plot = ""
    else:
        plot = '<p class="dim">There is nothing to measure it by yet.</p>'
    table = ""
    if section.rows:
        rows = _table(section.columns, section.rows)
        table = f"<details{opened}><summary>The numbers</summary>{rows}</details>\n"
    heading = f"<h2>{escape(section.title)}</h2>\n<p>{escape(section.text)}</p>"
    return f"<section>\n{heading}\n{plot}\n{table}</section>\n"


def _table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
    body = "".join(map(_table_row, rows))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _table_row(row: Sequence[Any]) -> str:
    cells = "".join(f"<td>{escape(str(value))}</td>" for value in row)
    return f"<tr>{cells}</tr>"
