"""The store contract as tests: thin entities, which stand for what only edges name."""

from __future__ import annotations

from ...model import Edge, Entity, Resource
from ...store.batch import Batch
from ...store.contract import Store
from ...store.specs import NameSpec
from .opening import Opened, edges_at, lookup, names, put


class ThinEntities(Opened):
    """What only edges name."""

    def test_a_thin_entity_is_found_by_its_label_and_by_the_name_it_shows(
        self, store: Store
    ) -> None:
        put(store, _employs("emp-17", "Sarah Chen", "person/employee"))
        (thin,) = lookup(store, "sarah-chen")
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
        assert edges_at(store, "sarah-chen") == {("acme", "employs", "emp-17")}
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
        (found,) = lookup(store, "emp-17")
        assert isinstance(found, Entity)
        assert (found.id, found.thin, found.type, found.aliases) == (
            id,
            False,
            "person",
            ("emp-17",),
        )
        assert edges_at(store, "sarah-chen") == {("acme", "employs", "emp-17")}
        assert store.admin.check() == []

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
        assert store.admin.check() == []

    def test_a_thin_entity_of_another_type_stays_beside_a_real_one_of_its_name(
        self, store: Store
    ) -> None:
        put(store, _employs("site-4", "Jordan", "place"))
        put(store, Entity(name="Jordan", type="person"))
        assert len(lookup(store, "jordan")) == 2
        assert store.admin.check() == []

    def test_a_real_entity_of_the_label_itself_keeps_the_name_that_was_shown(
        self, store: Store
    ) -> None:
        put(store, _employs("emp-17", "Sarah Chen"))
        put(store, Entity(name="EMP-17", type="person"))
        (found,) = lookup(store, "sarah-chen")
        assert (found.name, getattr(found, "aliases", ())) == ("EMP-17", ("Sarah Chen",))
        put(store, _employs("emp-18", "Ann Lee"))
        put(store, Resource(name="emp-18", content="about her"))
        assert (
            names(lookup(store, "emp-18")),
            lookup(store, "ann-lee"),
        ) == (["emp-18"], [])
        assert store.admin.check() == []

    def test_a_name_that_thin_entities_only_show_is_a_label_of_its_own_once_an_edge_has_it(
        self, store: Store
    ) -> None:
        # in either order of writing
        one_way = [_employs("emp-1", "J. Smith"), Edge(src="Acme", rel_type="sues", dst="J. Smith")]
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
        put(store, Edge(src="Sarah Chen", rel_type="secret", dst="Vault"))
        store.delete(["real"])
        assert edges_at(store, "sarah-chen") == {("acme", "employs", "emp-17")}
        assert lookup(store, "vault") == []
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
