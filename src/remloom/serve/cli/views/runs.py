"""What a run counted, read and could not do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from ....model import ReadReport
from ....text.quoting import visible
from ..frame.text_formats import one_line, plural, short_source

if TYPE_CHECKING:
    from ....runs.failures import FailedItem

_UNHEARD = "unheard_"  # before the language of passages that are in one that is not heard


def counted(counts: Mapping[str, int]) -> str:
    """Write counts as a list: `2 passages, 1 call`; those of 0 are left out."""
    return ", ".join(
        f"{count:,} {words_of(name, count)}" for name, count in counts.items() if count
    )


def words_of(name: str, count: int) -> str:
    if name.startswith(_UNHEARD):
        language = name.removeprefix(_UNHEARD)
        return f"{words_of('passages', count)} in {language}, which is not heard"
    plain = name.replace("_", " ")
    one, many = NOUNS.get(name, (plain, plain))
    return one if count == 1 else many


# names that are not what people would say; `pages/dreams.js` has the same
NOUNS = {
    "documents": ("document", "documents"),
    "sessions": ("session", "sessions"),
    "resources": ("resource", "resources"),
    "insights": ("insight", "insights"),
    "parts": ("part", "parts"),
    "told": ("moment told", "moments told"),
    "related": ("edge by likeness", "edges by likeness"),
    "entity": ("edge by names", "edges by names"),
    "passages": ("passage", "passages"),
    "calls": ("call", "calls"),
    "nothing": ("time nothing new", "times nothing new"),
    "synthesis": ("synthesis", "syntheses"),
    "entity_insight": ("insight", "insights"),
    "rem_dream": ("dream", "dreams"),
    "records": ("record", "records"),
    "edges": ("edge", "edges"),
    "removed": ("record removed", "records removed"),
    "unlinked": ("edge removed", "edges removed"),
    "kept": ("kept as it was changed since", "kept as they were changed since"),
    "merged": ("edge merged", "edges merged"),
    "updated": ("record changed", "records changed"),
    "again": ("made again", "made again"),
    "same": ("that says the same", "that say the same"),
    "superseded": ("record replaced", "records replaced"),
    "unchanged": ("there already", "there already"),
    "clusters": ("cluster", "clusters"),
    "summaries": ("summary", "summaries"),
    "duplicates": ("that says what an older one says", "that say what older ones say"),
    "ambiguous": ("whose name others bear too", "whose names others bear too"),
    "waiting": ("that still waits", "that still wait"),
    "answers": ("answer", "answers"),
    "parked": ("left for another time", "left for another time"),
    "forgotten": ("forgotten meanwhile", "forgotten meanwhile"),
    "deleted_before": (
        "left out, as it was forgotten before",
        "left out, as they were forgotten before",
    ),
    "asked": ("passage shown to the model", "passages shown to the model"),
    "evidence": ("piece of evidence", "pieces of evidence"),
    "staged": ("claim staged", "claims staged"),
    "normalised": ("claim normalised", "claims normalised"),
    "extras": ("of them an extra", "of them extras"),
    "secrets": ("secret masked", "secrets masked"),
    "refused": ("claim that only the user may make", "claims that only the user may make"),
    "fabricated": ("claim of words that nobody said", "claims of words that nobody said"),
    "unusable": ("claim that says nothing", "claims that say nothing"),
    "unknown_slot": ("claim for a slot that there is not", "claims for slots that there are not"),
    "invalid": (
        "claim of a value that its slot cannot have",
        "claims of values that their slots cannot have",
    ),
}


SHOWN = 10  # items; --json has them all, with what the model replied
NAME = 60  # characters
REMEDY = "remedy: "


def parked_view(items: Sequence[FailedItem]) -> list[RenderableType]:
    """Draw each item with its error, then the remedies; no line when nothing is parked."""
    lines: list[RenderableType] = []
    # items fail for few reasons: each remedy is shown once, in the order of the items
    remedies: dict[str, None] = {}
    for item in items[:SHOWN]:
        name = one_line(item.name or item.item)
        name = name if len(name) <= NAME else name[: NAME - 1] + "…"
        # an error's first line is its message, the second one its remedy
        reason = [visible(part).strip() for part in item.reason.splitlines()] or [""]
        lines.append(Text.assemble(("parked  ", "yellow"), name, (f"  {reason[0]}", "dim")))
        remedies |= dict.fromkeys(part for part in reason[1:2] if part.startswith(REMEDY))
    lines += [Text(f"  {remedy}", "dim") for remedy in remedies]
    if items:
        count = plural(len(items), "item")
        note = f"{count} parked: the next run tries again; --json has the replies"
        lines.append(Text(note, "yellow"))
    return lines


SHOWN_ITEMS = 20  # documents that were not read, listed at most


def draw_report(report: ReadReport) -> RenderableType:
    counts = dict.fromkeys(("read", "unchanged", "skipped", "failed"), 0)
    for item in report.items:
        counts[item.status] += 1
    outcomes = ", ".join(f"{count:,} {status}" for status, count in counts.items() if count)
    lines = [Text.assemble((outcomes or "nothing to read", "bold"), f" in {report.seconds:.1f} s")]
    if counts["read"]:
        written = (
            plural(report.resources, "resource"),
            plural(report.entities, "entity", "entities"),
            plural(report.moments, "moment"),
            plural(report.edges, "edge"),
        )
        lines.append(Text(f"wrote {', '.join(written)}"))
    # a folder of pictures is one line, not a thousand
    by_reason: dict[tuple[str, str], list[str]] = {}
    for item in report.skipped:
        by_reason.setdefault((item.status, item.reason), []).append(item.uri)
    for (status, reason), uris in list(by_reason.items())[:SHOWN_ITEMS]:
        style = "red" if status == "failed" else "yellow"
        more = f" and {len(uris) - 1:,} more" if len(uris) > 1 else ""
        first = short_source(uris[0])
        line = Text.assemble((f"{status}  ", style), first, more, (f"  {reason}", "dim"))
        lines.append(line)
    if len(by_reason) > SHOWN_ITEMS:
        lines.append(Text("… and more (--json lists them all)", "dim"))
    if report.masked:
        lines.append(Text(f"masked {plural(report.masked, 'secret')}", "dim"))
    if report.embedding_error:
        lines.append(Text(f"not embedded: {visible(report.embedding_error)}", "red"))
    if report.caption_error:
        lines.append(Text(f"not captioned: {visible(report.caption_error)}", "red"))
    if report.pending:
        waiting = plural(report.pending, "text")
        lines.append(Text(f"{waiting} wait to be embedded: `remloom reembed` does it now"))
    if counts["read"] or counts["unchanged"]:
        lines.append(Text('next: remloom search "…"   remloom fuzzy "…"   remloom shell', "dim"))
    return Group(*lines)
