"""Hits of a query as lists, and a recall with its reasons and hops."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.text import Text
from rich.tree import Tree

from ....labels import key
from ....model import Episode, Hit, Reason, Recall, RecallHit, record_dict, short_id
from ..frame.text_formats import one_line, plural, short_source
from .changes import hit_notes

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

NAME_WIDTH = 44  # columns; longer names push their line's other columns to the right
SNIPPET = 400  # characters of a record's text looked at
STYLES = {"resources": "cyan", "entities": "magenta", "moments": "yellow"}  # by schema

_HEADINGS = re.compile(r"\A(?:\s*#+ [^\n]*(?:\n|\Z))+")  # of Markdown, above a text
_WINDOW = re.compile(r"(\d+):(\d+)")  # of a resource's content, in `Hit.matched`


class HitList:
    """Records, two lines each: score, name, kind, source; then a snippet of the text.

    They are set in columns once the width of the console is known.
    """

    def __init__(self, hits: Sequence[Hit]) -> None:
        self.hits = hits

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        scores = [f"{hit.score:.2f}  " for hit in self.hits]
        # exact matches: a column of ones would say nothing
        if all(hit.score == 1.0 for hit in self.hits):
            scores = [""] * len(self.hits)
        names = [_hit_name(hit) for hit in self.hits]
        kinds = [kind_of(hit.schema, hit.type) for hit in self.hits]
        score_width, kind_width = _widest(scores), _widest(kinds)
        name_width = min(NAME_WIDTH, _widest(names))
        for hit, score, name, kind in zip(self.hits, scores, names, kinds, strict=True):
            head = Text(no_wrap=True, overflow="ignore")
            head.append(score.rjust(score_width), "green")
            head.append(_pad(name, name_width), "bold").append("  ")
            head.append(_pad(kind, kind_width), STYLES.get(hit.schema, ""))
            if hit.source != hit.name:
                head.append("  ").append(short_source(hit.source), "blue")
            for mark in _marks_of_past(hit):
                head.append(f"  {mark}", "yellow")
            head.append(f"  {short_id(hit.id)}", "dim")
            yield head
            text = snippet(hit)
            if text:
                body = Text(" " * (score_width or 2) + text, "dim", no_wrap=True)
                body.truncate(options.max_width, overflow="ellipsis")
                yield body
            for note in hit_notes(hit):
                yield Text(" " * (score_width or 2) + note, "yellow")


def _marks_of_past(hit: Hit) -> Iterator[str]:
    """What is known by now of a hit of AS OF."""
    if hit.written_later:
        yield "written later"
    if hit.retracted_at:
        yield f"wrong, said {hit.retracted_at:%Y-%m-%d}"


def _hit_name(hit: Hit) -> str:
    # of a resource the matched window may stand there, as two offsets
    by_alias = hit.matched and hit.matched != key(hit.name) and not _WINDOW.fullmatch(hit.matched)
    return one_line(f"{hit.name} (as {hit.matched})" if by_alias else hit.name)


def snippet(hit: Hit) -> str:
    """Cut what a record says to one line.

    It is the passage that matched, or the text without the headings above it; of a record without
    text, its fields, its other names, its people, or its properties.
    """
    text = hit.content
    if text:
        window = _WINDOW.fullmatch(hit.matched) if hit.schema == "resources" else None
        passage = text[int(window[1]) : int(window[2])] if window else text
        # When nothing but a heading matched, the text under it says more; a text of headings
        # alone is shown as it is.
        onward = text[int(window[1]) :] if window else text
        body = _HEADINGS.sub("", passage).strip() or _HEADINGS.sub("", onward).strip()
        return one_line((body or passage)[:SNIPPET])
    shown = record_dict(hit.record)
    if shown.get("thin"):
        return "only mentioned so far"
    if shown.get("fields"):
        return one_line(_inline(shown["fields"])[:SNIPPET])
    if shown.get("aliases"):
        return one_line(f"also {', '.join(shown['aliases'])}")
    if shown.get("present_persons"):
        return one_line(f"with {', '.join(person['name'] for person in shown['present_persons'])}")
    properties = dict(shown.get("properties", {}))
    if properties.pop("extracted", False) and not properties:
        return "known only from reading"
    return one_line(_inline(properties))


def _inline(values: dict[str, Any]) -> str:
    return ", ".join(f"{name}: {value}" for name, value in values.items())


def written_later_note(count: int) -> str:
    """Say of how many records of an AS OF the text is not that of the time."""
    return f'{plural(count, "record")} marked "written later": what was said then is not kept'


def kind_of(schema: str, type: str) -> str:
    return f"{schema}/{one_line(type)}" if type else schema


def _widest(texts: Iterable[str]) -> int:
    return max(map(cell_len, texts), default=0)


def _pad(text: str, width: int) -> str:
    return text + " " * (width - cell_len(text))


CUT = 100  # characters of a hit's text in a tree


def draw_recall(found: Recall, *, explain: bool) -> RenderableType:
    """Draw a recall; with `explain`, also the reading of the question, and why each hit came up."""
    parts: list[RenderableType] = list(_question_lines(found)) if explain else []
    if found.abstained:
        parts.append(Text(f"not answered: {one_line(found.reason)}", "yellow"))
    elif found.mode == "iterated":
        parts.append(_tree(found, explain=explain))
    elif found.episodes:
        for episode in found.episodes:
            parts += _episode_parts(episode, found, explain=explain)
    elif explain:
        parts += [_explained_hit(number, hit) for number, hit in enumerate(found.hits, 1)]
    else:
        parts.append(HitList(found.hits))
    united = dict.fromkeys(one_line(str(hit.united)) for hit in found.hits if hit.united)
    return Group(*parts, *(Text(one, "green") for one in united))


def _episode_parts(episode: Episode, found: Recall, *, explain: bool) -> Iterator[RenderableType]:
    """Draw an episode: its name, what it amends, and its hits."""
    from ....retrieve.prompt_context import episode_line

    amends = episode.amends in {one.id for one in found.episodes}
    line = episode_line(episode.name, amends, str(episode.amends_at or ""))
    yield Text(line.rstrip(":\n"), "bold")
    if explain:
        yield Text(
            f"    {episode.score:.2f} {'; '.join(map(_reason_text, episode.reasons))}", "cyan"
        )
        yield from (_explained_hit(number, hit) for number, hit in enumerate(episode.hits, 1))
    else:
        yield HitList(list(episode.hits))


def _question_lines(found: Recall) -> Iterator[Text]:
    explained = found.explained
    if found.asked not in ("", found.question):
        yield Text(f"asked as    {one_line(found.asked)}", "dim")
    if found.window:
        start, end = found.window
        yield Text(f"time        {start:%Y-%m-%d} until {end:%Y-%m-%d}", "dim")
    if explained.get("names"):
        names = [one_line(name["name"]) for name in explained["names"]]
        yield Text(f"names       {', '.join(names)}", "dim")
    if explained.get("found"):
        counts = ", ".join(f"{part} {count}" for part, count in explained["found"].items())
        cost = f"{explained['ms']:.0f} ms, {plural(found.tokens, 'token')}"
        yield Text(f"found by    {counts}; {found.mode}, {cost}", "dim")


def _explained_hit(number: int, hit: RecallHit) -> RenderableType:
    head = Text.assemble((f"{number:>2}. {hit.score:.2f}  ", "green"), (one_line(hit.name), "bold"))
    head.append(f"  {short_id(hit.id)}", "dim")
    if hit.source != hit.name:
        head.append("  ").append(short_source(hit.source), "blue")
    text = Text(f"    {snippet(hit)}", "dim", no_wrap=True, overflow="ellipsis")
    reasons = Text(f"    {_because(hit)}", "cyan")
    notes = [*hit_notes(hit), *_marks_of_past(hit)]
    lines = [head, text, reasons, *(Text(f"    {note}", "yellow") for note in notes)]
    if hit.path:
        lines.append(Text(f"    by {' → '.join(_steps(hit))}", "magenta"))
    return Group(*lines)


def _because(hit: RecallHit) -> str:
    return "because " + "; ".join(map(_reason_text, hit.reasons))


def _reason_text(reason: Reason) -> str:
    # boosts, which have a note and no rank, are not in the table
    how = {
        "text": f"words (place {reason.rank}, BM25 {reason.score:.1f})",
        "vector": f"meaning (place {reason.rank}, cosine {reason.score:.2f})",
        "entity": f"names in the question (place {reason.rank})",
        "graph": f"relations of what is named (place {reason.rank})",
        "paraphrases": f"a paraphrase (place {reason.rank})",
        "rerank": f"a second look (place {reason.rank})",
        "hops": f"reached {one_line(reason.note)}",
    }.get(reason.part, one_line(reason.note) or reason.part)
    return f"{how} {reason.share:+.2f}"


def _steps(hit: RecallHit) -> list[str]:
    return [f"{one_line(src)} –{one_line(type)}– {one_line(dst)}" for src, type, dst in hit.path]


def _tree(found: Recall, *, explain: bool) -> RenderableType:
    """Draw the direct hits at the root, and those that hops reached below the nodes on the way."""
    root = Tree(Text(one_line(found.question), "bold"), guide_style="dim")
    branches: dict[tuple[str, ...], Tree] = {}
    for hit in found.hits:
        by_hops = any(reason.part == "hops" for reason in hit.reasons)
        path = hit.path if by_hops else ()
        # the names from the start of the path to where the hit hangs
        trail: tuple[str, ...] = (one_line(path[0][0]),) if path else ()
        parent = branches.get(trail, root)
        # the last edge of a path leads to the hit itself
        for src, type, dst in path[:-1]:
            # an edge is followed in either direction: its other end is the next node
            if dst == trail[-1]:
                other_end = src
                arrow = f"← {one_line(type)} "
            else:
                other_end = dst
                arrow = f"{one_line(type)} → "
            trail = (*trail, other_end)
            if trail not in branches:
                node = Text.assemble((arrow, "green"), (one_line(other_end), "magenta"))
                branches[trail] = parent.add(node)
            parent = branches[trail]
        label = Text.assemble((f"{hit.score:.2f}  ", "green"), (one_line(hit.name), "bold"))
        label.append(f"  {short_id(hit.id)}", "dim")
        if hit.source != hit.name:
            label.append("  ").append(short_source(hit.source), "blue")
        text = snippet(hit)
        if len(text) > CUT:
            text = text[: CUT - 1] + "…"
        label.append(f"\n{text}", "dim")
        for note in [*hit_notes(hit), *_marks_of_past(hit)]:
            label.append(f"\n{note}", "yellow")
        if explain:
            label.append(f"\n{_because(hit)}", "cyan")
        branches.setdefault((one_line(hit.name),), parent.add(label))
    return root
