"""What rests on a thing by statement follows it wherever it goes; what replaced a text holds."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from remloom import Edge, Entity, Memory, Moment, Resource
from remloom.errors import ConflictError
from remloom.store.premises import find_stale

PRICE = "11111111-1111-4111-8111-111111111111"
TEAM = Entity(id="team", name="Quagga", type="team", properties={"lead": "Ann"})


def why(memory: Memory, id: str = "plan") -> str:
    """Why a record is stale, as LOOKUP, recall, SELECT and a dry refresh say alike."""
    (hit,) = memory.lookup(id).records
    found = [one.stale for one in memory.recall("we order ten").hits if one.id == id]
    assert [one and one.reason for one in found] in ([], [hit.stale and hit.stale.reason])
    ((is_stale,),) = memory.sql(f"SELECT stale FROM resources WHERE id = '{id}'").rows
    listed = memory.dreams.refresh(dry_run=True, model=False).stale
    assert bool(is_stale) == (hit.stale is not None) == (id in {one.id for one in listed})
    return hit.stale.reason if hit.stale else ""


def plan(*rests_on: str) -> Resource:
    return Resource(id="plan", name="plan", content="We order ten.", rests_on=rests_on)


def test_a_passage_that_is_read_again_with_other_words(memory: Memory) -> None:
    (passage,) = memory.read_text("The price is five euros.", uri="p.md").ids
    memory.write([plan(passage)])
    report = memory.read_text("The price is six euros.", uri="p.md")
    assert why(memory) == "gone"
    assert report.stale_ids == ("plan",)
    memory.confirm("plan")
    assert why(memory) == ""
    memory.read_text("The price is five euros.", uri="p.md")
    assert why(memory) == "changed"


def test_a_name_that_is_forgotten(memory: Memory) -> None:
    memory.write([TEAM])
    memory.write([plan("Quagga.lead")])
    receipt = memory.forget("Quagga")
    assert receipt.verified
    assert receipt.named_in == ("plan",)
    assert why(memory) == "gone"
    memory.write([TEAM])
    assert why(memory) == ""


def test_what_has_expired_and_is_swept(memory: Memory) -> None:
    memory.write([Resource(id=PRICE, content="Five euros.")])
    memory.write([plan(PRICE)])
    memory.admin.set_expiry([PRICE], datetime.now(UTC) - timedelta(seconds=1))
    assert memory.admin.sweep().verified
    assert why(memory) == "gone"


@pytest.mark.parametrize("how", ["id", "property", "edge", "name of a text"])
def test_the_write_that_makes_it_stale_tells_of_it(memory: Memory, how: str) -> None:
    before: Any = {
        "id": Resource(id=PRICE, content="Five euros."),
        "property": TEAM,
        "edge": Edge(src="Quagga", rel_type="lead", dst="Ann"),
        "name of a text": Resource(id="t", name="The price", content="Five euros."),
    }[how]
    after: Any = {
        "id": Resource(id=PRICE, content="Six euros."),
        "property": replace(TEAM, properties={"lead": "Bob"}),
        "edge": Edge(src="Quagga", rel_type="lead", dst="Bob"),
        "name of a text": Resource(id="t", name="The price", content="Six euros."),
    }[how]
    slot = {"id": PRICE, "name of a text": "The price"}.get(how, "Quagga.lead")
    memory.write([before])
    memory.write([plan(slot)])
    written: Any = memory.write([after])
    assert why(memory) == "changed"
    assert (written.stale, written.stale_ids) == (1, ("plan",))
    memory.confirm("plan")
    assert why(memory) == ""


def test_what_changed_stands_beside_it(memory: Memory) -> None:
    memory.write([TEAM])
    memory.write([plan("Quagga.lead")])
    memory.update_entity("team", {"lead": "Bob"})
    (hit,) = (one for one in memory.recall("we order ten").hits if one.id == "plan")
    assert hit.changed is not None
    assert hit.changed.id == "team"


@pytest.mark.parametrize("anew", ["as it was read", "without its mark"])
def test_a_text_that_was_replaced_cannot_get_other_words(memory: Memory, anew: str) -> None:
    memory.write([Resource(id="old", content="Ann lives in Oslo.")])
    memory.write([Resource(id="new", content="Ann lives in Rome.", replaces="old")])
    stored = memory.get_resource("old") if anew == "as it was read" else Resource(id="old")
    with pytest.raises(ConflictError, match="replaced by new"):
        memory.write([replace(stored, content="Ann lives in Bern.")])
    memory.write([replace(memory.get_resource("old"), related_entities=("Ann",))])
    found = memory.search_text("Ann lives").records
    assert [hit.content for hit in found] == ["Ann lives in Rome."]
    memory.forget("new")
    with pytest.raises(ConflictError, match="unreplace"):
        memory.write([Resource(content="Ann lives in Bern.", replaces="old")])


def test_confirming_rests_on_what_is_in_force_from_then_on(memory: Memory) -> None:
    memory.write([Resource(id="first", content="Five euros.")])
    made = Resource(id="plan", name="plan", content="We order ten.", parents=("first",))
    memory.write([made])
    memory.write([Resource(id="second", content="Six euros.", replaces="first")])
    memory.confirm("plan")
    assert why(memory) == ""
    memory.write([Resource(id="third", content="Seven euros.", replaces="second")])
    assert why(memory) == "replaced"


def test_two_who_unite_and_separate_at_once_get_an_answer_or_a_reason(memory: Memory) -> None:
    from remloom import Row
    from remloom.model import SchemaDefinition

    memory.schemas.register(SchemaDefinition(schema_name="customers"))
    rows = [Row(schema="customers", handle=f"customer-{n}", name=f"C{n}") for n in (1, 2)]
    memory.write(rows)

    def unite(_: int) -> None:
        try:
            memory.schemas.unite("customer-1", "customer-2")
        except ConflictError as error:
            assert "separated meanwhile" in str(error)  # noqa: PT017 - either may come first

    with ThreadPoolExecutor(4) as threads:
        united = threads.map(unite, range(12))
        apart = threads.map(
            lambda _: memory.schemas.separate("customer-1", "customer-2"), range(12)
        )
        assert [*united, *apart] == [None] * 24


@pytest.mark.parametrize("is_at_once", [False, True], ids=["later", "at once"])
def test_what_is_made_of_a_text_that_was_replaced_already_is_stale(
    memory: Memory, is_at_once: bool
) -> None:
    memory.write([Resource(id=PRICE, content="Ann leads."), Resource(id="also", content="On May.")])
    newer = Resource(id="new", content="Bob leads.", replaces=PRICE)
    made = [
        Resource(id="made", content="Ask Ann.", parents=(PRICE, "also")),
        Resource(id="stated", content="Ask her.", rests_on=(PRICE,)),
        Moment(id="moment", name="Kickoff", summary="Ann spoke.", resource_refs=(PRICE, "also")),
    ]
    for batch in [[newer, *made]] if is_at_once else [[newer], made]:
        memory.write(batch)
    found = find_stale(memory.admin.store.records, ["made", "stated", "moment"])
    assert {id: (one.reason, one.by) for id, one in found.items()} == dict.fromkeys(
        ("made", "stated", "moment"), ("replaced", "new")
    )
    memory.unreplace(PRICE)
    assert not find_stale(memory.admin.store.records, ["made", "stated", "moment"])
    memory.write([Resource(id="also", content="On June.")])
    assert set(find_stale(memory.admin.store.records, ["made", "moment"])) == {"made", "moment"}
