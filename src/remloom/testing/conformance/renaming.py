"""The store contract as tests: records that get another name."""

from __future__ import annotations

from ...model import Edge, Moment, Resource
from ...store.contract import Store
from .opening import Opened, edge_between, edges_at, lookup, names, put
from .schemas import RecordSchema


class Renaming(Opened):
    """Records that get another name."""

    def test_edges_follow_what_is_called_otherwise_in_both_directions(
        self, store: Store, schema: RecordSchema
    ) -> None:
        put(
            store,
            schema.make(id="e", name="Sarah Chen"),
            Edge(
                src="Sarah Chen",
                rel_type="leads",
                dst="Data",
                weight=0.5,
                properties={"since": 2020},
            ),
            Edge(src="Bob", rel_type="knows", dst="sarah_chen"),
            Edge(src="Sarah Chen", rel_type="is", dst="Sarah Chen"),
            Edge(src="Sarah Miller", rel_type="leads", dst="Data", weight=0.9),
        )
        # the new name has an edge of the same type and end already: the two become one
        put(store, schema.make(id="e", name="Sarah Miller"))
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
        assert store.admin.check() == []

    def test_a_resource_takes_its_edges_along_too(self, store: Store) -> None:
        put(
            store,
            Resource(id="r", name="Draft", content="x"),
            Edge(src="Draft", rel_type="about", dst="Tea"),
        )
        put(store, Resource(id="r", name="Final", content="x"))
        assert edges_at(store, "final") == {("final", "about", "tea")}
        assert lookup(store, "draft") == []
        assert store.admin.check() == []

    def test_edges_of_a_label_that_another_record_is_called_by_stay(
        self, store: Store, named: RecordSchema
    ) -> None:
        put(
            store,
            named.make(id="p", name="Jordan"),
            Moment(id="c", name="Jordan"),
            edge_between("Jordan", "x"),
        )
        put(store, named.make(id="p", name="Mike", aliases=("Jordan",)))
        assert edges_at(store, "jordan") == {("jordan", "r", "x")}
        assert edges_at(store, "mike") == {("jordan", "r", "x")}, "by its alias"
        assert store.admin.check() == []

    def test_two_that_change_names_take_their_edges_along(
        self, store: Store, schema: RecordSchema
    ) -> None:
        put(
            store,
            schema.make(id="a", name="One"),
            schema.make(id="b", name="Two"),
            edge_between("One", "x"),
            edge_between("Two", "y"),
            Edge(src="One", rel_type="before", dst="Two"),
        )
        put(store, schema.make(id="a", name="Two"), schema.make(id="b", name="One"))
        assert edges_at(store, "one") == {("one", "r", "y"), ("two", "before", "one")}
        assert edges_at(store, "two") == {("two", "r", "x"), ("two", "before", "one")}
        assert store.admin.check() == []

    def test_what_is_new_under_an_old_name_has_none_of_its_edges(
        self, store: Store, schema: RecordSchema
    ) -> None:
        put(store, schema.make(id="a", name="One"), edge_between("One", "x"))
        put(store, schema.make(id="a", name="Two"), schema.make(id="b", name="One"))
        assert (edges_at(store, "one"), edges_at(store, "two")) == (set(), {("two", "r", "x")})
        assert store.admin.check() == []
