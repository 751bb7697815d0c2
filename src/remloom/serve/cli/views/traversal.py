"""Traversals as trees, drawn along the paths by which their nodes were reached."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text
from rich.tree import Tree

from ....labels import key
from ....model import Answer, Direction, Node, Stage, TraverseReport, TypeCount, cited
from ..frame.text_formats import one_line, plural, short_source
from .hits import STYLES, kind_of
from .tables import draw_table

SHOWN_EDGES = 12  # of an edge summary; --json has them all


def draw_traversal(found: Answer) -> RenderableType:
    report = found.report
    assert isinstance(report, TraverseReport)  # noqa: S101 - that of every traversal
    parts: list[RenderableType] = [_forest(found, report.direction)]
    if report.edge_counts is not None:
        parts += [Text(), _edge_counts(report.edge_counts), Text()]
        parts += draw_edges(found.edge_summary, "edges")
    parts += [Text(), _stages(found.stages), *_left_out(report)]
    return Group(*parts)


def _forest(found: Answer, direction: Direction) -> RenderableType:
    forest = _Forest(found, direction)
    # records of one name are one node of the tree
    by_path: dict[tuple[str, ...], list[Node]] = {}
    for node in found.nodes:
        by_path.setdefault(node.path, []).append(node)
    # short paths first: a parent stands before its children
    for path in sorted(by_path, key=len):
        for end in range(1, len(path)):
            # a node on the way that LIMIT left out is drawn by its name alone
            if path[:end] not in forest.branches:
                forest.plant(path[:end], Text(one_line(path[end - 1]), "dim italic"))
        forest.plant(path, _label(by_path[path]))
    return Group(*forest.roots)


def _names(nodes: Sequence[Node]) -> dict[str, str]:
    """Map every key of a node, its name or an alias, to the one by which it was reached."""
    names: dict[str, str] = {}
    for node in nodes:
        for name in (node.name, *node.get("aliases", ())):
            names.setdefault(key(name), node.path[-1])
    return names


class _Forest:
    """Trees under construction, and the edges between their nodes."""

    def __init__(self, found: Answer, direction: Direction) -> None:
        self.roots: list[Tree] = []
        self.branches: dict[tuple[str, ...], Tree] = {}  # by path
        self._between: dict[tuple[str, str], list[str]] = {}
        names = _names(found.nodes)
        for src, rel_type, dst in found.edge_summary:
            start, end = names.get(src, src), names.get(dst, dst)
            if direction != "in":
                self._between.setdefault((start, end), []).append(f"{one_line(rel_type)} →")
            if direction != "out":
                self._between.setdefault((end, start), []).append(f"← {one_line(rel_type)}")

    def plant(self, path: tuple[str, ...], label: Text) -> None:
        if len(path) == 1:
            self.branches[path] = Tree(label, guide_style="dim")
            self.roots.append(self.branches[path])
            return
        named = ", ".join(dict.fromkeys(self._between.get((path[-2], path[-1]), ())))
        label = Text.assemble((f"{named} " if named else "", "green"), label)
        self.branches[path] = self.branches[path[:-1]].add(label)


def _label(nodes: Sequence[Node]) -> Text:
    label = Text(one_line(nodes[0].name), "bold")
    for node in nodes:
        label = Text.assemble(label, "  ", styled_kind(node))
        if node.written_later:
            label.append("  written later", "yellow")
        if node.stale is not None:
            label.append(f"  may not hold: {one_line(str(node.stale))}", "yellow")
        if node.get("uri"):
            source = cited(node["uri"], node.get("metadata", {}))
            label.append("  ").append(short_source(source), "blue")
    return label


def styled_kind(record: dict[str, Any] | Node) -> tuple[str, str]:
    schema = record["schema"]
    # a resource has a category, an entity or moment a type
    kind = kind_of(schema, record.get("category") or record.get("type") or "")
    return kind, STYLES.get(schema, "")


def _edge_counts(counts: Sequence[TypeCount]) -> RenderableType:
    rows = [(one_line(count.rel_type), count.direction, f"{count.count:,}") for count in counts]
    return draw_table(("edge type", "direction", "edges"), rows, right=("edges",))


def draw_edges(edges: Sequence[tuple[str, str, str]], title: str) -> Iterator[RenderableType]:
    if edges:
        yield Text(title, "dim")
    for src, rel_type, dst in edges[:SHOWN_EDGES]:
        arrow = f" {one_line(rel_type)} → "
        yield Text.assemble("  ", one_line(src), (arrow, "green"), one_line(dst))
    if len(edges) > SHOWN_EDGES:
        yield Text(f"  … and {len(edges) - SHOWN_EDGES:,} more (--json shows them)", "dim")


def _stages(stages: Sequence[Stage]) -> RenderableType:
    lines = []
    for stage in stages:
        counts = f"{plural(stage.found.nodes, 'node')}, {plural(stage.found.edges, 'edge')}"
        depth = f"depth {stage.depth}  "
        statement = one_line(stage.executed)
        lines.append(Text.assemble((depth, "dim"), statement, (f"  {counts}", "dim")))
    # every stage echoes the same memo
    memo = stages[-1].plan_memo if stages else ""
    if memo:
        lines.append(Text.assemble(("memo     ", "dim"), (one_line(memo), "italic")))
    return Group(*lines)


def _left_out(report: TraverseReport) -> Iterator[RenderableType]:
    if report.omitted_nodes:
        nodes = plural(report.omitted_nodes, "node")
        yield Text(f"{nodes} left out by LIMIT {report.limit}", "yellow")
    if report.unfollowed_edges:
        breadth = report.breadth or "all"
        edges = plural(report.unfollowed_edges, "edge")
        yield Text(f"{edges} not followed (BREADTH {breadth})", "yellow")
    if report.incoming_edges:
        edges = plural(report.incoming_edges, "edge")
        yield Text(f"none leads from it, but {edges} to it: DIRECTION in", "yellow")
