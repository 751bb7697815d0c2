"""The store contract as tests: other names of records, thin entities, and what entities were."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from ... import labels
from ...errors import NotFoundError
from ...model import Edge, Entity, Moment, Resource
from ...store import as_of, changes
from ...store.batch import Batch
from ...store.contract import Store
from .opening import (
    DAY,
    T0,
    Opened,
    RecordSchema,
    by_name,
    edge_between,
    edges_at,
    lookup,
    names,
    put,
    relation,
    stored,
    the_entity,
)


class Renaming(Opened):
    """Records that get another name."""

    def test_edges_follow_what_is_called_otherwise_in_both_directions(
        self, store: Store, schema: RecordSchema
    ) -> None:
        put(
            store,
            schema.make("Sarah Chen", id="e"),
            relation("Sarah Chen", "leads", "Data", weight=0.5, properties={"since": 2020}),
            relation("Bob", "knows", "sarah_chen"),
            relation("Sarah Chen", "is", "Sarah Chen"),
            relation("Sarah Miller", "leads", "Data", weight=0.9),
        )
        # the new name has an edge of the same type and end already: the two become one
        put(store, schema.make("Sarah Miller", id="e"))
        assert edges_at(store, "sarah-miller") == {
            ("sarah-miller", "leads", "data"),
            ("bob", "knows", "sarah-miller"),
            ("sarah-miller", "is", "sarah-miller"),
        }
        leads = next(edge for edge in store.graph.stored_edges(["data"], direction="in"))
        assert (leads.weight, leads.properties) == (0.9, {"since": 2020})
        assert lookup(store, "sarah-chen") == []
        assert names(lookup(store, "sarah-miller")) == ["Sarah Miller"]
        assert store.graph.count(["sarah-miller"], direction="both") == 3

    def test_a_resource_takes_its_edges_along_too(self, store: Store) -> None:
        put(store, Resource(id="r", name="Draft", content="x"), relation("Draft", "about", "Tea"))
        put(store, Resource(id="r", name="Final", content="x"))
        assert edges_at(store, "final") == {("final", "about", "tea")}
        assert lookup(store, "draft") == []

    def test_edges_of_a_label_that_another_record_is_called_by_stay(
        self, store: Store, named: RecordSchema
    ) -> None:
        put(
            store,
            named.make("Jordan", id="p"),
            Moment(id="c", name="Jordan"),
            edge_between("Jordan", "x"),
        )
        put(store, named.make("Mike", id="p", aliases=("Jordan",)))
        assert edges_at(store, "jordan") == {("jordan", "r", "x")}
        assert edges_at(store, "mike") == {("jordan", "r", "x")}, "by its alias"

    def test_two_that_change_names_take_their_edges_along(
        self, store: Store, schema: RecordSchema
    ) -> None:
        put(
            store,
            schema.make("One", id="a"),
            schema.make("Two", id="b"),
            edge_between("One", "x"),
            edge_between("Two", "y"),
            relation("One", "before", "Two"),
        )
        put(store, schema.make("Two", id="a"), schema.make("One", id="b"))
        assert edges_at(store, "one") == {("one", "r", "y"), ("two", "before", "one")}
        assert edges_at(store, "two") == {("two", "r", "x"), ("two", "before", "one")}

    def test_what_is_new_under_an_old_name_has_none_of_its_edges(
        self, store: Store, schema: RecordSchema
    ) -> None:
        put(store, schema.make("One", id="a"), edge_between("One", "x"))
        put(store, schema.make("Two", id="a"), schema.make("One", id="b"))
        assert (edges_at(store, "one"), edges_at(store, "two")) == (set(), {("two", "r", "x")})


class ThinEntities(Opened):
    """What only edges name."""

    def test_a_thin_entity_is_found_by_its_label_and_by_the_name_it_shows(
        self, store: Store
    ) -> None:
        put(store, _employs("emp-17", "Sarah Chen", "person/employee"))
        thin = the_entity(store, "sarah-chen")
        assert thin.name == "Sarah Chen"
        assert thin.aliases == ("emp-17",)
        assert thin.type == "person/employee"
        assert thin.thin is True
        assert store.records.lookup(["emp-17"], edges=0)["emp-17"] == [thin]
        assert by_name(store, "sara chen", limit=1) == ["Sarah Chen"]
        assert edges_at(store, "sarah-chen") == {("acme", "employs", "emp-17")}
        store.write(_gone("emp-17"))
        assert store.records.lookup(["sarah-chen", "emp-17"]) == {"sarah-chen": [], "emp-17": []}

    def test_a_real_entity_of_that_name_takes_its_place_its_label_and_its_edges(
        self, store: Store
    ) -> None:
        put(store, _employs("emp-17", "Sarah Chen", "person/employee"))
        (id,) = put(
            store, Entity(name="Sarah Chen", type="person", summary="Leads the data team.")
        ).ids
        found = the_entity(store, "emp-17")
        assert found.id == id
        assert found.thin is False
        assert found.type == "person"
        assert found.aliases == ("emp-17",)
        assert edges_at(store, "sarah-chen") == {("acme", "employs", "emp-17")}

    def test_of_two_thin_entities_of_one_name_neither_is_taken_for_a_real_one(
        self, store: Store
    ) -> None:
        put(store, _employs("emp-1", "J. Smith"), _employs("emp-2", "J. Smith"))
        put(store, Entity(name="J. Smith", type="person"))
        found = lookup(store, "j.-smith")
        assert sorted(getattr(record, "aliases", ()) for record in found) == [
            (),
            ("emp-1",),
            ("emp-2",),
        ]

    def test_a_thin_entity_of_another_type_stays_beside_a_real_one_of_its_name(
        self, store: Store
    ) -> None:
        put(store, _employs("site-4", "Jordan", "place"))
        put(store, Entity(name="Jordan", type="person"))
        assert len(lookup(store, "jordan")) == 2

    def test_a_real_entity_of_the_label_itself_keeps_the_name_that_was_shown(
        self, store: Store
    ) -> None:
        put(store, _employs("emp-17", "Sarah Chen"))
        put(store, Entity(name="EMP-17", type="person"))
        (found,) = lookup(store, "sarah-chen")
        assert (found.name, getattr(found, "aliases", ())) == ("EMP-17", ("Sarah Chen",))
        put(store, _employs("emp-18", "Ann Lee"))
        put(store, Resource(name="emp-18", content="about her"))
        assert names(lookup(store, "emp-18")) == ["emp-18"]
        assert lookup(store, "ann-lee") == []

    def test_a_name_that_thin_entities_only_show_is_a_label_of_its_own_once_an_edge_has_it(
        self, store: Store
    ) -> None:
        # in either order of writing
        one_way = [_employs("emp-1", "J. Smith"), relation("Acme", "sues", "J. Smith")]
        for edges in (one_way, one_way[::-1]):
            put(store, *edges)
            found = lookup(store, "j.-smith")
            assert sorted(getattr(record, "aliases", ()) for record in found) == [(), ("emp-1",)]
            store.write(_gone("emp-1"))
            (left,) = lookup(store, "j.-smith")
            assert getattr(left, "aliases", None) == ()
            store.write(_gone("j.-smith", "sues"))
            assert store.admin.stats().records["entities"] == 0
            assert store.admin.check() == []

    def test_deleting_what_a_thin_entity_only_shows_takes_the_edges_of_that_label(
        self, store: Store
    ) -> None:
        put(
            store,
            Entity(id="real", name="Sarah Chen", type="place"),
            _employs("emp-17", "Sarah Chen", "person"),
        )
        put(store, relation("Sarah Chen", "secret", "Vault"))
        store.delete(["real"])
        assert edges_at(store, "sarah-chen") == {("acme", "employs", "emp-17")}
        assert lookup(store, "vault") == []


def _employs(label: str, name: str, type: str = "") -> Edge:
    return relation(
        "Acme", "employs", label, properties={"dst_name": name, "dst_entity_type": type}
    )


def _gone(label: str, rel_type: str = "employs") -> Batch:
    return Batch(deleted_edges=(("acme", rel_type, label),))


class Past(Opened):
    """What entities were."""

    def test_an_entity_is_found_as_it_was_at_any_time(self, store: Store) -> None:
        steps = [
            Entity(
                id="e",
                name="Sarah Chen",
                type="person",
                properties={"age": 40, "team": "data"},
                created_at=T0,
            ),
            Entity(id="e", name="Sarah Chen", type="person", properties={"age": 41, "dog": None}),
            Entity(
                id="e",
                name="Sarah Miller",
                type="person",
                aliases=("S. M.",),
                summary="Leads.",
                properties={},
            ),
            Entity(id="e", name="Sarah Miller", type="boss", properties={"age": True}),
        ]
        times = []
        for step in steps:
            put(store, step)
            times.append(datetime.now(UTC))
        now = stored(store, "e", Entity)
        for step, at in zip(steps, times, strict=True):
            was = as_of.known_at(store, now, at)
            assert isinstance(was, Entity)
            assert _shown(was) == _shown(step)
            for key in ("sarah-chen", "sarah-miller", "s.-m."):
                found = as_of.lookup_at(store, [key], at)[key]
                step_keys = {labels.key(name) for name in (step.name, *step.aliases)}
                assert bool(found) == (key in step_keys)
                shown = [_shown(entity) for entity in found if isinstance(entity, Entity)]
                assert shown == [_shown(step)] * len(found)
        assert as_of.known_at(store, now, T0 + DAY) is not None
        assert as_of.known_at(store, now, T0 - DAY) is None
        changed = [step["changed"] for step in as_of.list_changes(store, now)]
        assert changed[1]["name"] == {"from": "Sarah Chen", "to": "Sarah Miller"}
        assert changed[2]["properties"] == {
            "age": {"from": 40, "to": 41},
            "team": {"from": "data", "to": None},
            "dog": {"from": None, "to": None},
        }

    def test_writing_what_is_there_already_is_no_change(self, store: Store) -> None:
        for _ in range(3):
            put(
                store,
                Entity(id="e", name="A", properties={"n": 1, "deep": {"b": 1, "a": [1, 2.5]}}),
            )
        stored(store, "e", Entity)
        assert list(as_of.changes(store, "e")) == []

    def test_what_an_entity_was_goes_with_it(self, store: Store) -> None:
        # "e/" begins like the keys under which the changes of "e" are stored
        put(store, Entity(id="e", name="A", summary="secret one"), Entity(id="e/", name="B"))
        put(
            store,
            Entity(id="e", name="C", summary="secret two"),
            Entity(id="e/", name="B", summary="x"),
        )
        assert len(list(as_of.changes(store, "e"))) == len(list(as_of.changes(store, "e/"))) == 1
        store.delete(["e"])
        kinds = store.admin.stats().entries
        assert kinds.get(changes.CHANGE) == 1
        assert changes.NAME not in kinds
        assert as_of.lookup_at(store, ["a"], datetime.now(UTC)) == {"a": []}

    def test_of_very_many_changes_the_newest_are_kept_and_the_others_said_to_be_gone(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        times = []
        # fewer than the number of changes below
        monkeypatch.setattr(changes, "KEPT", 3)
        for n in range(6):
            put(store, Entity(id="e", name="A", properties={"n": n}))
            times.append(datetime.now(UTC))
        now = stored(store, "e", Entity)
        kept = [as_of.known_at(store, now, at) for at in times[3:]]
        assert [one.properties["n"] for one in kept if isinstance(one, Entity)] == [3, 4, 5]
        with pytest.raises(NotFoundError, match="not kept"):
            as_of.known_at(store, now, times[1])

    def test_a_resource_is_there_once_it_was_written(
        self, store: Store, schema: RecordSchema
    ) -> None:
        put(store, schema.make("r", "text", created_at=T0))
        assert names(as_of.lookup_at(store, ["r"], T0)["r"]) == ["r"]
        assert as_of.lookup_at(store, ["r"], T0 - DAY)["r"] == []

    def test_a_record_of_any_schema_is_as_it_was(self, store: Store, schema: RecordSchema) -> None:
        says = ("it is open", "it is shut", "it is gone")
        times = []
        for number, text in enumerate(says):
            put(store, schema.make("r", text, id="r", values={"n": number, f"v{number}": [1.5]}))
            times.append(datetime.now(UTC))
        now = store.records.get(None, "r")
        assert now is not None
        for number, (text, at) in enumerate(zip(says, times, strict=True)):
            (was,) = as_of.lookup_at(store, ["r"], at)["r"]
            assert getattr(was, schema.text) == text
            assert getattr(was, schema.free) == {"n": number, f"v{number}": [1.5]}
            assert was == as_of.known_at(store, now, at)
        steps = [step["changed"][schema.text] for step in as_of.list_changes(store, now)]
        assert steps == [
            {"from": "it is shut", "to": "it is gone"},
            {"from": "it is open", "to": "it is shut"},
        ]
        store.delete(["r"])
        assert changes.CHANGE not in store.admin.stats().entries

    def test_a_former_text_goes_with_what_it_was_made_of(self, store: Store) -> None:
        put(store, Resource(id="a", name="a", content="a"), Resource(id="b", name="b", content="b"))
        times = []
        for text, parent in (("of a", "a"), ("of b", "b"), ("of b again", "b")):
            put(store, Resource(id="r", name="r", content=text, parents=(parent,)))
            times.append(datetime.now(UTC))
        store.delete(["a"])
        now = stored(store, "r", Resource)
        with pytest.raises(NotFoundError, match="is not kept"):
            as_of.known_at(store, now, times[0])
        (was,) = as_of.lookup_at(store, ["r"], times[1])["r"]
        assert getattr(was, "content", "") == "of b"
        # a number is given to no two changes, so that one which went is missed
        put(store, Resource(id="r", name="r", content="of none", parents=("b",)))
        (was,) = as_of.lookup_at(store, ["r"], times[1])["r"]
        assert getattr(was, "content", "") == "of b"

    def test_one_and_true_are_two_values(self, store: Store) -> None:
        put(store, Entity(id="e", name="A", properties={"n": 1}))
        put(store, Entity(id="e", name="A", properties={"n": True}))
        found = stored(store, "e", Entity)
        assert found.properties["n"] is True


def _shown(entity: Entity) -> tuple[object, ...]:
    return entity.name, entity.type, entity.aliases, entity.summary, entity.properties
