"""The tools `lookup` and `show`: what has a name, and all that is known of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta, Struct

from ...engine.lineage import DescribedRecord
from ...memory.memory import Memory
from ...model.records import short_id
from ...store.meanings import by_id
from ...store.premises import find_stale
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
    store = memory.admin.store
    missing = dict.fromkeys(answer.metadata.get("missing", ()))
    by_ids = {label: one for label in missing if (one := by_id(store, label)) is not None}
    stale = find_stale(store.records, [one.id for one in by_ids.values()])
    found = [Passage.of(one, stale=str(stale.get(one.id, ""))) for one in by_ids.values()]
    near = () if by_ids.keys() == missing.keys() else answer.suggestions
    return Found(
        records=[*map(Passage.of_hit, answer.records), *found],
        missing=[label for label in missing if label not in by_ids],
        suggestions=list(dict.fromkeys(hit.name for hit in near)),
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


_MOST_HISTORIES = 5  # records whose history is told
_MOST_CHANGES = 20  # of each, the newest
# of a change: told by their parts, by the chain, or of the store
_NOT_TOLD = frozenset(
    ("fields", "metadata", "parents", "premises", "properties", "context", "rests_on")
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
        history: what replaced what, oldest first, then other changes, newest first.
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
    history: list[str] = []


def _show(memory: Memory, values: ShowTakes, progress: Progress | None) -> Shown:
    """Show all that is known of one thing: its records, edges in and out, what it rests on back to
    the lines read, what changed of that, and its own history.
    """
    view = memory.admin.describe(values.what)
    described = view.records
    return Shown(
        records=[_passage(memory, one) for one in described],
        edges_out=[Relation.of(edge) for edge in view.edges_out[:_MOST_EDGES]],
        edges_in=[Relation.of(edge) for edge in view.edges_in[:_MOST_EDGES]],
        sources=[source for one in described for source in one.sources or ()],
        stale=[f"{one.record.name}: {one.stale}" for one in described if one.stale],
        parents=[id for one in described for id in one.parents],
        children=[id for one in described for id in one.children],
        edge_counts={f"{one.rel_type} {one.direction}": one.count for one in view.edge_counts},
        united=list(map(str, view.united)),
        history=[line for one in described[:_MOST_HISTORIES] for line in _history(memory, one)],
    )


def _passage(memory: Memory, one: DescribedRecord) -> Passage:
    """A record, beside it what changed that it rests on, as that is now."""
    id = (one.stale.by or one.stale.premise) if one.stale is not None else ""
    changed = memory.admin.store.records.get(None, id) if id else None
    now = Passage.of(changed) if changed is not None else None
    return Passage.of(one.record, stale=str(one.stale or ""), changed=now)


def _history(memory: Memory, one: DescribedRecord) -> Iterator[str]:
    lineage = memory.history(one.record.id)
    for link in lineage.chain:
        ends = f" ({link.reason}: replaced by {short_id(link.by)})" if link.by else ""
        more = f" (amended by {', '.join(map(short_id, link.amended_by))})"
        yield f"{short_id(link.id)} {link.content}{ends}{more if link.amended_by else ''}"
    for change in lineage.changes[:_MOST_CHANGES]:
        fields = {**change.changed, **change.changed.get("properties", {})}
        fields |= fields.get("fields", {})
        for name in sorted(fields.keys() - _NOT_TOLD):
            was, now = fields[name].get("from"), fields[name].get("to")
            if name == "content" and not (was and now):
                continue  # hidden or brought back: the chain says so
            yield f"{change.at:%Y-%m-%d %H:%M} {name}: {was} -> {now}"


def _show_text(value: Shown) -> str:
    lines = [quote_all(value.records).rstrip("\n"), *map(united_text, value.united)]
    edges = [*value.edges_out, *value.edges_in]
    lines += ["edges:", *(f"> {edge}" for edge in edges)] if edges else []
    for title, ids in (
        ("derived from", value.sources or value.parents),
        ("made of it", value.children),
    ):
        if ids:
            lines.append(f"{title}:\n> {', '.join(map(one_line, ids))}")
    if value.history:
        lines += ["history:", *(f"> {one_line(line)}" for line in value.history)]
    return "\n".join(lines)


SHOW = tool(_show, text=_show_text, aliases={"id": "what", "label": "what", "name": "what"})
