"""The metrics of what was dreamt, and their HTML page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec import Struct

from ..text.report_page import FIRST, INK, SECOND, THIRD, PageSection, bars, page, svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LARGEST = 15  # bars of one plot


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
        written = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
        about = f"{self.insights:,} insights from {self.sources:,} resources. Measured {written}."
        return page("What was dreamt", about, _figures(self), _sections(self))


def _figures(metrics: Metrics) -> dict[str, str]:
    cost, coverage = metrics.cost, metrics.coverage
    tokens, dollars = cost.per_insight_tokens, cost.per_insight_dollars
    return {
        "Coherence": _format(metrics.coherence.score),
        "Novelty of dreams": _format(metrics.novelty.score),
        "Depth": str(metrics.depth),
        "Coverage": f"{coverage.score:.0%}" if coverage else "–",
        "Tokens per insight": "–" if tokens is None else f"{tokens:,.0f}",
        "Cost per insight": "–" if dollars is None else f"${dollars:,.5f}",
    }


def _sections(metrics: Metrics) -> Iterator[PageSection]:
    yield _depth(metrics)
    yield _novelty(metrics)
    yield _coherence(metrics)
    if metrics.coverage:
        yield _coverage(metrics.coverage)
    if metrics.cost.tasks:
        yield _cost(metrics.cost)


def _depth(metrics: Metrics) -> PageSection:
    generations = metrics.generations

    def draw(axes: Axes) -> None:
        numbers = [one.generation for one in generations]
        lines = (("quality", FIRST, "o-"), ("support", SECOND, "s--"), ("novelty", THIRD, "^:"))
        for name, colour, mark in lines:
            values = [getattr(one, name) for one in generations]
            axes.plot(numbers, values, mark, color=colour, label=name, linewidth=2)
        axes.set_xticks(numbers)
        axes.set_xlabel("generation")
        axes.set_ylim(0, 1)
        # above the plot, where no line is
        above = (0.5, 1.18)
        axes.legend(
            frameon=False, labelcolor=INK, loc="upper center", bbox_to_anchor=above, ncols=3
        )

    rows = []
    for one in generations:
        shares = (f"{value:.2f}" for value in (one.support, one.novelty, one.quality))
        rows.append((one.generation, f"{one.records:,}", *shares))
    return PageSection(
        "Depth",
        "Support: how near an insight is to what it came from. Novelty: how far it is from "
        "anything of a lower generation. Quality: the geometric mean of both. Depth is the last "
        "generation before quality falls below four fifths of the first one's.",
        svg("Quality, support and novelty by generation", draw) if generations else "",
        ("generation", "insights", "support", "novelty", "quality"),
        rows,
    )


def _novelty(metrics: Metrics) -> PageSection:
    novelty = metrics.novelty

    def draw(axes: Axes) -> None:
        histograms = (
            ("what was read", novelty.read, SECOND, ""),
            ("dreams", novelty.dreams, FIRST, "//"),
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
        axes.legend(frameon=False, labelcolor=INK)

    has_values = bool(novelty.dreams or novelty.read)
    return PageSection(
        "Novelty",
        "How far dreams are from anything of a lower generation, beside how far what was read is "
        "from what other sources say. Reach, how far apart the parents of a dream are: "
        f"{_format(novelty.reach)}.",
        svg("Novelty of dreams and of what was read", draw) if has_values else "",
        ("of", "records", "mean novelty"),
        [
            ("dreams", len(novelty.dreams), _format(novelty.score)),
            ("what was read", len(novelty.read), _format(novelty.sources)),
        ],
    )


def _coherence(metrics: Metrics) -> PageSection:
    coherence = metrics.coherence
    shown = coherence.entities[:_LARGEST]
    names = [name for name, _, _ in shown]
    scores = [score for _, _, score in shown]
    return PageSection(
        "Coherence",
        "How alike the insights about one entity are, on average; of different entities it is "
        f"{_format(coherence.across)}. The least coherent come first: there, understanding may "
        "contradict itself.",
        bars("Coherence by entity", names, scores, limit=1.0),
        ("entity", "insights", "coherence"),
        [(name, count, f"{score:.2f}") for name, count, score in coherence.entities],
    )


def _coverage(coverage: Coverage) -> PageSection:
    shares = {
        "insights": coverage.score,
        "sources": coverage.sources,
        "gained": coverage.gained,
    }
    return PageSection(
        "Coverage",
        f"Of {coverage.texts:,} texts that were held out, how many does an insight come near to "
        f"(cosine of at least {coverage.threshold:.2f})? “Gained” are those to which nothing that "
        "was read comes near.",
        bars("Coverage", list(shares), list(shares.values()), limit=1.0),
        ("by", "share"),
        [(name, f"{share:.1%}") for name, share in shares.items()],
    )


def _cost(cost: Cost) -> PageSection:
    return PageSection(
        "Cost",
        f"{cost.calls:,} calls of the model, {cost.tokens:,} tokens in and out, by task.",
        bars("Tokens by task", list(cost.tasks), list(cost.tasks.values())),
        ("task", "tokens"),
        [(name, f"{count:,}") for name, count in cost.tasks.items()],
    )


def _format(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
