"""The metrics of what was dreamt, and their HTML page.

The page needs no other file: plots are inline SVG. They are drawn in placeholder colours, which the
page's style sheet replaces, so that they follow a dark mode.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ..errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_INK, _FIRST, _SECOND, _THIRD = "#010101", "#010102", "#010103", "#010104"  # placeholders
_COLOURS = {
    _INK: "currentColor",
    _FIRST: "var(--first)",
    _SECOND: "var(--second)",
    _THIRD: "var(--third)",
}
_LARGEST = 15  # bars of one plot
_CSS = Path(__file__).with_name("report.css")
_LONGEST_NAME = 32  # characters of a name beside a bar


class Coherence(Struct, frozen=True, kw_only=True):
    """Whether what is understood of an entity stays of one piece."""

    # mean cosine of two insights of one entity, over entities; None: none has two
    score: float | None
    across: float | None  # of two insights of different entities, for comparison
    # name, insights, mean cosine; the least coherent first
    entities: tuple[tuple[str, int, float], ...] = ()


class Novelty(Struct, frozen=True, kw_only=True):
    """Whether dreams say what nothing they could read says."""

    # mean over dreams of 1 - cosine with the nearest record of a lower generation
    score: float | None
    sources: float | None  # the same for what was read: a chunk against those of other sources
    # mean over dreams of how far apart their parents are: 1 - mean cosine of two of them
    reach: float | None
    dreams: tuple[float, ...] = ()  # novelty of each
    read: tuple[float, ...] = ()  # of each chunk


class Generation(Struct, frozen=True, kw_only=True):
    """One generation of insights."""

    generation: int
    records: int
    kinds: Mapping[str, int]
    support: float  # mean cosine of an insight with the middle of its parents
    novelty: float  # mean of 1 - cosine with the nearest record of a lower generation
    quality: float  # mean of the geometric mean of both


class Coverage(Struct, frozen=True, kw_only=True):
    """How much of texts that were held out is foreseen."""

    texts: int
    score: float  # share of them to which some insight comes near
    sources: float  # share to which something that was read comes near
    gained: float  # share to which an insight comes near and nothing that was read does
    threshold: float  # cosine that counts as near


class Cost(Struct, frozen=True, kw_only=True):
    """What the model took, for each insight that stands."""

    insights: int
    calls: int
    tokens: int
    dollars: float | None  # None: the price of some calls is not known
    per_insight_tokens: float | None
    per_insight_dollars: float | None
    tasks: Mapping[str, int] = {}  # tokens by task


class Metrics(Struct, frozen=True, kw_only=True):
    """What was measured. Where there is nothing to measure it by, a part or its score is None."""

    sources: int
    insights: int
    coherence: Coherence
    novelty: Novelty
    # the last generation before quality falls below four fifths of the first one's; 0: none
    depth: int
    generations: tuple[Generation, ...]
    cost: Cost
    coverage: Coverage | None = None

    def page(self) -> str:
        """The metrics as one HTML page with plots, which needs no other file.

        Raises:
            MissingExtraError: the extra `report` is not installed.
        """
        sections = "".join(map(_section_html, _sections(self)))
        written = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
        about = f"{self.insights:,} insights from {self.sources:,} resources. Measured {written}."
        lines = (
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            "<title>What was dreamt</title>",
            f"<style>\n{_CSS.read_text(encoding='utf-8')}</style>",
            "</head>",
            "<body>",
            "<main>",
            "<h1>What was dreamt</h1>",
            f'<p class="dim">{about}</p>',
            _figures(self),
            f"{sections}</main>",
            "</body>",
            "</html>",
            "",
        )
        return "\n".join(lines)


class _Section(Struct, frozen=True):
    title: str
    text: str
    plot: str  # SVG; empty: there is nothing to plot
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


def _figures(metrics: Metrics) -> str:
    cost, coverage = metrics.cost, metrics.coverage
    tokens, dollars = cost.per_insight_tokens, cost.per_insight_dollars
    figures = {
        "Coherence": _format(metrics.coherence.score),
        "Novelty of dreams": _format(metrics.novelty.score),
        "Depth": str(metrics.depth),
        "Coverage": f"{coverage.score:.0%}" if coverage else "–",
        "Tokens per insight": "–" if tokens is None else f"{tokens:,.0f}",
        "Cost per insight": "–" if dollars is None else f"${dollars:,.5f}",
    }
    items = [f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in figures.items()]
    return f"<dl>{''.join(items)}</dl>"


def _sections(metrics: Metrics) -> Iterator[_Section]:
    yield _depth(metrics)
    yield _novelty(metrics)
    yield _coherence(metrics)
    if metrics.coverage:
        yield _coverage(metrics.coverage)
    if metrics.cost.tasks:
        yield _cost(metrics.cost)


def _depth(metrics: Metrics) -> _Section:
    generations = metrics.generations

    def draw(axes: Axes) -> None:
        numbers = [one.generation for one in generations]
        lines = (("quality", _FIRST, "o-"), ("support", _SECOND, "s--"), ("novelty", _THIRD, "^:"))
        for name, colour, mark in lines:
            values = [getattr(one, name) for one in generations]
            axes.plot(numbers, values, mark, color=colour, label=name, linewidth=2)
        axes.set_xticks(numbers)
        axes.set_xlabel("generation")
        axes.set_ylim(0, 1)
        # above the plot, where no line is
        above = (0.5, 1.18)
        axes.legend(
            frameon=False, labelcolor=_INK, loc="upper center", bbox_to_anchor=above, ncols=3
        )

    rows = []
    for one in generations:
        shares = (f"{value:.2f}" for value in (one.support, one.novelty, one.quality))
        rows.append((one.generation, f"{one.records:,}", *shares))
    return _Section(
        "Depth",
        "Support: how near an insight is to what it came from. Novelty: how far it is from "
        "anything of a lower generation. Quality: the geometric mean of both. Depth is the last "
        "generation before quality falls below four fifths of the first one's.",
        _svg("Quality, support and novelty by generation", draw) if generations else "",
        ("generation", "insights", "support", "novelty", "quality"),
        rows,
    )


def _novelty(metrics: Metrics) -> _Section:
    novelty = metrics.novelty

    def draw(axes: Axes) -> None:
        histograms = (
            ("what was read", novelty.read, _SECOND, ""),
            ("dreams", novelty.dreams, _FIRST, "//"),
        )
        for name, values, colour, hatch in histograms:
            if values:
                axes.hist(
                    values,
                    bins=20,
                    range=(0, 1),
                    weights=[1 / len(values)] * len(values),
                    histtype="step",
                    color=colour,
                    linewidth=2,
                    label=name,
                    hatch=hatch,
                )
        axes.set_xlabel("novelty")
        axes.set_ylabel("share")
        axes.legend(frameon=False, labelcolor=_INK)

    has_values = bool(novelty.dreams or novelty.read)
    return _Section(
        "Novelty",
        "How far dreams are from anything of a lower generation, beside how far what was read is "
        "from what other sources say. Reach, how far apart the parents of a dream are: "
        f"{_format(novelty.reach)}.",
        _svg("Novelty of dreams and of what was read", draw) if has_values else "",
        ("of", "records", "mean novelty"),
        [
            ("dreams", len(novelty.dreams), _format(novelty.score)),
            ("what was read", len(novelty.read), _format(novelty.sources)),
        ],
    )


def _coherence(metrics: Metrics) -> _Section:
    coherence = metrics.coherence
    shown = coherence.entities[:_LARGEST]
    names = [name for name, _, _ in shown]
    scores = [score for _, _, score in shown]
    return _Section(
        "Coherence",
        "How alike the insights about one entity are, on average; of different entities it is "
        f"{_format(coherence.across)}. The least coherent come first: there, understanding may "
        "contradict itself.",
        _bars("Coherence by entity", names, scores, limit=1.0),
        ("entity", "insights", "coherence"),
        [(name, count, f"{score:.2f}") for name, count, score in coherence.entities],
    )


def _coverage(coverage: Coverage) -> _Section:
    shares = {
        "insights": coverage.score,
        "sources": coverage.sources,
        "gained": coverage.gained,
    }
    return _Section(
        "Coverage",
        f"Of {coverage.texts:,} texts that were held out, how many does an insight come near to "
        f"(cosine of at least {coverage.threshold:.2f})? “Gained” are those to which nothing that "
        "was read comes near.",
        _bars("Coverage", list(shares), list(shares.values()), limit=1.0),
        ("by", "share"),
        [(name, f"{share:.1%}") for name, share in shares.items()],
    )


def _cost(cost: Cost) -> _Section:
    return _Section(
        "Cost",
        f"{cost.calls:,} calls of the model, {cost.tokens:,} tokens in and out, by task.",
        _bars("Tokens by task", list(cost.tasks), list(cost.tasks.values())),
        ("task", "tokens"),
        [(name, f"{count:,}") for name, count in cost.tasks.items()],
    )


def _bars(
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
        axes.barh(positions, values, color=_FIRST, height=0.6)
        axes.set_yticks(positions, [_shorten(name) for name in names])
        axes.invert_yaxis()
        if limit is not None:
            axes.set_xlim(0, limit)

    return _svg(title, draw, height=0.9 + 0.32 * len(names))


def _shorten(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"


def _svg(title: str, draw: Callable[[Axes], None], *, height: float = 3.4) -> str:
    """A plot as SVG for a page: with a description to be read out, and coloured by the page."""
    try:
        import matplotlib
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("the page of metrics", "report") from error

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
        axes.spines[["left", "bottom"]].set_color(_INK)
        axes.tick_params(colors=_INK)
        axes.xaxis.label.set_color(_INK)
        axes.yaxis.label.set_color(_INK)
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


def _section_html(section: _Section) -> str:
    if section.plot:
        plot = f"<figure>{section.plot}</figure>"
    else:
        plot = '<p class="dim">There is nothing to measure it by yet.</p>'
    table = ""
    if section.rows:
        rows = _table(section.columns, section.rows)
        table = f"<details><summary>The numbers</summary>{rows}</details>\n"
    heading = f"<h2>{escape(section.title)}</h2>\n<p>{escape(section.text)}</p>"
    return f"<section>\n{heading}\n{plot}\n{table}</section>\n"


def _table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
    body = "".join(map(_table_row, rows))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _table_row(row: Sequence[Any]) -> str:
    cells = "".join(f"<td>{escape(str(value))}</td>" for value in row)
    return f"<tr>{cells}</tr>"


def _format(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
