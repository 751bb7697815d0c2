"""The tools `lookup` and `show`: what has a name, and all that is known of it."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from ...memory.memory import Memory
from ...text.quoting import one_line, quoted
from ..bounds import Label, Labels
from ..operation import Progress, names_few, tool
from .passage import Passage, Relation, meanings_text, quote_all, united_text


class LookupTakes(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of `lookup`."""

    labels: Labels


class Found(Struct, frozen=True, kw_only=True):
    """The records of these names, names that mean nothing, and for those the nearest.

    Attributes:
        meanings: of each name that means several things, what tells each from the others.
        united: records of several sources that are one thing, why, and where they differ.
    """

    records: list[Passage]
    missing: list[str]
    suggestions: list[str]
    meanings: dict[str, list[str]] = {}
    united: list[str] = []


def _lookup(memory: Memory, values: LookupTakes, progress: Progress | None) -> Found:
    """Look up people, projects, places, documents by name or id. When a name is not known, gives
    the nearest.
    """
    answer = memory.lookup(*values.labels)
    return Found(
        records=[Passage.of_hit(hit) for hit in answer.records],
        missing=list(answer.metadata.get("missing", ())),
        suggestions=list(dict.fromkeys(hit.name for hit in answer.suggestions)),
        meanings={key: list(map(str, some)) for key, some in answer.meanings.items()},
        united=list(map(str, answer.united)),
    )


def _text(value: Found) -> str:
    lines = [quote_all(value.records), *map(united_text, value.united)]
    for key, some in value.meanings.items():
        lines.append(meanings_text(key, some))
    if value.missing:
        lines.append(f"Not known: {', '.join(map(quoted, value.missing))}")
    if value.suggestions:
        lines.append(f"Names like it:\n> {', '.join(map(one_line, value.suggestions))}")
    return "\n".join(line for line in lines if line) or "Nothing has this name."


LOOKUP = tool(
    _lookup,
    text=_text,
    is_short=names_few,
    aliases={"label": "labels", "name": "labels", "names": "labels", "key": "labels"},
)


_MOST_EDGES = 30  # of each direction, the newest


class ShowTakes(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of `show`."""

    what: Annotated[Label, Meta(description="a name or id")]


class Shown(Struct, frozen=True, kw_only=True):
    """A thing with its edges, what it was derived from, and what was derived from it.

    Attributes:
        sources: where what it rests on was read, with lines.
        stale: why what was made of others may not hold any more.
        parents, children: ids.
        edge_counts: of each type, there may be more than are shown.
    """

    records: list[Passage]
    edges_out: list[Relation]
    edges_in: list[Relation]
    sources: list[str]
    stale: list[str]
    parents: list[str]
    children: list[str]
    edge_counts: dict[str, int]
    united: list[str] = []


def _show(memory: Memory, values: ShowTakes, progress: Progress | None) -> Shown:
    """Show all that is known of one thing: its records, edges in and out, and what it rests on,
    back to the lines that were read.
    """
    view = memory.admin.describe(values.what)
    described = view.records
    return Shown(
        records=[Passage.of(one.record, stale=str(one.stale or "")) for one in described],
        edges_out=[Relation.of(edge) for edge in view.edges_out[:_MOST_EDGES]],
        edges_in=[Relation.of(edge) for edge in view.edges_in[:_MOST_EDGES]],
        sources=[source for one in described for source in one.sources or ()],
        stale=[f"{one.record.name}: {one.stale}" for one in described if one.stale],
        parents=[id for one in described for id in one.parents],
        children=[id for one in described for id in one.children],
        edge_counts={f"{one.rel_type} {one.direction}": one.count for one in view.edge_counts},
        united=list(map(str, view.united)),
    )


def _show_text(value: Shown) -> str:
    lines = [quote_all(value.records).rstrip("\n"), *map(united_text, value.united)]
    edges = [*value.edges_out, *value.edges_in]
    lines += ["edges:", *(f"> {edge}" for edge in edges)] if edges else []
    for title, ids in (
        ("may not hold any more", value.stale),
        ("derived from", value.sources or value.parents),
        ("made of it", value.children),
    ):
        if ids:
            lines.append(f"{title}:\n> {', '.join(map(one_line, ids))}")
    return "\n".join(lines)


SHOW = tool(_show, text=_show_text, aliases={"id": "what", "label": "what", "name": "what"})
