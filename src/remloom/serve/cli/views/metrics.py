"""The quality and the cost of dreams."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from ..frame.text_formats import plural

if TYPE_CHECKING:
    from ....dream.report import Metrics


def draw_metrics(measured: Metrics, note: str = "") -> RenderableType:
    """Draw how good dreams are, then a note."""
    shown = _draw(measured)
    return Group(shown, note) if note else shown


def _draw(measured: Metrics) -> RenderableType:

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
