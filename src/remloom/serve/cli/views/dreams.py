"""Dreams, the runs that made them, their quality and cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from ....text.quoting import visible
from ..frame.text_formats import one_line, plural, short_id, short_source
from .changes import with_id
from .runs import counted, draw_report, parked_view
from .tables import draw_pairs, draw_table

if TYPE_CHECKING:
    from ....dream.context import MaintenanceResult
    from ....dream.learn.run import LearnResult
    from ....dream.refresh import RefreshResult
    from ....dream.rem_cycle import DreamResult
    from ....dream.report import Metrics
    from ....model import ReadReport
    from ....runs.run import Run

GO_ON = "the same command goes on where it stopped; what was done until there is kept"
SHOWN_SOURCES = 8  # of a dream


def draw_learned(
    learned: LearnResult, dreams: Sequence[dict[str, Any]], *, hidden: int
) -> RenderableType:
    """Draw what was read and dreamt; `hidden` more dreams are not shown."""
    parts: list[RenderableType] = [draw_report(learned.read)] if learned.read else []
    parts += [draw_run(learned.run), *map(_dream_view, dreams)]
    if hidden:
        parts.append(Text(f"… and {plural(hidden, 'more dream')}", "dim"))
    return Group(*parts, *parked_view(learned.failed))


def draw_dreams(
    result: DreamResult, dreams: Sequence[dict[str, Any]], *, dry_run: bool
) -> RenderableType:
    last = draw_run(result.run)
    if dry_run:
        last = Text(
            f"a dry run: {len(dreams):,} would be written, nothing was; "
            "the model was called all the same",
            "yellow",
        )
    return Group(*map(_dream_view, dreams), last, *parked_view(result.failed))


# counts in the receipt of a rollback, in the order in which they are shown
_UNDONE = ("removed", "unlinked", "restored", "kept")


def draw_rollback(done: Run) -> str:
    undone = counted({name: done.receipt.get(name, 0) for name in _UNDONE})
    return f"rolled back {done.kind} run {short_id(done.id)}: {undone or 'nothing to undo'}"


def _dream_view(dream: dict[str, Any]) -> RenderableType:
    years = dream["years"]
    span = "undated"
    if years:
        span = str(years[0]) if len(years) == 1 else f"{years[0]} to {years[-1]}"
    title = Text(one_line(dream["question"]), "bold cyan")
    title.append(f"  {span}  {dream['id']}", "dim")
    body = Padding(Text(visible(dream["text"])), (0, 0, 0, 2))
    sources = dream["sources"]
    lines = [Text(f"  {short_source(source)}", "dim") for source in sources[:SHOWN_SOURCES]]
    if len(sources) > SHOWN_SOURCES:
        lines.append(Text(f"  … and {len(sources) - SHOWN_SOURCES:,} more", "dim"))
    return Group(title, body, *lines, Text(""))


def draw_stop(run: Run, read: ReadReport | None) -> RenderableType:
    parts: list[RenderableType] = [draw_report(read)] if read else []
    # the reason is the error itself, which is printed next
    run = replace(run, reason="")
    parts += [draw_run(run, listed=False), Text(GO_ON, "dim")]
    return Group(*parts)


def draw_run(run: Run, *, listed: bool = True) -> RenderableType:
    # where the parked items are listed elsewhere, their number is left out
    done = {name: count for name, count in run.counts.items() if name != "parked" or not listed}
    wrote = {name: run.receipt.get(name, 0) for name in ("records", "edges")}
    lines = [
        Text.assemble(
            (f"{run.kind} {run.state}", "bold" if run.status == "done" else "bold yellow"),
            f": {counted(done) or 'nothing to do'}",
        )
    ]
    if any(wrote.values()):
        undo = f"remloom dream rollback {short_id(run.id)}"
        lines.append(Text(f"wrote {counted(wrote)}; `{undo}` takes it back", "dim"))
    if run.reason:
        lines.append(Text(run.reason, "yellow"))
        lines.append(Text(GO_ON, "dim"))
    return Group(*lines)


SHOWN = 12  # records, edges, themes of a list; --json has them all
# what a run of a kind counts, in words: of one, of many, or as it is for both
_DID = {
    "moments": {
        "sessions": "looked at {} session|looked at {} sessions",
        "parts": "parted by topic into {}",
        "told": "the model told {} moment|the model told {} moments",
        # topics are told apart by vectors
        "waiting": (
            "{} session not parted: their texts wait to be embedded|"
            "{} sessions not parted: their texts wait to be embedded"
        ),
    },
    "affinity": {
        "resources": "compared {} resource|compared {} resources",
        "ambiguous": "passed over {} whose names others bear too",
    },
    "consolidate": {
        "insights": "looked at {} insight|looked at {} insights",
        "duplicates": "{} said what an older one says",
        "clusters": "{} cluster|{} clusters",
        "summaries": "{} new summary|{} new summaries",
    },
}


def draw_maintenance(done: MaintenanceResult) -> RenderableType:
    run, receipt = done.run, done.run.receipt
    lines = [Text(", ".join(_summary(run.kind, run.counts)))]
    for theme in done.themes[:SHOWN]:
        topics = one_line(", ".join(theme.topics))
        size = plural(len(theme.insights), "insight")
        lines.append(Text.assemble("  ", (topics, "bold"), f"  {size}"))
    # a receipt counts updated records among the records
    updated = receipt.get("updated", 0)
    superseded = len(done.diff.superseded) if done.diff else receipt.get("superseded", 0)
    parts = (
        (receipt.get("records", 0) - updated, "record"),
        (updated, "updated record"),
        (receipt.get("edges", 0), "edge"),
        (superseded, "superseded insight"),
    )
    written = [plural(count, noun) for count, noun in parts if count]
    if done.diff is not None:
        lines.append(Text(f"would write {', '.join(written) or 'nothing'}", "bold"))
        lines += [Text(f"  {text}") for text in _differences(done)]
    else:
        lines.append(Text(f"wrote {', '.join(written)}" if written else "nothing new", "bold"))
    if run.status == "stopped":
        lines.append(Text(f"stopped: {run.reason}", "yellow"))
    if written and done.diff is None:
        lines += [
            Text(f"undo: remloom dream rollback {short_id(run.id)}", "dim"),
            Text(f"next: {_next(run)}", "dim"),
        ]
    return Group(*lines, *parked_view(done.failed))


# what became of something stale, in the order in which it is shown
_BECAME = {
    "again": "made again",
    "same": "says the same",
    "retired": "retired",
    "yours": "yours to mend or confirm",
    "waits": "waits for others, or a model",
    "failed": "failed",
}


def draw_refreshed(done: RefreshResult) -> RenderableType:
    lines: list[Text] = []
    for outcome, words in _BECAME.items():
        for item in done.stale:
            if item.outcome == outcome:
                lines.append(Text.assemble((words, "bold"), f"  {with_id(item.id, item.name)}"))
                why = one_line(f"{item.why}{item.reason and ': '}{item.reason}")
                lines.append(Text(f"  {why}", "dim"))
                before = "was" if item.outcome in ("again", "retired") else "says"
                texts = ((before, item.before), ("is", item.after))
                lines += [Text(f"  {word}: {one_line(text)}") for word, text in texts if text]
    if not done.stale:
        lines.append(Text("nothing is stale"))
    if done.diff is not None:
        lines.append(Text("a dry run: nothing was written", "yellow"))
    elif done.run.receipt.get("records"):
        lines.append(Text(f"undo: remloom dream rollback {short_id(done.run.id)}", "dim"))
    if done.run.status == "stopped":
        lines.append(Text(f"stopped: {done.run.reason}", "yellow"))
    return Group(*lines)


def draw_confirmed(done: Run) -> str:
    count = plural(done.counts.get("confirmed", 0), "record")
    return f"confirmed {count}; undo: remloom dream rollback {short_id(done.id)}"


def _summary(kind: str, counts: Mapping[str, int]) -> list[str]:
    lines = []
    for number, (name, words) in enumerate(_DID[kind].items()):
        count = counts.get(name, 0)
        # the first is of what was looked at; a model that told nothing was asked all the same
        if count or number == 0 or (name == "told" and name in counts):
            one, _, many = words.partition("|")
            lines.append((one if count == 1 else many or one).format(f"{count:,}"))
    return lines


def _next(run: Run) -> str:
    if run.kind == "moments":
        columns = "SELECT name, topic_tags FROM moments"
        return f'remloom query "{columns} ORDER BY starts_at DESC LIMIT 10"'
    if run.kind == "affinity":
        # the counts of the run are named after the types of edges
        written = ",".join(type for type in ("related", "entity") if run.counts.get(type))
        return f'remloom traverse "…" --edges {written} --direction both'
    return "remloom metrics"


def _differences(done: MaintenanceResult) -> list[str]:
    diff = done.diff
    if diff is None:
        return []
    lines = [f"{record.schema[:-1]}  {one_line(record.name)}" for record in diff.records]
    lines += [f"superseded  {old} by {new}" for old, new in diff.superseded]
    # the schema that the edges of such a run start from
    schema = "moments" if done.run.kind == "moments" else "resources"
    edges = [f"{one_line(after.paths(schema)[0])}  {after.weight:.2f}" for _, after in diff.edges]
    shown = lines[:SHOWN]
    if len(lines) > SHOWN:
        shown.append("…")
    shown += edges[:SHOWN]
    if len(edges) > SHOWN:
        shown.append("… (--json has them all)")
    return shown


def draw_metrics(measured: Metrics) -> RenderableType:
    sources = plural(measured.sources, "resource")
    if not measured.insights:
        hint = f"nothing was dreamt yet of {sources}: remloom learn, remloom dream"
        return Text(hint, "yellow")
    cost = measured.cost
    coherence = measured.coherence
    novelty = measured.novelty
    # A score says little by itself: beside it stands the one to compare it with.
    across = f"two insights of one entity; of different ones {_plain(coherence.across)}"
    others = f"of dreams; of what was read {_plain(novelty.sources)}; reach {_plain(novelty.reach)}"
    rows = [
        ("insights", f"{measured.insights:,} from {sources}"),
        ("coherence", _number(coherence.score, across)),
        ("novelty", _number(novelty.score, others)),
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
