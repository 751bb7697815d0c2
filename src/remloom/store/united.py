"""Rows of several sources that are one thing: an edge `same_as` each way says so, and why.

Each row stays what its source says. Whoever looks one up is given the others beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from msgspec.structs import replace

from .. import labels
from ..errors import UnknownNameError
from ..model import Edge, Record, Row, United, record_dict
from ..model.edge_types import SAME_AS
from .contract import Reads
from .specs import LOOKUP_EDGES, EdgeSpec

# properties of such an edge
EVIDENCE = "evidence"  # what says so: "crm/customers.email = shop/clients.mail: a@b.example"
SAID_BY = "said_by"  # PLAN or PERSON
SEPARATED = "separated"  # a person said that they are two: the edge has ended, and keeps them apart
PLAN, PERSON = "plan", "person"
MOST = 50  # rows of one thing
_NAME = SAME_AS.name

_T = TypeVar("_T")


def unites(edge: Edge) -> bool:
    """Whether an edge that is in force says that two rows are one thing."""
    return edge.rel_type == _NAME and EVIDENCE in edge.properties


def find_united(
    reads: Reads,
    records: Iterable[Record],
    as_of: datetime | None = None,
    *,
    edges: int = LOOKUP_EDGES,
) -> list[list[Row]]:
    """Find the things that some of these records are rows of, with rows of other sources: of each
    thing all rows (`MOST` at most), those of the records first.

    Where none is united it costs no statement, but one for rows with as many edges as were loaded.

    Args:
        edges: so many were loaded with each record, at most.
    """
    candidates = [record for record in records if isinstance(record, Row)]
    if not any(
        len(row.graph_paths) >= edges or any(map(unites, row.graph_paths)) for row in candidates
    ):
        return []
    rows = {labels.key(row.handle): row for row in candidates}
    links = _links(reads, rows, as_of, edges)
    waiting = {dst for some in links.values() for dst in some} - rows.keys()
    tried: set[str] = set()
    while waiting and len(tried) < MOST * len(rows):
        tried |= waiting
        found = reads.records.lookup(sorted(waiting), as_of=as_of, own=True)
        new = {
            key: record
            for key, some in found.items()
            for record in some
            if isinstance(record, Row) and labels.key(record.handle) == key
        }
        links |= _links(reads, new, as_of, LOOKUP_EDGES)
        rows |= new
        waiting = {dst for key in new for dst in links.get(key, ())} - rows.keys() - tried
    position = {key: number for number, key in enumerate(rows)}
    things = []
    left = set(rows)
    for key in [key for key in rows if key in links]:
        if key in left:
            thing = _joined(key, links) & rows.keys()
            left -= thing
            things.append([rows[one] for one in sorted(thing, key=position.__getitem__)][:MOST])
    return [thing for thing in things if len(thing) > 1]


def _links(
    reads: Reads, rows: dict[str, Row], as_of: datetime | None, loaded: int
) -> dict[str, list[str]]:
    """The keys that each row is united with; rows are given the edges that say so."""
    links: dict[str, list[str]] = {}
    unsure = []
    for key, row in rows.items():
        if len(row.graph_paths) >= loaded:
            unsure.append(key)
        elif found := [edge.dst for edge in row.graph_paths if unites(edge)]:
            links[key] = found
    if not unsure:
        return links
    try:
        spec = EdgeSpec(unsure, direction="out", rel_types=[SAME_AS.name], limit=MOST, as_of=as_of)
        edges = reads.graph.edges(spec)
    except UnknownNameError:
        # no edge is of this type
        return links
    for edge in filter(unites, edges):
        links.setdefault(edge.src, []).append(edge.dst)
        row = rows[edge.src]
        if edge not in row.graph_paths:
            rows[edge.src] = replace(row, graph_paths=(*row.graph_paths, edge))
    return links


def _joined(start: str, links: dict[str, list[str]]) -> set[str]:
    found = {start}
    waiting = [start]
    while waiting:
        new = set(links.get(waiting.pop(), ())) - found
        found |= new
        waiting += new
    return found


def together(
    things: Sequence[Sequence[Row]],
    found: Sequence[_T],
    record_of: Callable[[_T], Record],
    make: Callable[[Row, _T], _T],
) -> list[_T]:
    """Put beside each other what is one thing, and the rows beside it that were not found.

    Args:
        make: makes an item of a row that was not found, beside one that was.
    """
    thing_of = {row.id: thing for thing in things for row in thing}
    items = {record_of(item).id: item for item in found}
    shown: dict[str, _T] = {}
    for id, item in items.items():
        for row in thing_of.get(id, ()):
            if row.id not in shown:
                shown[row.id] = items[row.id] if row.id in items else make(row, item)
        shown.setdefault(id, item)  # in the order of what was found
    return [*shown.values()]


def told(reads: Reads, thing: Sequence[Row]) -> United:
    """Say of a thing which rows it is, why, and on what these differ."""
    keys = {labels.key(row.handle) for row in thing}
    edges = [e for row in thing for e in row.graph_paths if unites(e) and e.dst in keys]
    evidence = dict.fromkeys(text for edge in edges for text in edge.properties[EVIDENCE])
    schemas = reads.schemas()
    said: dict[str, dict[str, Any]] = {}
    for row in thing:
        definition = schemas.get(row.schema)
        shown: dict[str, Any] = record_dict(row).get("fields", {})
        for name, value in shown.items():
            # a key says which row it is, and nothing of the thing
            if definition is None or name not in definition.handle:
                said.setdefault(name, {})[row.handle] = value
    return United(
        handles=tuple(row.handle for row in thing),
        sources=tuple(row.uri for row in thing),
        evidence=tuple(evidence),
        differs={
            name: some for name, some in said.items() if len({*map(_plain, some.values())}) > 1
        },
    )


def _plain(value: Any) -> str:
    """A value, without what tells no two labels apart."""
    return (labels.try_key(value) if isinstance(value, str) else "") or repr(value)
