"""What rests on something that was read again, or is gone from its source, stays and is told stale."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from remloom import Edge, Entity, Memory, Resource
from remloom.store.premises import find_stale
from remloom.store.rules.premise_entries import SlotPremise, premise_entry, slot_digest

NOW = datetime(2025, 1, 15, tzinfo=UTC)


def stale(memory: Memory, *ids: str) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Why records are stale: the reason, and the way down to the premise."""
    found = find_stale(memory.admin.store.records, ids)
    return {id: (one.reason, one.path) for id, one in found.items()}


# -- slots -----------------------------------------------------------------------------------------


def rest_on(memory: Memory, child: str, entity: str, attribute: str) -> None:
    """Let a record rest on what a slot says now."""
    owners = memory.lookup(entity).records
    said = slot_digest([hit.record for hit in owners], attribute)
    slot = SlotPremise(entity=entity, attribute=attribute, said=said, at=NOW)
    memory.admin.store.kv.put([premise_entry(child, slot)])


@pytest.mark.parametrize("kind", ["property", "edge", "nothing"])
def test_a_slot_that_says_something_else_makes_stale_until_it_is_put_back(
    memory: Memory, kind: str
) -> None:
    rule = Resource(id="rule", name="rule", content="Reviews go to Bob.")
    team = Entity(id="team", name="Team Orion", type="team", properties={"size": 3})
    lead = Edge(src="Team Orion", rel_type="lead", dst="Bob")
    if kind == "property":
        memory.write([rule, Entity(id="team", name="Team Orion", properties={"Lead": "Bob"})])
    elif kind == "edge":
        memory.write([rule, team, lead])
    else:
        memory.write([rule, team])
    rest_on(memory, "rule", "Team Orion", "lead")
    memory.write([Resource(id="derived", name="derived", content="So Bob.", parents=("rule",))])
    assert stale(memory, "rule", "derived") == {}
    memory.update_entity("team", {"size": 4})
    assert stale(memory, "rule", "derived") == {}
    if kind == "edge":
        memory.admin.delete_edge("Team Orion", "lead", "Bob")
        memory.write([Edge(src="Team Orion", rel_type="lead", dst="Jihoon")])
    else:
        memory.update_entity("team", {"lead": "Jihoon"} if kind == "nothing" else {"Lead": "Ann"})
    assert stale(memory, "rule", "derived") == {
        "rule": ("changed", ("Team Orion.lead",)),
        "derived": ("below", ("rule", "Team Orion.lead")),
    }
    if kind == "property":
        memory.update_entity("team", {"Lead": "Bob"})
        assert stale(memory, "rule", "derived") == {}
    memory.forget("Team Orion", by="label")
    assert stale(memory, "rule", "derived") == {}
    memory.forget("rule")
    assert memory.admin.store.kv.list("premise") == []
