"""What dreaming made of texts that are forgotten is remade without them, or forgotten, too.

Moments by rules are described again; a model's go. Insights are children of what they rest on, and
go with it; those that they superseded can be searched again. See `store.forgetting.forget`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from .. import labels
from ..ingest.remake import move_edges, outdated_edges
from ..model import SHARES, Edge, EdgeKey, Moment, Record, Resource
from ..model.supersession import SUPERSEDED, superseded_of
from ..predicates import Exists, In, Query
from ..runs.supersede import unhidden
from ..store.contract import Reads
from ..store.forgetting.forget import Remade, RemovedRecords
from ..store.forgetting.remaining_words import comparable_words
from ..store.rules.merge import keys_of
from .affinity_pool import ENTITY, RELATED
from .moments.extract import describe, session_name
from .moments.links import MADE_BY, RULES
from .topics import common_names

# kinds of what dreaming makes, and may supersede
_DERIVED = ("entity_insight", "rem_dream", "summary", "synthesis")
_PART_NAME = re.compile(r"(?P<part>.*, part \d+)(?:: (?P<topics>.*))?", re.DOTALL)


def remake(reads: Reads, removed: RemovedRecords, *, forgotten: bool = True) -> Remade:
    """What becomes of moments and insights that dreaming made of records that go. Where these are
    not forgotten, what a model wrote of them stays as it is."""
    deleted: list[Record] = []
    records: list[Record] = list(_restored(reads, removed))
    edges: list[Edge] = []
    unlinked: list[EdgeKey] = []
    moved: list[EdgeKey] = []
    for moment in _moments_of(reads, removed):
        ids = (id for id in moment.resource_refs if id not in removed)
        left = [
            one for id in ids if isinstance(one := reads.records.get("resources", id), Resource)
        ]
        by_rules = moment.metadata[MADE_BY] == RULES
        if not by_rules and not forgotten:
            continue
        # what a model wrote of texts cannot be made again without it
        if not left or not by_rules or SUPERSEDED in moment.metadata:
            deleted.append(moment)
            continue
        described = describe_left(reads, moment, left)
        records.append(described)
        unlinked += outdated_edges(reads, moment, described)
        key = labels.key(moment.name)
        if labels.key(described.name) != key:
            at_new_name, old_keys = move_edges(reads, key, described.name)
            # an edge that is no longer true does not move
            outdated = set(unlinked)
            for edge, old_key in zip(at_new_name, old_keys, strict=True):
                if old_key not in outdated:
                    edges.append(edge)
            moved += old_keys
    return Remade(tuple(deleted), tuple(records), tuple(unlinked), tuple(moved), tuple(edges))


def _moments_of(reads: Reads, removed: RemovedRecords) -> list[Moment]:
    ids = [id for id, record in removed.items() if isinstance(record, Resource)]
    moments = reads.records.referring(ids) if ids else []
    return [moment for moment in moments if moment.id not in removed and MADE_BY in moment.metadata]


_ASKED = 100  # ids that one query names


def _restored(reads: Reads, removed: RemovedRecords) -> Iterator[Resource]:
    """What goes had superseded these: they say what nothing else says now, so they are back."""
    insights = [
        record for record in removed.values() if isinstance(record, Resource) and record.generation
    ]
    if not insights:
        return
    kinds = sorted({*_DERIVED, *(record.kind for record in insights)})
    # narrowed by kind, which has an index
    ids = {record.id for record in insights}
    path = f"metadata.{SUPERSEDED}.by"
    by_them = In(path, sorted(ids)) if len(ids) <= _ASKED else Exists(path)
    query = Query().filter(In("kind", kinds)).filter(by_them)
    for record in reads.records.query("resources", query):
        if not isinstance(record, Resource) or record.id in removed:
            continue
        hidden = record.metadata.get(SUPERSEDED)
        # what somebody said is no longer so stays as they said
        if isinstance(hidden, dict) and hidden.get("by") in ids and superseded_of(record) is None:
            yield unhidden(reads, record)


def describe_left(reads: Reads, moment: Moment, left: Sequence[Resource]) -> Moment:
    """A moment by rules as it is without what goes. Of its topics those stay that are left."""
    names = common_names(left)
    words = {word for resource in left for word in comparable_words(resource.content)}
    topics = tuple(
        topic
        for topic in moment.topic_tags
        if topic in names or words.issuperset(comparable_words(topic))
    )
    return describe(reads, replace(moment, name=_name(moment, left, topics)), left, topics)


def _name(moment: Moment, left: Sequence[Resource], topics: Sequence[str]) -> str:
    """Its name by the topics that are left, or by the first text that is."""
    part = _PART_NAME.fullmatch(moment.name)
    if not part:
        return session_name(left)
    if not part["topics"]:
        return part["part"]
    named = [topic for topic in part["topics"].split(", ") if topic in topics]
    shown = named or topics[:2]
    return f"{part['part']}: {', '.join(shown)}" if shown else part["part"]


def remake_affinities(reads: Reads, removed: RemovedRecords) -> Remade:
    """What becomes of the edges of affinity between those who name a label that goes."""
    keys = sorted({key for record in removed.values() for key in keys_of(record)})
    by_key = reads.records.lookup(keys, edges=0) if keys else {}
    lost = {key for key, records in by_key.items() if all(r.id in removed for r in records)}
    naming = {edge.src for edge in reads.graph.stored_edges(sorted(lost), direction="in")}
    unlinked: list[EdgeKey] = []
    moved: list[EdgeKey] = []
    edges: list[Edge] = []
    for edge in reads.graph.stored_edges(sorted(naming - lost), direction="out"):
        if edge.dst not in naming or edge.dst in lost:
            continue
        if edge.rel_type == RELATED and edge.properties.get("match_type") == "judged":
            # what a model said of the two cannot be said without it
            unlinked.append(edge.key)
        elif edge.rel_type == ENTITY:
            left = {
                name: value
                for name, value in edge.properties.items()
                if name.removeprefix(SHARES) not in lost
            }
            if not any(name.startswith(SHARES) for name in left):
                unlinked.append(edge.key)
            elif left != edge.properties:
                moved.append(edge.key)
                edges.append(replace(edge, properties=left))
    return Remade(unlinked=tuple(unlinked), moved=tuple(moved), edges=tuple(edges))
