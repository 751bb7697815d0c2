"""What dreaming made of texts that are forgotten: moments by rules are told again of what stays; a
model's are gone.

Insights and dreams are children of what they rest on, and go with it. Those in whose place they
stood are found again. See `store.forget`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from .. import labels
from ..ingest.documents import label
from ..ingest.remake import moved, untrue
from ..model import Edge, Moment, Record, Resource
from ..predicates import In, Query
from ..runs.supersede import SUPERSEDED
from ..store.contract import Reads
from ..store.forget import Going, Remade, Triple
from ..store.sweep import tokens
from .moments import describe
from .moments.extract import RULES
from .moments.sessions import MADE_BY, happened
from .vectors import matrix

__all__ = ["remake"]

# kinds of what dreaming makes, and may supersede
_DERIVED = ("entity_insight", "rem_dream", "summary", "synthesis")
_PART = re.compile(r"(?P<part>.*, part \d+)(?:: .*)?", re.DOTALL)


def remake(reads: Reads, going: Going) -> Remade:
    """What becomes of moments that dreaming made of what goes."""
    refs = [id for id, record in going.items() if isinstance(record, Resource)]
    gone: list[Record] = []
    records: list[Record] = list(_shown(reads, going))
    edges: list[Edge] = []
    unlinked: list[Triple] = []
    places: list[Triple] = []
    for moment in reads.records.referring(refs) if refs else ():
        if moment.id in going or MADE_BY not in moment.metadata:
            continue
        left = [
            record for id in moment.resource_refs
            if id not in going and isinstance(record := reads.records.get("resources", id), Resource)
        ]  # fmt: skip
        if not left or moment.metadata[MADE_BY] != RULES or SUPERSEDED in moment.metadata:
            gone.append(moment)
            continue
        told = _told(reads, moment, left)
        records.append(told)
        unlinked += untrue(reads, moment, told)
        if labels.key(told.name) != labels.key(moment.name):
            found, cut = moved(reads, labels.key(moment.name), told.name)
            false = {*unlinked}
            edges += [edge for edge, at in zip(found, cut, strict=True) if at not in false]
            places += cut
    return Remade(tuple(gone), tuple(records), tuple(unlinked), tuple(places), tuple(edges))


def _shown(reads: Reads, going: Going) -> Iterator[Resource]:
    """What stays, and what goes has superseded: it says what is said nowhere else now, and is found
    again."""
    over = [
        record for record in going.values() if isinstance(record, Resource) and record.generation
    ]
    if not over:
        return
    kinds = sorted({*_DERIVED, *(record.kind for record in over)})
    by = In(f"metadata.{SUPERSEDED}.by", [record.id for record in over])
    for record in reads.records.query("resources", Query().filter(In("kind", kinds)).filter(by)):
        told = (
            record.metadata.get(SUPERSEDED)
            if isinstance(record, Resource) and record.id not in going
            else None
        )
        if isinstance(record, Resource) and isinstance(told, dict):
            bare = {name: value for name, value in record.metadata.items() if name != SUPERSEDED}
            parents = tuple(reads.records.parents(record.id))
            yield replace(record, content=str(told["content"]), metadata=bare, parents=parents)


def _told(reads: Reads, moment: Moment, left: Sequence[Resource]) -> Moment:
    """A moment by rules, of these resources. Of its topics those stay that they speak of."""
    names = describe.names(left)
    said = {word for resource in left for word in tokens(resource.content)}
    topics = tuple(
        topic for topic in moment.topic_tags if topic in names or said.issuperset(tokens(topic))
    )
    times = [happened(resource) for resource in left]
    return replace(
        moment,
        name=_name(moment, left, topics),
        starts_at=min(times),
        ends_at=max([*times, *(resource.ends_at for resource in left if resource.ends_at)]),
        present_persons=describe.people(left),
        speakers=describe.speakers(left),
        topic_tags=topics,
        classifications=tuple(
            dict.fromkeys(resource.category for resource in left if resource.category)
        ),
        summary=describe.summary(left, matrix(reads, [resource.id for resource in left])),
        resource_refs=tuple(resource.id for resource in left),
        entity_refs=names,
    )


def _name(moment: Moment, left: Sequence[Resource], topics: Sequence[str]) -> str:
    """What it is called: by its topics, as far as these are still spoken of, or by its first text."""
    if part := _PART.fullmatch(moment.name):
        shown = moment.name[part.end("part") :].removeprefix(": ").split(", ")
        still = [topic for topic in shown if topic in topics] or list(topics[:2])
        return f"{part['part']}: {', '.join(still)}" if still and shown != [""] else part["part"]
    title = left[0].metadata.get("title")
    return label(
        f"{title if isinstance(title, str) and title else left[0].name}, {happened(left[0]).date()}"
    )
