"""The store contract as tests: what is called otherwise, and what only edges name."""

from __future__ import annotations

from ...model import Edge, Entity, Resource
from ...store.batch import Batch
from ...store.contract import Store
from ...store.specs import EdgeSpec, NameSpec
from .opening import Opened, names, put

__all__ = ["Naming"]


class Naming(Opened):
    """What is called otherwise, and what only edges name."""

    # -- another name ------------------------------------------------------------------------------

    def test_edges_follow_what_is_called_otherwise_in_both_directions(self, store: Store) -> None:
        put(
            store,
            Entity(id="e", name="Sarah Chen", type="person"),
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
        put(store, Entity(id="e", name="Sarah Miller", type="person"))
        assert _edges(store, "sarah-miller") == {
            ("sarah-miller", "leads", "data"),
            ("bob", "knows", "sarah-miller"),
            ("sarah-miller", "is", "sarah-miller"),
        }
        leads = next(edge for edge in store.graph.stored_edges(["data"], direction="in"))
        assert (leads.weight, leads.properties) == (0.9, {"since": 2020})
        assert store.records.lookup(["sarah-chen"])["sarah-chen"] == []
        assert names(store.records.lookup(["sarah-miller"])["sarah-miller"]) == ["Sarah Miller"]
        assert store.graph.count(["sarah-miller"], direction="both") == 3
        assert store.admin.check() == []

    def test_a_resource_takes_its_edges_along_too(self, store: Store) -> None:
        put(
            store,
            Resource(id="r", name="Draft", content="x"),
            Edge(src="Draft", rel_type="about", dst="Tea"),
        )
        put(store, Resource(id="r", name="Final", content="x"))
        assert _edges(store, "final") == {("final", "about", "tea")}
        assert store.records.lookup(["draft"])["draft"] == []
        assert store.admin.check() == []

    def test_edges_of_a_label_that_another_record_is_called_by_stay(self, store: Store) -> None:
        put(
            store,
            Entity(id="p", name="Jordan", type="person"),
            Entity(id="c", name="Jordan", type="place"),
            Edge(src="Jordan", rel_type="r", dst="x"),
        )
        put(store, Entity(id="p", name="Mike", aliases=("Jordan",), type="person"))
        assert _edges(store, "jordan") == {("jordan", "r", "x")}
        assert _edges(store, "mike") == {("jordan", "r", "x")}, "by its alias"
        assert store.admin.check() == []

    def test_two_that_change_names_take_their_edges_along(self, store: Store) -> None:
        put(
            store,
            Entity(id="a", name="One"),
            Entity(id="b", name="Two"),
            Edge(src="One", rel_type="r", dst="x"),
            Edge(src="Two", rel_type="r", dst="y"),
            Edge(src="One", rel_type="before", dst="Two"),
        )
        put(store, Entity(id="a", name="Two"), Entity(id="b", name="One"))
        assert _edges(store, "one") == {("one", "r", "y"), ("two", "before", "one")}
        assert _edges(store, "two") == {("two", "r", "x"), ("two", "before", "one")}
        assert store.admin.check() == []

    def test_what_is_new_under_an_old_name_has_none_of_its_edges(self, store: Store) -> None:
        put(store, Entity(id="a", name="One"), Edge(src="One", rel_type="r", dst="x"))
        put(store, Entity(id="a", name="Two"), Entity(id="b", name="One"))
        assert (_edges(store, "one"), _edges(store, "two")) == (set(), {("two", "r", "x")})
        assert store.admin.check() == []

    # -- thin entities -----------------------------------------------------------------------------

    def test_a_thin_entity_is_found_by_its_label_and_by_the_name_it_shows(
        self, store: Store
    ) -> None:
        put(store, _employs("emp-17", "Sarah Chen", "person/employee"))
        (thin,) = store.records.lookup(["sarah-chen"])["sarah-chen"]
        assert isinstance(thin, Entity)
        assert (thin.name, thin.aliases, thin.type, thin.thin) == (
            "Sarah Chen",
            ("emp-17",),
            "person/employee",
            True,
        )
        assert store.records.lookup(["emp-17"], edges=0)["emp-17"] == [thin]
        assert names(store.search.names("sara chen", NameSpec(threshold=0.5, limit=1))) == [
            "Sarah Chen"
        ]
        assert _edges(store, "sarah-chen") == {("acme", "employs", "emp-17")}
        store.write(_gone("emp-17"))
        assert store.records.lookup(["sarah-chen", "emp-17"]) == {"sarah-chen": [], "emp-17": []}
        assert store.admin.check() == []

    def test_a_real_entity_of_that_name_takes_its_place_its_label_and_its_edges(
        self, store: Store
    ) -> None:
        put(store, _employs("emp-17", "Sarah Chen", "person/employee"))
        (id,) = put(
            store, Entity(name="Sarah Chen", type="person", summary="Leads the data team.")
        ).ids
        (found,) = store.records.lookup(["emp-17"])["emp-17"]
        assert isinstance(found, Entity)
        assert (found.id, found.thin, found.type, found.aliases) == (
            id,
            False,
            "person",
            ("emp-17",),
        )
        assert _edges(store, "sarah-chen") == {("acme", "employs", "emp-17")}
        assert store.admin.check() == []

    def test_of_two_thin_entities_of_one_name_neither_is_taken_for_a_real_one(
        self, store: Store
    ) -> None:
        put(store, _employs("emp-1", "J. Smith"), _employs("emp-2", "J. Smith"))
        put(store, Entity(name="J. Smith", type="person"))
        found = store.records.lookup(["j.-smith"])["j.-smith"]
        assert sorted(getattr(record, "aliases", ()) for record in found) == [
            (),
            ("emp-1",),
            ("emp-2",),
        ]
        assert store.admin.check() == []

    def test_a_thin_entity_of_another_type_stays_beside_a_real_one_of_its_name(
        self, store: Store
    ) -> None:
        put(store, _employs("site-4", "Jordan", "place"))
        put(store, Entity(name="Jordan", type="person"))
        assert len(store.records.lookup(["jordan"])["jordan"]) == 2
        assert store.admin.check() == []

    def test_a_real_entity_of_the_label_itself_keeps_the_name_that_was_shown(
        self, store: Store
    ) -> None:
        put(store, _employs("emp-17", "Sarah Chen"))
        put(store, Entity(name="EMP-17", type="person"))
        (found,) = store.records.lookup(["sarah-chen"])["sarah-chen"]
        assert (found.name, getattr(found, "aliases", ())) == ("EMP-17", ("Sarah Chen",))
        put(store, _employs("emp-18", "Ann Lee"))
        put(store, Resource(name="emp-18", content="about her"))
        assert (
            names(store.records.lookup(["emp-18"])["emp-18"]),
            store.records.lookup(["ann-lee"])["ann-lee"],
        ) == (["emp-18"], [])
        assert store.admin.check() == []

    def test_a_name_that_thin_entities_only_show_is_a_label_of_its_own_once_an_edge_has_it(
        self, store: Store
    ) -> None:
        # in either order of writing
        one_way = [_employs("emp-1", "J. Smith"), Edge(src="Acme", rel_type="sues", dst="J. Smith")]
        for edges in (one_way, one_way[::-1]):
            put(store, *edges)
            found = store.records.lookup(["j.-smith"])["j.-smith"]
            assert sorted(getattr(record, "aliases", ()) for record in found) == [(), ("emp-1",)]
            store.write(_gone("emp-1"))
            (left,) = store.records.lookup(["j.-smith"])["j.-smith"]
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
        put(store, Edge(src="Sarah Chen", rel_type="secret", dst="Vault"))
        store.delete(["real"])
        assert _edges(store, "sarah-chen") == {("acme", "employs", "emp-17")}
        assert store.records.lookup(["vault"])["vault"] == []
        assert store.admin.check() == []


def _employs(label: str, name: str, type: str = "") -> Edge:
    return Edge(
        src="Acme",
        rel_type="employs",
        dst=label,
        properties={"dst_name": name, "dst_entity_type": type},
    )


def _gone(label: str, rel_type: str = "employs") -> Batch:
    return Batch(deleted_edges=(("acme", rel_type, label),))


def _edges(store: Store, key: str) -> set[tuple[str, str, str]]:
    found = store.graph.edges(EdgeSpec([key], direction="both"))
    return {(edge.src, edge.rel_type, edge.dst) for edge in found}
