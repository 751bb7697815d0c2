"""A recall as something to look at: the hits, why each came up, and the hops as a tree."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text
from rich.tree import Tree

from ...model import Reason, Recall, RecallHit
from .hit_list import draw_hits, snippet
from .text_formats import one_line, plural, short_source

__all__ = ["drawn"]

CUT = 100  # characters of a hit's text in a tree


def drawn(found: Recall, *, explain: bool) -> RenderableType:
    """A recall; with `explain`, each hit with what brought it up, and how the question was
    understood."""
    parts: list[RenderableType] = list(_understood(found)) if explain else []
    if found.abstained:
        parts.append(Text(f"not answered: {one_line(found.reason)}", "yellow"))
    elif found.mode == "iterated":
        parts.append(_tree(found, explain=explain))
    elif explain:
        parts += [_reasoned(number, hit) for number, hit in enumerate(found.hits, 1)]
    else:
        parts.append(draw_hits(found.hits))
    return Group(*parts)


def _understood(found: Recall) -> Iterator[Text]:
    told = found.explained
    if found.asked not in ("", found.question):
        yield Text(f"asked as    {one_line(found.asked)}", "dim")
    if found.window:
        yield Text(
            f"time        {found.window[0]:%Y-%m-%d} until {found.window[1]:%Y-%m-%d}", "dim"
        )
    if told.get("names"):
        yield Text(
            f"names       {', '.join(one_line(name['name']) for name in told['names'])}", "dim"
        )
    if told.get("found"):
        counts = ", ".join(f"{part} {count}" for part, count in told["found"].items())
        yield Text(
            f"found by    {counts}; {found.mode}, {told['ms']:.0f} ms, {plural(found.tokens, 'token')}",
            "dim",
        )


def _reasoned(number: int, hit: RecallHit) -> RenderableType:
    """A hit with what brought it up."""
    head = Text.assemble((f"{number:>2}. {hit.score:.2f}  ", "green"), (one_line(hit.name), "bold"))
    if hit.uri:
        head.append("  ").append(short_source(hit.source), "blue")
    why = Text(f"    {_because(hit)}", "cyan")
    said = Text(f"    {snippet(hit)}", "dim", no_wrap=True, overflow="ellipsis")
    way = [Text(f"    by {' → '.join(_steps(hit))}", "magenta")] if hit.path else []
    return Group(head, said, why, *way)


def _because(hit: RecallHit) -> str:
    return "because " + "; ".join(map(_told, hit.reasons))


def _told(reason: Reason) -> str:
    how = {
        "text": f"words (place {reason.rank}, BM25 {reason.score:.1f})",
        "vector": f"meaning (place {reason.rank}, cosine {reason.score:.2f})",
        "entity": f"names in the question (place {reason.rank})",
        "graph": f"relations of what is named (place {reason.rank})",
        "rerank": f"a second look (place {reason.rank})",
        "hops": f"reached {one_line(reason.note)}",
    }.get(reason.part, one_line(reason.note) or reason.part)
    return f"{how} {reason.share:+.2f}"


def _steps(hit: RecallHit) -> list[str]:
    return [f"{one_line(src)} –{one_line(type)}– {one_line(dst)}" for src, type, dst in hit.path]


def _tree(found: Recall, *, explain: bool) -> RenderableType:
    """The hits found directly at the root, those found by hops below what led to them."""
    root = Tree(Text(one_line(found.question), "bold"), guide_style="dim")
    branches: dict[tuple[str, ...], Tree] = {}
    for hit in found.hits:
        by_hops = any(reason.part == "hops" for reason in hit.reasons)
        at = branches.get((one_line(hit.path[0][0]),), root) if by_hops and hit.path else root
        trail: tuple[str, ...] = (one_line(hit.path[0][0]),) if by_hops and hit.path else ()
        for src, type, dst in hit.path[:-1] if by_hops else ():
            here = trail[-1]
            there, way = (
                (src, f"← {one_line(type)} ") if dst == here else (dst, f"{one_line(type)} → ")
            )
            trail = (*trail, there)
            if trail not in branches:
                branches[trail] = at.add(
                    Text.assemble((way, "green"), (one_line(there), "magenta"))
                )
            at = branches[trail]
        label = Text.assemble((f"{hit.score:.2f}  ", "green"), (one_line(hit.name), "bold"))
        if hit.uri:
            label.append("  ").append(short_source(hit.source), "blue")
        said = snippet(hit)
        label.append(f"\n{said if len(said) <= CUT else said[: CUT - 1] + '…'}", "dim")
        if explain:
            label.append(f"\n{_because(hit)}", "cyan")
        branches.setdefault((one_line(hit.name),), at.add(label))
    return root
