"""The store contract as tests: where records come from, and what goes with them."""

from __future__ import annotations

from ...model import Edge, Moment, Resource
from ...store.contract import Store
from ...store.specs import EdgeSpec, NameSpec, SearchSpec
from .opening import Opened, edge_between, put
from .schemas import RecordSchema


class Deletion(Opened):
    """Where records come from, and what goes with them."""

    def test_parents_and_children_are_known(self, store: Store) -> None:
        (source,) = put(store, Resource(name="s", content="source")).ids
        (insight,) = put(
            store, Resource(name="i", content="insight", parents=(source,), generation=1)
        ).ids
        assert (store.records.parents(insight), store.records.children(source)) == (
            [source],
            [insight],
        )

    def test_deleting_takes_everything_of_a_record_and_what_was_derived_from_it(
        self, store: Store, schema: RecordSchema
    ) -> None:
        (source,) = put(store, schema.make(name="s", text="unique words", embedding=[1, 0])).ids
        (child,) = put(
            store, Resource(name="i", content="insight", parents=(source,), embedding=[0, 1])
        ).ids
        (moment,) = put(store, Moment(name="m", resource_refs=(source, "elsewhere"))).ids
        put(
            store,
            Edge(src="s", rel_type="mentions", dst="Only Here"),
            edge_between("i", "m"),
        )
        # so that the text index is loaded when the record goes
        store.search.text("unique", SearchSpec(limit=1))
        deletion = store.delete([source])
        assert set(deletion.ids) == {source, child}
        assert (deletion.derived, deletion.vectors, deletion.edges, deletion.remaining) == (
            1,
            2,
            2,
            (),
        )
        assert store.search.text("unique", SearchSpec(limit=5)) == []
        assert store.records.lookup(["s", "only-here"]) == {"s": [], "only-here": []}
        assert store.search.names("only here", NameSpec(threshold=0.5, limit=5)) == []
        assert store.search.vector([1, 0], SearchSpec(schema=schema.name, limit=5)) == []
        kept = store.records.get("moments", moment)
        assert isinstance(kept, Moment)
        assert kept.resource_refs == ("elsewhere",)
        assert store.admin.check() == []

    def test_a_moment_stays_when_the_one_it_lies_in_is_deleted(self, store: Store) -> None:
        (day,) = put(store, Moment(name="day")).ids
        (talk,) = put(store, Moment(name="talk", parent_moment=day)).ids
        assert store.delete([day]).ids == (day,)
        kept = store.records.get("moments", talk)
        assert isinstance(kept, Moment)
        assert kept.parent_moment == ""

    def test_a_key_another_record_has_keeps_its_edges(
        self, store: Store, schema: RecordSchema
    ) -> None:
        put(store, Moment(name="Alpha"), edge_between("Alpha", "x"))
        (doc,) = put(store, schema.make(name="Alpha", text="text")).ids
        store.delete([doc])
        assert len(store.graph.edges(EdgeSpec(["alpha"], direction="out"))) == 1

    def test_deleting_what_is_not_there_does_nothing(self, store: Store) -> None:
        assert store.delete(["nowhere"]).ids == ()
