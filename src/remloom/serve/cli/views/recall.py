"""A recall as rich renderables: the hits, the reasons for each, and the hops as a tree."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text
from rich.tree import Tree

from ....model import Reason, Recall, RecallHit
from ..frame.text_formats import one_line, plural, short_source
from .hit_list import draw_hits, snippet

CUT = 100  # characters of a hit's text in a tree


def draw_recall(found: Recall, *, explain: bool) -> RenderableType:
    """Draw a recall; with `explain`, also the reading of the question, and why each hit came up."""
    parts: list[RenderableType] = list(_question_lines(found)) if explain else []
    if found.abstained:
        parts.append(Text(f"not answered: {one_line(found.reason)}", "yellow"))
    elif found.mode == "iterated":
        parts.append(_tree(found, explain=explain))
    elif explain:
        parts += [_explained_hit(number, hit) for number, hit in enumerate(found.hits, 1)]
    else:
        parts.append(draw_hits(found.hits))
    return Group(*parts)


def _question_lines(found: Recall) -> Iterator[Text]:
    """Say how the question was understood: as it was rephrased, its time, its names."""
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
    """Draw a hit with the reasons for it."""
    head = Text.assemble((f"{number:>2}. {hit.score:.2f}  ", "green"), (one_line(hit.name), "bold"))
    if hit.uri:
        head.append("  ").append(short_source(hit.source), "blue")
    text = Text(f"    {snippet(hit)}", "dim", no_wrap=True, overflow="ellipsis")
    reasons = Text(f"    {_because(hit)}", "cyan")
    lines = [head, text, reasons]
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
        if hit.uri:
            label.append("  ").append(short_source(hit.source), "blue")
        text = snippet(hit)
        if len(text) > CUT:
            text = text[: CUT - 1] + "…"
        label.append(f"\n{text}", "dim")
        if explain:
            label.append(f"\n{_because(hit)}", "cyan")
        branches.setdefault((one_line(hit.name),), parent.add(label))
    return root
