"""`metrics`: measure the quality and the cost of dreams."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from click import option

from ..app import Call, command

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ....dream.metrics import Metrics


@command("metrics")
@option(
    "--held-out", metavar="PATH", help="Texts that were not read: how much of them was foreseen?"
)
@option("--html", metavar="FILE", help="Write a page with plots, which needs nothing else.")
def metrics(call: Call, held_out: str | None, html: str | None) -> None:
    """Measure what was dreamt: coherence, coverage, novelty, depth, cost."""
    with call.open() as memory:
        measured = memory.dreams.metrics(held_out)
    if html:
        Path(html).write_text(measured.page(), encoding="utf-8")

    def view() -> RenderableType:
        from rich.console import Group

        shown = _view(measured)
        return Group(shown, f"wrote {os.path.abspath(html)}") if html else shown

    call.show(msgspec.to_builtins(measured), view)


def _view(measured: Metrics) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    from ..frame.text_formats import plural
    from ..views.tables import draw_pairs, draw_table

    sources = plural(measured.sources, "resource")
    if not measured.insights:
        hint = f"nothing was dreamt yet of {sources}: remloom learn, remloom dream"
        return Text(hint, "yellow")
    cost = measured.cost
    coherence = measured.coherence
    novelty = measured.novelty
    # A score says little by itself: beside it stands the one to compare it with.
    across = f"two insights of one entity; of different ones {_plain(coherence.across)}"
    beside = f"of dreams; of what was read {_plain(novelty.sources)}; reach {_plain(novelty.reach)}"
    rows = [
        ("insights", f"{measured.insights:,} from {sources}"),
        ("coherence", _number(coherence.score, across)),
        ("novelty", _number(novelty.score, beside)),
        ("depth", f"{plural(measured.depth, 'generation')} before quality falls"),
    ]
    coverage = measured.coverage
    if coverage:
        score = f"{coverage.score:.0%} of {plural(coverage.texts, 'held-out text')}"
        gain = f"sources alone {coverage.sources:.0%}; gained {coverage.gained:.0%}"
        rows.append(("coverage", f"{score}; {gain}"))
    money = "price not known" if cost.dollars is None else f"${cost.dollars:,.4f}"
    rows.append(("cost", f"{plural(cost.calls, 'call')}, {cost.tokens:,} tokens, {money}"))
    if cost.per_insight_tokens is not None:
        each = "" if cost.per_insight_dollars is None else f", ${cost.per_insight_dollars:,.6f}"
        rows.append(("per insight", f"{cost.per_insight_tokens:,.0f} tokens{each}"))
    columns = ("generation", "insights", "support", "novelty", "quality", "kinds")
    lines = []
    for generation in measured.generations:
        scores = (generation.support, generation.novelty, generation.quality)
        shown_scores = [f"{score:.2f}" for score in scores]
        kinds = ", ".join(f"{count} {kind}" for kind, count in generation.kinds.items())
        number = str(generation.generation)
        lines.append((number, f"{generation.records:,}", *shown_scores, kinds))
    return Group(draw_pairs(rows), draw_table(columns, lines))


def _plain(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _number(value: float | None, note: str) -> str:
    return "-" if value is None else f"{value:.2f}  ({note})"
