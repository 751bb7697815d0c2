"""`metrics`: how good what was dreamt is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from click import option

from .app import Call, command

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ...dream.metrics import Metrics

__all__: list[str] = []


@command("metrics")
@option(
    "--held-out", metavar="PATH", help="Texts that were not read: how much of them was foreseen?"
)
@option("--html", metavar="FILE", help="Write a page with plots, which needs nothing else.")
def metrics(call: Call, held_out: str | None, html: str | None) -> None:
    """Measure what was dreamt: coherence, coverage, novelty, depth, cost."""
    with call.open() as memory:
        found = memory.dreams.metrics(held_out)
    if html:
        Path(html).write_text(found.page(), encoding="utf-8")

    def view() -> RenderableType:
        from rich.console import Group

        shown = _view(found)
        return Group(shown, f"wrote {os.path.abspath(html)}") if html else shown

    call.show(msgspec.to_builtins(found), view)


def _view(found: Metrics) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    from .tables import draw_pairs, draw_table
    from .text_formats import plural

    if not found.insights:
        return Text(
            f"nothing was dreamt yet of {plural(found.sources, 'resource')}: remloom learn, remloom dream",
            "yellow",
        )
    cost, coherence, novelty = found.cost, found.coherence, found.novelty
    across = f"two insights of one entity; of different ones {_plain(coherence.across)}"
    beside = f"of dreams; of what was read {_plain(novelty.sources)}; reach {_plain(novelty.reach)}"
    rows = [
        ("insights", f"{found.insights:,} from {plural(found.sources, 'resource')}"),
        ("coherence", _number(coherence.score, across)),
        ("novelty", _number(novelty.score, beside)),
        ("depth", f"{plural(found.depth, 'generation')} before quality falls"),
    ]
    if held := found.coverage:
        told = f"{held.score:.0%} of {plural(held.texts, 'held-out text')}"
        rows.append(
            ("coverage", f"{told}; sources alone {held.sources:.0%}; gained {held.gained:.0%}")
        )
    money = "price not known" if cost.dollars is None else f"${cost.dollars:,.4f}"
    rows.append(("cost", f"{plural(cost.calls, 'call')}, {cost.tokens:,} tokens, {money}"))
    if cost.per_insight_tokens is not None:
        each = "" if cost.per_insight_dollars is None else f", ${cost.per_insight_dollars:,.6f}"
        rows.append(("per insight", f"{cost.per_insight_tokens:,.0f} tokens{each}"))
    generations = draw_table(
        ("generation", "insights", "support", "novelty", "quality", "kinds"),
        [
            (str(g.generation), f"{g.records:,}", f"{g.support:.2f}", f"{g.novelty:.2f}", f"{g.quality:.2f}",
             ", ".join(f"{count} {kind}" for kind, count in g.kinds.items()))
            for g in found.generations
        ],
    )  # fmt: skip
    return Group(draw_pairs(rows), generations)


def _plain(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _number(value: float | None, told: str) -> str:
    return "-" if value is None else f"{value:.2f}  ({told})"
