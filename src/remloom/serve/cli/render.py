"""Answers as something to look at: lists of records, tables, and trees for traversals.

Each function takes a value of the model and returns a rich renderable; nothing here prints. On a
terminal lines are cut to its width; elsewhere names and citations are always whole.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from ...labels import key
from ...model import (
    Answer,
    Direction,
    Hit,
    Node,
    Stage,
    TraverseReport,
    TypeCount,
    cited,
    record_dict,
)
from .terminal import visible

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

__all__ = [
    "answer",
    "hits",
    "line",
    "nested",
    "pairs",
    "place",
    "plural",
    "short",
    "shown",
    "size",
    "stats",
    "table",
]

NAME_WIDTH = 44  # columns; longer names push their line's other columns to the right
SNIPPET = 400  # characters of a record's text looked at
SHOWN_COUNTS = 12  # types in one line of the statistics
SHOWN_EDGES = 12  # of an edge summary; --json has them all

STYLES = {"resources": "cyan", "entities": "magenta", "moments": "yellow"}

_HEADINGS = re.compile(r"\A(?:\s*#+ [^\n]*(?:\n|\Z))+")  # of Markdown, above a text
_WINDOW = re.compile(r"(\d+):(\d+)")  # of a resource's content, in `Hit.matched`


def plural(count: int, one: str, many: str = "") -> str:
    """A count with its noun: `1 entity`, `1,204 entities`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def line(text: str) -> str:
    """A text as one line."""
    return " ".join(visible(text).split())


def size(count: int) -> str:
    """A number of bytes: `512 B`, `1.4 MB`."""
    amount, unit = float(count), "B"
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if amount < 1000 or unit == "TB":
            break
        amount /= 1000
    return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"


def answer(found: Answer) -> RenderableType:
    """An answer of any kind of query."""
    if found.query_type in ("sql", "explain"):
        from .rows import rows

        return rows(found)
    if found.query_type == "traverse":
        return _traversal(found) if found.nodes else _nothing(found)
    shown = hits(found.records) if found.records else _nothing(found)
    if waiting := found.metadata.get("waiting"):
        note = f"{plural(waiting, 'text')} not embedded yet could not be found: `remloom reembed` does it now"
        return Group(shown, Text(note, "yellow"))
    return shown


def _nothing(found: Answer) -> RenderableType:
    if not found.suggestions:
        return Text("nothing found", "yellow")
    return Group(Text("nothing found; the nearest names are", "yellow"), hits(found.suggestions))


# -- records ---------------------------------------------------------------------------------------


def hits(found: Sequence[Hit]) -> RenderableType:
    """Records, two lines each: score, name, schema and type, source; then what it says, cut to one
    line."""
    return _Hits(found)


class _Hits:
    def __init__(self, found: Sequence[Hit]) -> None:
        self.found = found

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        scores = [f"{hit.score:.2f}  " for hit in self.found]
        if all(hit.score == 1.0 for hit in self.found):
            scores = [""] * len(self.found)
        names = [_hit_name(hit) for hit in self.found]
        kinds = [_kind(hit.schema, hit.type) for hit in self.found]
        score_width, kind_width = _widest(scores), _widest(kinds)
        name_width = min(NAME_WIDTH, _widest(names))
        for hit, score, name, kind in zip(self.found, scores, names, kinds, strict=True):
            head = Text(no_wrap=True, overflow="ignore")
            head.append(score.rjust(score_width), "green")
            head.append(_pad(name, name_width), "bold").append("  ")
            head.append(_pad(kind, kind_width), STYLES.get(hit.schema, ""))
            if hit.uri:
                head.append("  ").append(place(hit.source), "blue")
            head.rstrip()
            yield head
            if said := snippet(hit):
                body = Text(" " * (score_width or 2) + said, "dim", no_wrap=True)
                body.truncate(options.max_width, overflow="ellipsis")
                yield body


def _hit_name(hit: Hit) -> str:
    """The name, and the alias that matched where it was one."""
    by_alias = hit.matched and hit.matched != key(hit.name) and not _WINDOW.fullmatch(hit.matched)
    return line(f"{hit.name} (as {hit.matched})" if by_alias else hit.name)


def snippet(hit: Hit) -> str:
    """What a record says, as one line: the passage that matched, or its text without the headings
    above it, or else its other names, or its properties."""
    text = hit.content
    if text:
        window = _WINDOW.fullmatch(hit.matched) if hit.schema == "resources" else None
        passage = text[int(window[1]) : int(window[2])] if window else text
        # of a heading that matched: what stands under it
        after = text[int(window[1]) :] if window else text
        said = (_HEADINGS.sub("", part).strip() for part in (passage, after))
        return line((next(filter(None, said), "") or passage)[:SNIPPET])
    shown = record_dict(hit.record)
    if shown.get("thin"):
        return "only mentioned so far"
    if shown.get("aliases"):
        return line(f"also {', '.join(shown['aliases'])}")
    if shown.get("present_persons"):
        return line(f"with {', '.join(person['name'] for person in shown['present_persons'])}")
    properties = dict(shown.get("properties", {}))
    if properties.pop("extracted", False) and not properties:
        return "known only from reading"
    return line(_inline(properties))


def place(source: str) -> str:
    """A source as one would type it here: relative when it is below the current folder."""
    here = os.getcwd() + os.sep
    return line(source[len(here) :] if source.startswith(here) else source)


def _kind(schema: str, type: str) -> str:
    return f"{schema}/{line(type)}" if type else schema


# -- traversals ------------------------------------------------------------------------------------


def _traversal(found: Answer) -> RenderableType:
    report = found.report
    assert isinstance(report, TraverseReport)  # noqa: S101 - that of every traversal
    parts: list[RenderableType] = [_forest(found, report.direction)]
    if report.edge_counts is not None:
        parts += [Text(), _edge_counts(report.edge_counts), Text()]
        parts += _edge_list(found.edge_summary, "edges")
    parts += [Text(), _stages(found.stages), *_left_out(report)]
    return Group(*parts)


def _forest(found: Answer, direction: Direction) -> RenderableType:
    """Trees from the start nodes, drawn along the path by which each node was reached."""
    forest = _Forest(found, direction)
    at: dict[tuple[str, ...], list[Node]] = {}
    for node in found.nodes:
        at.setdefault(node.path, []).append(node)
    for path in sorted(at, key=len):
        for end in range(1, len(path)):
            if path[:end] not in forest.branches:  # on the way, but left out by LIMIT
                forest.plant(path[:end], Text(line(path[end - 1]), "dim italic"))
        forest.plant(path, _label(at[path]))
    return Group(*forest.roots)


def _names(nodes: Sequence[Node]) -> dict[str, str]:
    """Every key of a node, as the one it was reached by: an edge may lead to its name or to an
    alias."""
    names: dict[str, str] = {}
    for node in nodes:
        for name in (node.name, *node.get("aliases", ())):
            names.setdefault(key(name), node.path[-1])
    return names


class _Forest:
    def __init__(self, found: Answer, direction: Direction) -> None:
        self.roots: list[Tree] = []
        self.branches: dict[tuple[str, ...], Tree] = {}  # by path
        self._between: dict[tuple[str, str], list[str]] = {}
        names = _names(found.nodes)
        for src, rel_type, dst in found.edge_summary:
            start, end = names.get(src, src), names.get(dst, dst)
            if direction != "in":
                self._between.setdefault((start, end), []).append(f"{line(rel_type)} →")
            if direction != "out":
                self._between.setdefault((end, start), []).append(f"← {line(rel_type)}")

    def plant(self, path: tuple[str, ...], label: Text) -> None:
        if len(path) == 1:
            self.branches[path] = Tree(label, guide_style="dim")
            self.roots.append(self.branches[path])
            return
        named = ", ".join(dict.fromkeys(self._between.get((path[-2], path[-1]), ())))
        label = Text.assemble((f"{named} " if named else "", "green"), label)
        self.branches[path] = self.branches[path[:-1]].add(label)


def _label(nodes: Sequence[Node]) -> Text:
    """The records of one key: the name they share, what each is, and where those that were read are
    from."""
    label = Text(line(nodes[0].name), "bold")
    for node in nodes:
        label = Text.assemble(label, "  ", _styled_kind(node))
        if node.get("uri"):
            label.append("  ").append(place(cited(node["uri"], node.get("metadata", {}))), "blue")
    return label


def _styled_kind(record: dict[str, Any] | Node) -> tuple[str, str]:
    schema = record["schema"]
    return _kind(schema, record.get("category") or record.get("type") or ""), STYLES.get(schema, "")


def _edge_counts(counts: Sequence[TypeCount]) -> RenderableType:
    rows = [(line(count.rel_type), count.direction, f"{count.count:,}") for count in counts]
    return table(("edge type", "direction", "edges"), rows, right=("edges",))


def _edge_list(edges: Sequence[tuple[str, str, str]], title: str) -> Iterator[RenderableType]:
    if edges:
        yield Text(title, "dim")
    for src, rel_type, dst in edges[:SHOWN_EDGES]:
        yield Text.assemble("  ", line(src), (f" {line(rel_type)} → ", "green"), line(dst))
    if len(edges) > SHOWN_EDGES:
        yield Text(f"  … and {len(edges) - SHOWN_EDGES:,} more (--json shows them)", "dim")


def _stages(stages: Sequence[Stage]) -> RenderableType:
    lines = []
    for stage in stages:
        counts = f"{plural(stage.found.nodes, 'node')}, {plural(stage.found.edges, 'edge')}"
        lines.append(
            Text.assemble(
                (f"depth {stage.depth}  ", "dim"), line(stage.executed), (f"  {counts}", "dim")
            )
        )
    memo = stages[-1].plan_memo if stages else ""  # every stage echoes the same memo
    if memo:
        lines.append(Text.assemble(("memo     ", "dim"), (line(memo), "italic")))
    return Group(*lines)


def _left_out(report: TraverseReport) -> Iterator[RenderableType]:
    if report.omitted_nodes:
        yield Text(
            f"{plural(report.omitted_nodes, 'node')} left out by LIMIT {report.limit}", "yellow"
        )
    if report.unfollowed_edges:
        breadth = report.breadth or "all"
        yield Text(
            f"{plural(report.unfollowed_edges, 'edge')} not followed (BREADTH {breadth})", "yellow"
        )


# -- tables ----------------------------------------------------------------------------------------


def table(
    columns: Sequence[str], rows: Iterable[Sequence[Any]], *, right: Sequence[str] = ()
) -> Table:
    """A plain table; `right` names the columns set flush right."""
    drawn = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for column in columns:
        drawn.add_column(
            line(column), justify="right" if column in right else "left", overflow="fold"
        )
    for row in rows:
        drawn.add_row(
            *(Text("null", "dim") if value is None else Text(visible(value)) for value in row)
        )
    return drawn


def pairs(values: Iterable[tuple[str, RenderableType]]) -> RenderableType:
    """Names and values, a line each, values aligned."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in values:
        grid.add_row(name, value)
    return grid


# -- one thing -------------------------------------------------------------------------------------


def shown(found: dict[str, Any]) -> RenderableType:
    """Draw what `Memory.describe` knows of one thing: its records, field by field, then its edges."""
    parts: list[RenderableType] = []
    for record in found["records"]:
        title = Text.assemble((line(record["name"]), "bold"), "  ", _styled_kind(record))
        told = ("name", "schema", "graph_paths")
        facts = {
            name: value
            for name, value in record.items()
            if name not in told and value not in ([], {})
        }
        parts += [title, pairs(_told(facts, "  ")), Text()]
    incoming, outgoing = found["edges_in"], found["edges_out"]
    parts += _edge_list(
        [(edge["src"], edge["rel_type"], edge["dst"]) for edge in outgoing], "edges out"
    )
    parts += _edge_list(
        [(edge["src"], edge["rel_type"], edge["dst"]) for edge in incoming], "edges in"
    )
    return Group(*parts)


def stats(found: dict[str, Any]) -> RenderableType:
    """Draw what `Admin.stats` counts."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(justify="right", no_wrap=True)
    grid.add_column(overflow="fold")
    sealed = "encrypted" if found["encrypted"] else "not encrypted"
    title = Text.assemble((found["tenant"], "bold"), f"  {sealed}, {size(found['bytes'])} on disk")
    for schema, count in found["records"].items():
        types = {type or "no type": number for type, number in found["types"][schema].items()}
        mentioned = (
            f"; {found['thin_entities']:,} only mentioned"
            if schema == "entities" and found["thin_entities"]
            else ""
        )
        grid.add_row(schema, f"{count:,}", _counts(types) + mentioned)
    grid.add_row("edges", f"{found['edges']:,}", _counts(found["edge_types"]))
    vectors = found["vectors"]
    searched = (
        "" if vectors["exact_share"] is None else f", {vectors['exact_share']:.0%} searched exactly"
    )
    made = f"{vectors['model']}, {vectors['dims']} dimensions{searched}" if vectors["count"] else ""
    grid.add_row("vectors", f"{vectors['count']:,}", made)
    if found["pending"] or found["parked"]:
        parked = f"and {found['parked']:,} parked after failing" if found["parked"] else ""
        grid.add_row("to embed", f"{found['pending']:,}", parked)
    return Group(title, grid)


def _counts(counts: dict[str, int]) -> str:
    listed = [f"{line(name)} {count:,}" for name, count in list(counts.items())[:SHOWN_COUNTS]]
    return ", ".join([*listed, "…"] if len(counts) > SHOWN_COUNTS else listed)


def nested(values: dict[str, Any]) -> RenderableType:
    """A dict of counts and facts, dicts in it indented."""
    return pairs(_told(values))


def _told(values: dict[str, Any], indent: str = "") -> Iterator[tuple[str, RenderableType]]:
    for name, value in values.items():
        label = indent + (line(name.replace("_", " ")) if not indent else line(name) or "(none)")
        if isinstance(value, dict) and value:
            yield label, Text("")
            yield from _told(value, indent + "  ")
        else:
            yield label, Text(_fact(name, value))


def _fact(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return size(value) if "bytes" in name else f"{value:,}"
    if isinstance(value, list | tuple):
        return line(", ".join(map(str, value)))
    return line(str(value)) if value or value == 0 else "none"


def _inline(values: dict[str, Any]) -> str:
    return ", ".join(f"{name}: {value}" for name, value in values.items())


def short(id: str) -> str:
    """The end of a UUID, which commands that take the id of a run take as well."""
    return id[-12:] if len(id) == 36 else id


def _widest(texts: Iterable[str]) -> int:
    return max(map(cell_len, texts), default=0)


def _pad(text: str, width: int) -> str:
    return text + " " * (width - cell_len(text))
