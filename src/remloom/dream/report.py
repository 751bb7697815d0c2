"""The metrics as one HTML page: plots as inline SVG, each with its numbers as a table beside it.
Needs no other file.

The plots are drawn in placeholder colours, which the page's style sheet replaces: so they follow a
dark mode.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from html import escape
from io import StringIO
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ..errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .metrics import Metrics

__all__ = ["page"]

_INK, _FIRST, _SECOND, _THIRD = "#010101", "#010102", "#010103", "#010104"  # placeholders
_COLOURS = {
    _INK: "currentColor",
    _FIRST: "var(--first)",
    _SECOND: "var(--second)",
    _THIRD: "var(--third)",
}
_LARGEST = 15  # bars of one plot
_STYLE = """
:root { color-scheme: light dark; --back: #ffffff; --ink: #1c2430; --dim: #5a6472; --line: #d5dae1;
  --first: #0b62c4; --second: #b3470e; --third: #1f7a4d; }
@media (prefers-color-scheme: dark) { :root { --back: #14181e; --ink: #e8ecf1; --dim: #a3adba; --line: #39424e;
  --first: #6db0ff; --second: #ff9e66; --third: #67d39b; } }
body { margin: 0 auto; max-width: 62rem; padding: 1.5rem; background: var(--back); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0; } h2 { font-size: 1.2rem; margin: 2rem 0 .3rem; }
p { margin: .3rem 0 .8rem; max-width: 46rem; } .dim { color: var(--dim); }
dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: .8rem; margin: 1.2rem 0; }
dl div { border: 1px solid var(--line); border-radius: .5rem; padding: .6rem .8rem; }
dt { color: var(--dim); font-size: .85rem; } dd { margin: 0; font-size: 1.5rem; font-variant-numeric: tabular-nums; }
figure { margin: 0; } svg { width: 100%; height: auto; }
table { border-collapse: collapse; font-size: .9rem; margin: .4rem 0; }
th, td { border-bottom: 1px solid var(--line); padding: .2rem .8rem .2rem 0; text-align: left; }
td:not(:first-child), th:not(:first-child) { text-align: right; font-variant-numeric: tabular-nums; }
summary { cursor: pointer; color: var(--dim); }
"""


class _Part(Struct, frozen=True):
    """A section of the page."""

    title: str
    told: str
    plot: str  # SVG; empty: there is nothing to plot
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


def page(metrics: Metrics) -> str:
    """The page.

    Raises:
        MissingExtraError: the extra `report` is not installed.
    """
    parts = "".join(map(_section, _parts(metrics)))
    written = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    about = f"{metrics.insights:,} insights from {metrics.sources:,} resources. Measured {written}."
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>What was dreamt</title>\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n<h1>What was dreamt</h1>\n"
        f'<p class="dim">{about}</p>\n{_figures(metrics)}\n{parts}</main>\n</body>\n</html>\n'
    )


def _figures(metrics: Metrics) -> str:
    """The numbers at a glance."""
    cost = metrics.cost
    shown = {
        "Coherence": _shown(metrics.coherence.score),
        "Novelty of dreams": _shown(metrics.novelty.score),
        "Depth": str(metrics.depth),
        "Coverage": f"{metrics.coverage.score:.0%}" if metrics.coverage else "–",
        "Tokens per insight": "–"
        if cost.per_insight_tokens is None
        else f"{cost.per_insight_tokens:,.0f}",
        "Cost per insight": "–"
        if cost.per_insight_dollars is None
        else f"${cost.per_insight_dollars:,.5f}",
    }
    return f"<dl>{''.join(f'<div><dt>{name}</dt><dd>{value}</dd></div>' for name, value in shown.items())}</dl>"


def _parts(metrics: Metrics) -> Iterator[_Part]:
    yield _depth(metrics)
    yield _novelty(metrics)
    yield _coherence(metrics)
    if metrics.coverage:
        held = metrics.coverage
        yield _Part(
            "Coverage",
            f"Of {held.texts:,} texts that were held out, how many does an insight come near to (cosine of at least "
            f"{held.threshold:.2f})? “Gained” are those to which nothing that was read comes near.",
            _bars(
                "Coverage",
                ["insights", "sources", "gained"],
                [held.score, held.sources, held.gained],
                limit=1.0,
            ),
            ("by", "share"),
            [
                ("insights", f"{held.score:.1%}"),
                ("sources", f"{held.sources:.1%}"),
                ("gained", f"{held.gained:.1%}"),
            ],
        )
    tasks = list(metrics.cost.tasks.items())
    if tasks:
        yield _Part(
            "Cost",
            f"{metrics.cost.calls:,} calls of the model, {metrics.cost.tokens:,} tokens in and out, by task.",
            _bars("Tokens by task", [name for name, _ in tasks], [count for _, count in tasks]),
            ("task", "tokens"),
            [(name, f"{count:,}") for name, count in tasks],
        )


def _depth(metrics: Metrics) -> _Part:
    generations = metrics.generations
    plot = ""
    if generations:

        def draw(axes: Axes) -> None:
            numbers = [one.generation for one in generations]
            for name, colour, mark in (
                ("quality", _FIRST, "o-"),
                ("support", _SECOND, "s--"),
                ("novelty", _THIRD, "^:"),
            ):
                values = [getattr(one, name) for one in generations]
                axes.plot(numbers, values, mark, color=colour, label=name, linewidth=2)
            axes.set_xticks(numbers)
            axes.set_xlabel("generation")
            axes.set_ylim(0, 1)
            axes.legend(
                frameon=False,
                labelcolor=_INK,
                loc="upper center",
                bbox_to_anchor=(0.5, 1.18),
                ncols=3,
            )

        plot = _svg("Quality, support and novelty by generation", draw)
    return _Part(
        "Depth",
        "Support: how near an insight is to what it came from. Novelty: how far it is from anything of a lower "
        "generation. Quality: the geometric mean of both. Depth is the last generation before quality falls below "
        "four fifths of the first one's.",
        plot,
        ("generation", "insights", "support", "novelty", "quality"),
        [
            (
                one.generation,
                f"{one.records:,}",
                f"{one.support:.2f}",
                f"{one.novelty:.2f}",
                f"{one.quality:.2f}",
            )
            for one in generations
        ],
    )


def _novelty(metrics: Metrics) -> _Part:
    novelty = metrics.novelty
    told = (
        "How far dreams are from anything of a lower generation, beside how far what was read is from what other "
        f"sources say. Reach, how far apart the parents of a dream are: {_shown(novelty.reach)}."
    )
    plot = ""
    if novelty.dreams or novelty.read:

        def draw(axes: Axes) -> None:
            shown = (
                ("what was read", novelty.read, _SECOND, ""),
                ("dreams", novelty.dreams, _FIRST, "//"),
            )
            for name, values, colour, hatch in shown:
                if values:
                    weights = [1 / len(values)] * len(values)
                    axes.hist(
                        values, bins=20, range=(0, 1), weights=weights, histtype="step", color=colour, linewidth=2,
                        label=name, hatch=hatch,
                    )  # fmt: skip
            axes.set_xlabel("novelty")
            axes.set_ylabel("share")
            axes.legend(frameon=False, labelcolor=_INK)

        plot = _svg("Novelty of dreams and of what was read", draw)
    rows = [
        ("dreams", len(novelty.dreams), _shown(novelty.score)),
        ("what was read", len(novelty.read), _shown(novelty.sources)),
    ]
    return _Part("Novelty", told, plot, ("of", "records", "mean novelty"), rows)


def _coherence(metrics: Metrics) -> _Part:
    coherence = metrics.coherence
    told = (
        "How alike the insights about one entity are, on average; of different entities it is "
        f"{_shown(coherence.across)}. The least coherent come first: there, understanding may contradict itself."
    )
    some = coherence.entities[:_LARGEST]
    plot = _bars(
        "Coherence by entity",
        [name for name, _, _ in some],
        [score for _, _, score in some],
        limit=1.0,
    )
    rows = [(name, count, f"{score:.2f}") for name, count, score in coherence.entities]
    return _Part("Coherence", told, plot, ("entity", "insights", "coherence"), rows)


def _bars(
    title: str, names: Sequence[str], values: Sequence[float], *, limit: float | None = None
) -> str:
    if not names:
        return ""

    def draw(axes: Axes) -> None:
        shown = [name if len(name) <= 32 else name[:31] + "…" for name in names]
        places = range(len(shown))
        axes.barh(places, values, color=_FIRST, height=0.6)
        axes.set_yticks(places, shown)
        axes.invert_yaxis()
        if limit is not None:
            axes.set_xlim(0, limit)

    return _svg(title, draw, height=0.9 + 0.32 * len(names))


def _svg(title: str, draw: Any, *, height: float = 3.4) -> str:
    """A plot as SVG for a page: described for who cannot see it, coloured by the page."""
    try:
        import matplotlib
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("the page of metrics", "report") from error

    with matplotlib.rc_context(
        {
            "svg.fonttype": "none",
            "svg.hashsalt": title,
            "font.family": "sans-serif",
            "text.parse_math": False,
        }
    ):
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
        drawn = StringIO()
        FigureCanvasSVG(figure).print_svg(drawn, metadata={"Date": None, "Creator": None})
    text = drawn.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"font: ([\d.]+)px[^;\"]*", r"font: \1px system-ui, sans-serif", text)
    for placeholder, colour in _COLOURS.items():
        text = text.replace(placeholder, colour)
    return text.replace("<svg ", f'<svg role="img" aria-label="{escape(title)}" ', 1)


def _section(part: _Part) -> str:
    shown = (
        f"<figure>{part.plot}</figure>\n"
        if part.plot
        else '<p class="dim">There is nothing to measure it by yet.</p>\n'
    )
    rows = _table(part.columns, part.rows) if part.rows else ""
    details = f"<details><summary>The numbers</summary>{rows}</details>\n" if rows else ""
    return f"<section>\n<h2>{escape(part.title)}</h2>\n<p>{escape(part.told)}</p>\n{shown}{details}</section>\n"


def _table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(str(value))}</td>' for value in row)}</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
