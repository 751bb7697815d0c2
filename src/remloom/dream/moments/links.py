"""How moments are linked by label: to people, resources, topics and each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from ... import labels
from ...ingest.documents import identity
from ...ingest.edges import edge_to
from ...model import Edge, Moment, Resource
from ...model.edge_types import ABOUT, ATTENDED_BY, INCLUDES, PART_OF
from ...model.premises import says
from ...model.supersession import SUPERSEDED
from ...store.contract import Store
from ...store.specs import EdgeSpec

MADE_BY = "made_by"  # in the metadata of a moment that dreaming made: `RULES`, or the model's name
RULES = "rules"


def connections(moment: Moment, resources: Sequence[Resource]) -> list[Edge]:
    """A moment's edges by label: to who was there, what it is made of, and what it is about.

    None to itself: a document of one chunk, its moment and what it is about may share one name.
    """
    own = labels.key(moment.name)
    edges = [*_attended_by(moment), *_includes(moment, resources), *_about(moment)]
    return [edge for edge in edges if labels.key(edge.dst) != own]


def part_of(moment: Moment, whole: Moment) -> Edge:
    return edge_to(moment.name, PART_OF, whole.name, f"moment/{whole.type}")


def part_id(resources: Sequence[Resource]) -> str:
    """The id of the part that begins with these: it stays as the session grows."""
    return identity("part", resources[0].id)


def current_moments(store: Store, resources: Sequence[Resource], *, by_model: bool) -> list[Moment]:
    """The moments of some of these resources that a model made, else those by rules; without those
    that are retired."""
    if INCLUDES.name not in store.graph.edge_types():
        return []
    keys = list(dict.fromkeys(labels.key(resource.name) for resource in resources))
    edges = store.graph.edges(EdgeSpec(keys, direction="in", rel_types=[INCLUDES.name]))
    records_by_key = store.records.lookup(list(dict.fromkeys(edge.src for edge in edges)), edges=0)
    ids = {resource.id for resource in resources}
    return [
        record
        for records in records_by_key.values()
        for record in records
        if isinstance(record, Moment)
        and not ids.isdisjoint(record.resource_refs)
        and _is_current(record, by_model)
    ]


def _attended_by(moment: Moment) -> Iterator[Edge]:
    for person in moment.present_persons:
        edge = edge_to(moment.name, ATTENDED_BY, person.name, "person")
        role = {"role": person.role} if person.role else {}
        yield replace(edge, properties={**edge.properties, **role})


def _includes(moment: Moment, resources: Sequence[Resource]) -> Iterator[Edge]:
    for resource in resources:
        yield edge_to(moment.name, INCLUDES, resource.name, f"resource/{resource.kind}")


def _about(moment: Moment) -> Iterator[Edge]:
    names = {labels.key(name) for name in moment.entity_refs}
    by_rules = moment.metadata.get(MADE_BY, RULES) == RULES
    for topic in moment.topic_tags:
        # by rules a topic may be a mere word, which makes no entity
        if by_rules and labels.key(topic) not in names:
            continue
        yield edge_to(moment.name, ABOUT, topic, "concept/topic")


def _is_current(moment: Moment, by_model: bool) -> bool:
    maker = moment.metadata.get(MADE_BY)
    if maker is None or SUPERSEDED in moment.metadata:
        return False
    return bool(maker != RULES) == by_model


def as_they_are(store: Store, moments: Iterable[Moment]) -> list[Moment]:
    """Those moments that still say what they said, as they are now: what somebody wrote over while
    a model thought is theirs."""
    found = ((one, store.records.get("moments", one.id)) for one in moments)
    return [now for one, now in found if isinstance(now, Moment) and says(now) == says(one)]


def retired(moment: Moment) -> Moment:
    """A moment that is no longer made so, as the chat grew, or changed, since: it loses times and
    words, so that it leaves the timeline; id, name and edges stay."""
    properties = {
        "starts_at": moment.starts_at.isoformat() if moment.starts_at else "",
        "ends_at": moment.ends_at.isoformat() if moment.ends_at else "",
        "summary": moment.summary,
    }
    superseded = {name: value for name, value in properties.items() if value}
    return replace(
        moment,
        starts_at=None,
        ends_at=None,
        summary="",
        topic_tags=(),
        emotion_tags=(),
        classifications=(),
        metadata={**moment.metadata, SUPERSEDED: superseded},
    )
