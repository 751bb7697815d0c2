"""What an agent says that a record rests on: stale once that says something else."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from remloom import Edge, Entity, Memory, Message, Resource
from remloom.errors import InvalidInputError, LabelError, NotFoundError
from remloom.predicates import Query
from remloom.store.premises import find_stale

AT = datetime(2026, 3, 1, tzinfo=UTC)


def stale(memory: Memory, *ids: str) -> dict[str, str]:
    """What made records stale: the premise by its name."""
    found = find_stale(memory.admin.store.records, ids)
    return {id: one.path[-1] for id, one in found.items()}


def team(**properties: object) -> Entity:
    return Entity(id="team", name="Team Orion", type="team", properties=properties)


def rule(*on: str, **fields: object) -> Resource:
    return Resource(
        id="rule",
        name="rule",
        content="Reviews go to Seoyun.",
        rests_on=on,
        **fields,  # type: ignore[arg-type]
    )


def test_what_rests_on_a_slot_is_stale_while_the_slot_says_something_else(memory: Memory) -> None:
    memory.write([team(lead="Minji", size=6)])
    memory.write([rule("Team Orion.lead")])
    assert memory.get_resource("rule").rests_on == ("Team Orion.lead",)
    memory.update_entity("team", {"size": 7})
    assert stale(memory, "rule") == {}
    memory.update_entity("team", {"lead": "Jihoon"})
    assert stale(memory, "rule") == {"rule": "Team Orion.lead"}
    assert memory.history("rule").entries[0].stale is not None
    memory.update_entity("team", {"lead": "Minji"})
    assert stale(memory, "rule") == {}


def test_the_slot_may_be_written_in_the_same_batch(memory: Memory) -> None:
    memory.write([rule("Team Orion.lead"), Entity(name="Team Orion", properties={"lead": "Minji"})])
    assert stale(memory, "rule") == {}
    memory.write([rule("Team Orion.lead"), Edge(src="Team Orion", rel_type="owns", dst="Parser")])
    other = Resource(id="other", name="other", content="Ask Ann.", rests_on=("Parser.owner",))
    memory.write([other, Edge(src="Parser", rel_type="owner", dst="Ann")])
    assert stale(memory, "rule", "other") == {}
    memory.write([Entity(name="Team Orion", properties={"lead": "Jihoon"})])
    memory.admin.delete_edge("Parser", "owner", "Ann")
    assert set(stale(memory, "rule", "other")) == {"rule", "other"}


def test_the_first_value_of_a_slot_that_had_none_is_a_change(memory: Memory) -> None:
    memory.write([rule("Team Orion.lead")])
    assert stale(memory, "rule") == {}
    memory.write([team(lead="Jihoon")])
    assert stale(memory, "rule") == {"rule": "Team Orion.lead"}


def test_a_name_alone_is_all_that_is_said_under_it(memory: Memory) -> None:
    memory.write([Entity(id="vet", name="Dr. Okafor", summary="A vet.")])
    memory.write([rule("Dr. Okafor")])
    memory.write([Entity(id="vet", name="Dr. Okafor", summary="A retired vet.")])
    assert stale(memory, "rule") == {"rule": "Dr. Okafor"}


def test_a_record_is_rested_on_by_its_id_and_at_any_depth(memory: Memory) -> None:
    (base,) = memory.write([Resource(content="Minji leads Orion.")])
    (middle,) = memory.write([Resource(content="So Minji decides.", rests_on=(base,))])
    memory.write([rule(middle)])
    assert stale(memory, "rule", middle) == {}
    memory.write([Resource(id=base, content="Jihoon leads Orion.")])
    assert set(stale(memory, "rule", middle)) == {"rule", middle}


def test_what_is_written_back_unchanged_is_not_healed_and_a_new_text_is(memory: Memory) -> None:
    memory.write([team(lead="Minji")])
    memory.write([rule("Team Orion.lead")])
    memory.update_entity("team", {"lead": "Jihoon"})
    memory.write([rule("Team Orion.lead", metadata={"seen": True})])
    assert stale(memory, "rule") == {"rule": "Team Orion.lead"}
    memory.write([Resource(id="rule", content="Reviews go to Bob.", rests_on=("Team Orion.lead",))])
    assert stale(memory, "rule") == {}


def test_what_is_no_longer_stated_makes_nothing_stale(memory: Memory) -> None:
    memory.write([team(lead="Minji"), rule("Team Orion.lead")])
    memory.write([rule()])
    memory.update_entity("team", {"lead": "Jihoon"})
    assert stale(memory, "rule") == {}


@pytest.mark.parametrize(
    ("given", "error", "told"),
    [
        (("Team Orion.",), InvalidInputError, "names no property"),
        (("",), LabelError, "label"),
        ((".lead",), LabelError, "label"),
        ((7,), InvalidInputError, "is no text"),
        (("a",) * 51, InvalidInputError, "at most 50"),
        (("0190a7c2-5f5e-7cc1-9d3c-0c4b8f0a1b2c",), NotFoundError, "the id of no record"),
    ],
)
def test_what_nothing_can_rest_on_is_refused_and_nothing_is_written(
    memory: Memory, given: tuple[str, ...], error: type[Exception], told: str
) -> None:
    with pytest.raises(error, match=told):
        memory.write([Resource(content="Reviews go to Seoyun.", rests_on=given)])
    assert memory.query_resources(Query()) == []


def test_a_record_cannot_rest_on_itself(memory: Memory) -> None:
    id = "0190a7c2-5f5e-7cc1-9d3c-0c4b8f0a1b2c"
    with pytest.raises(InvalidInputError, match="itself"):
        memory.write([Resource(id=id, content="Reviews go to Seoyun.", rests_on=(id,))])


def test_what_is_forgotten_leaves_no_premise(memory: Memory) -> None:
    memory.write([team(lead="Minji"), rule("Team Orion.lead")])
    memory.forget("rule")
    assert memory.admin.store.kv.count("premise") == 0


# -- recall ----------------------------------------------------------------------------------------

TURNS = [
    ("Ann", "Code reviews of the parser go to Seoyun."),
    ("Bob", "We had pasta for lunch."),
    *((f"Guest {n}", f"Lunch number {n} was fine, thanks.") for n in range(12)),
    ("Ann", "By the way, Jihoon is the lead of Orion from today."),
    *((f"Guest {n}", f"Dinner number {n} was fine, thanks.") for n in range(12)),
]


def read_turns(memory: Memory) -> list[str]:
    messages = [
        Message(speaker=speaker, text=text, id=str(n), at=AT.replace(day=1 + n % 27, hour=n % 24))
        for n, (speaker, text) in enumerate(TURNS)
    ]
    return list(memory.read_chat(messages, uri="team").ids)


def found(memory: Memory, **options: object) -> list[tuple[str, str]]:
    """The ids of the turns found, and why those were that something depends on."""
    hits = memory.recall("Who gets code reviews?", abstain=False, **options).hits  # type: ignore[arg-type]
    return [
        (*hit.message_ids, next((r.note for r in hit.reasons if r.part == "dependencies"), ""))
        for hit in hits
    ]


def test_the_change_of_what_a_hit_rests_on_stands_behind_it(memory: Memory) -> None:
    ids = read_turns(memory)
    assert "14" not in dict(found(memory))
    turn = memory.get_resource(ids[0])
    memory.write([replace(turn, rests_on=("Orion.lead",))])
    (first, none), (second, why), *_ = found(memory)
    assert (first, none, second) == ("0", "", "14")
    assert why == f"what {turn.name} depends on"
    assert "14" not in dict(found(memory, exclude=["dependencies"]))
    assert "Jihoon" in memory.context("Who gets code reviews?", abstain=False)


def test_a_turn_that_says_that_it_depends_brings_the_change_along(memory: Memory) -> None:
    said = "Code reviews go to Seoyun; if Orion gets another lead, this changes too."
    messages = [
        Message(speaker=s, text=said if n == 0 else t, id=str(n), at=AT)
        for n, (s, t) in enumerate(TURNS)
    ]
    memory.read_chat(messages, uri="team")
    assert "14" in dict(found(memory))
    assert "14" not in dict(found(memory, exclude=["dependencies"]))


def test_what_was_said_before_is_no_change(memory: Memory) -> None:
    read_turns(memory)
    memory.read_chat(
        [
            Message(speaker="Ann", text="Jihoon is the lead of Orion.", id="a", at=AT),
            Message(
                speaker="Ann",
                text="Code reviews go to Seoyun; if Orion gets another lead, this changes too.",
                id="b",
                at=AT.replace(day=2),
            ),
        ],
        uri="other",
    )
    whys = dict(found(memory))
    assert not whys.get("a")
