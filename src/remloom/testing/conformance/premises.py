"""The store contract as tests: what a record was made of, and what that said then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from ...model import Edge, Entity, Moment, Person, Record, Resource
from ...model.premises import from_hex, premises_of
from ...store.batch import Batch
from ...store.contract import Store
from ...store.premises import find_stale
from ...store.rules import validation
from ...store.rules.premise_entries import PREMISE
from .opening import T0, Opened, Opening, put, stored

QUOTED = "0123456789abcdef"  # what nothing stored says
NOTE = Resource(id="note", name="note", content="The heron nests at the weir.")
INSIGHT = Resource(id="insight", name="insight", content="Herons like weirs.", parents=("note",))
WALK = Moment(id="walk", name="Walk", summary="Along the weir.", resource_refs=("note", "other"))


def stamped(store: Store, *items: Record | Edge) -> None:
    """Write what was not quoted: its premises say what they say now."""
    store.write(validation.build(items, tenant="", model="", stamp=True))


class Premises(Opened):
    @pytest.mark.parametrize("derived", [INSIGHT, WALK], ids=["resource", "moment"])
    def test_a_premise_comes_back_as_it_was_quoted(
        self, store: Store, derived: Resource | Moment, reopen: Opening
    ) -> None:
        quoted = replace(derived, premises={"note": QUOTED})
        put(store, NOTE, replace(NOTE, id="other", name="other"))
        put(store, quoted)
        for opened in (store, reopen()):
            found = {record.id: record for record in opened.records.all()}[derived.id]
            assert stored(opened, derived.id, type(derived)) == found
            assert opened.records.lookup([found.name.lower()], edges=0)[found.name.lower()] == [
                found
            ]
            assert isinstance(found, Resource | Moment)
            assert found.premises == {"note": QUOTED}
        assert store.admin.check() == []

    def test_what_is_not_quoted_says_what_it_says_as_it_is_written(self, store: Store) -> None:
        stamped(store, NOTE, INSIGHT)
        assert stored(store, "insight", Resource).premises == premises_of([NOTE])
        put(store, replace(NOTE, content="It nests at the mill."))
        assert stored(store, "insight", Resource).premises == premises_of([NOTE])

    def test_without_a_stamp_it_is_not_known(self, store: Store) -> None:
        put(store, NOTE, INSIGHT)
        found = stored(store, "insight", Resource)
        assert (found.parents, found.premises) == (("note",), {})

    def test_they_stay_with_what_is_written_without_parents(self, store: Store) -> None:
        put(store, NOTE)
        put(store, replace(INSIGHT, premises={"note": QUOTED}))
        stamped(store, replace(INSIGHT, content="They like mills, too.", parents=()))
        assert stored(store, "insight", Resource).premises == {"note": QUOTED}

    def test_what_is_written_back_as_it_was_read_keeps_them(self, store: Store) -> None:
        put(store, NOTE)
        put(store, replace(INSIGHT, premises={"note": QUOTED}))
        found = stored(store, "insight", Resource)
        stamped(store, replace(found, metadata={"seen": True}))
        assert stored(store, "insight", Resource).premises == {"note": QUOTED}

    def test_the_same_text_on_other_premises_has_these(self, store: Store) -> None:
        put(store, NOTE)
        put(store, replace(INSIGHT, premises={"note": QUOTED}))
        before = stored(store, "insight", Resource)
        stamped(store, INSIGHT)
        found = stored(store, "insight", Resource)
        assert found.premises == premises_of([NOTE])
        assert found.updated_at == before.updated_at

    def test_a_copy_has_those_that_there_were(self, store: Store) -> None:
        put(store, NOTE, INSIGHT)
        [item] = validation.build(
            [replace(INSIGHT, premises={"note": QUOTED})], tenant="", model=""
        ).records
        store.write(Batch((item,), exact=True))
        assert stored(store, "insight", Resource).premises == {"note": QUOTED}

    def test_they_go_with_what_they_are_of(self, store: Store) -> None:
        put(store, NOTE, replace(NOTE, id="other", name="other"))
        put(store, replace(WALK, premises={"note": QUOTED, "other": QUOTED}))
        store.delete(["note"], derived=False)
        assert stored(store, "walk", Moment).premises == {"other": QUOTED}
        assert store.admin.check() == []

    @pytest.mark.parametrize(
        "record",
        [
            NOTE,
            replace(NOTE, content="long " * 2000, starts_at=T0, metadata={"speaker": "Sarah"}),
            Entity(id="note", name="Weir", properties={"b": [1, 1.0, -0.0, 1e17, True], "a": "é"}),
            Moment(id="note", name="Walk", present_persons=(Person(name="Sarah"),), starts_at=T0),
        ],
        ids=["note", "turn", "entity", "moment"],
    )
    def test_a_record_says_the_same_when_it_is_read(self, store: Store, record: Record) -> None:
        stamped(store, record, INSIGHT)
        said = stored(store, "insight", Resource).premises
        assert said == premises_of([stored(store, "note", type(record))])
        assert from_hex(said["note"])

    @pytest.mark.parametrize(
        "touch",
        [
            lambda note: replace(note, metadata={"lines": [3, 9], "seen": 2}),
            lambda note: replace(note, name="a note", category="notes", language="en"),
            lambda note: replace(note, related_entities=("Sarah",), context="around it"),
        ],
    )
    def test_a_touch_changes_nothing_of_what_it_says(
        self, store: Store, touch: Callable[[Any], Resource]
    ) -> None:
        stamped(store, NOTE, INSIGHT)
        before = stored(store, "insight", Resource).premises
        stamped(store, touch(stored(store, "note", Resource)), INSIGHT)
        assert stored(store, "insight", Resource).premises == before

    def test_what_is_withdrawn_is_told_gone_until_it_is_back(
        self, store: Store, reopen: Opening
    ) -> None:
        walk = replace(WALK, premises={"note": QUOTED})
        stamped(store, NOTE, replace(NOTE, id="other", name="other"), INSIGHT, walk)
        store.write(Batch(withdrawn=("note", "never")))
        for opened in (store, reopen()):
            stale = find_stale(opened.records, ["insight", "walk"])
            assert {id: (one.reason, one.path) for id, one in stale.items()} == {
                "insight": ("gone", ("note",)),
                "walk": ("gone", ("note",)),
            }
            assert opened.admin.check() == []
        found = stored(store, "insight", Resource)
        assert (found.parents, found.premises) == ((), premises_of([NOTE]))
        assert stored(store, "walk", Moment).resource_refs == ("other",)
        put(store, NOTE)
        assert find_stale(store.records, ["insight"]) == {}
        found = stored(store, "insight", Resource)
        assert (found.parents, found.premises) == (("note",), premises_of([NOTE]))
        assert stored(store, "walk", Moment).resource_refs == ("other", "note")
        assert stored(store, "walk", Moment).premises == {"note": QUOTED}
        assert store.kv.list(PREMISE) == []

    def test_what_goes_together_keeps_nothing_of_each_other(self, store: Store) -> None:
        stamped(store, NOTE, INSIGHT)
        store.write(Batch(withdrawn=("note", "insight")))
        assert store.kv.list(PREMISE) == []
        assert store.admin.check() == []

    def test_what_says_anew_what_it_rests_on_rests_on_nothing_gone(self, store: Store) -> None:
        stamped(store, NOTE, replace(NOTE, id="other", name="other"), INSIGHT)
        store.write(Batch(withdrawn=("note",)))
        stamped(store, replace(INSIGHT, parents=("other",)))
        assert store.kv.list(PREMISE) == []
        assert stored(store, "insight", Resource).parents == ("other",)
