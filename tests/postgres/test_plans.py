"""Each kind of question is answered from its index, and no table is ever read from end to end.

What is looked at are the counts that PostgreSQL keeps of a transaction's scans: of the statements
that the store really issues, those within functions too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import numpy as np
import pytest

from postgres_server import connect
from remloom import Edge, Entity, Moment, Resource, labels
from remloom.kv import Entry
from remloom.predicates import Eq, Gte, Query
from remloom.store.batch import TokenVectorBatch
from remloom.store.postgres import PostgresStore, search
from remloom.store.postgres.indexes import trigram_index
from remloom.store.postgres.write.batch_writer import write as transact
from remloom.store.rules import validation
from remloom.store.specs import ChunkRange, EdgeOrder, EdgeSpec, NameSpec, SearchSpec, WalkSpec
from remloom.testing.conformance import put, selected

pytestmark = pytest.mark.usefixtures("hnsw")

T0 = datetime(2025, 1, 15, 10, tzinfo=UTC)
LATE = datetime(2999, 1, 1, tzinfo=UTC)
ORDER = EdgeOrder("created_at", "desc")
VECTOR = [1.0] * 16

Ask = Callable[[PostgresStore], Any]
ASKED: dict[str, tuple[Ask, set[str]]] = {
    "LOOKUP": (lambda s: s.records.lookup(["name-3-757"]), {"names_pkey", "records_pkey", "edges_out"}),
    "get": (lambda s: s.records.get(None, "r7"), {"records_pkey"}),
    "FUZZY": (
        lambda s: s.search.names("nmae 3 757", NameSpec(threshold=0.3, limit=5)),
        {"name_runs_pkey", "name_pages_pkey", "names_number", "names_pkey", "records_pkey"},
    ),
    "FUZZY of a type": (
        lambda s: s.search.names("nmae 3 757", NameSpec(type="thing", threshold=0.3, limit=5)),
        {"name_runs_pkey", "name_pages_pkey", "names_number", "records_pkey"},
    ),
    "SEARCH": (
        lambda s: s.search.vector(VECTOR, SearchSpec(schema="resources", limit=9)),
        {"vectors_hnsw_16", "vectors_tail", "records_pkey"},
    ),
    "SEARCH among few": (
        lambda s: s.search.vector(VECTOR, SearchSpec(schema="resources", where=Eq("category", "c7"), limit=3)),
        {"records_type", "vectors_pkey", "records_pkey"},
    ),
    "text": (
        lambda s: s.search.text("word7 text", SearchSpec(limit=5)),
        {"runs_pkey", "postings_pkey", "records_doc"},
    ),
    "TRAVERSE": (
        lambda s: s.graph.walk(WalkSpec(["name-3-757"], direction="out", depth=3, breadth=9, order=ORDER, limit=9)),
        {"names_pkey", "edges_out", "degrees_pkey"},
    ),
    "TRAVERSE inwards": (
        lambda s: s.graph.walk(WalkSpec(["n1"], rel_types=["r"], direction="in", depth=2, breadth=9, order=ORDER, limit=9)),
        {"rels_pkey", "edges_in", "degrees_pkey"},
    ),
    "TRAVERSE both ways": (
        lambda s: s.graph.walk(WalkSpec(["n1"], direction="both", depth=2, breadth=9, order=ORDER)),
        {"edges_out", "edges_in", "degrees_pkey"},
    ),
    "TRAVERSE in the past": (
        lambda s: s.graph.walk(WalkSpec(["n1"], direction="in", depth=2, breadth=9, order=ORDER, as_of=T0)),
        {"edges_in"},
    ),
    "edges": (lambda s: s.graph.edges(EdgeSpec(["n1"], direction="in", limit=5)), {"names_kin", "edges_in"}),
    "keys of edges": (
        lambda s: s.graph.edge_keys(EdgeSpec(["n1"], direction="both", limit=5)),
        {"edges_out", "edges_in"},
    ),
    "degrees": (lambda s: s.graph.count(["n1"], direction="in"), {"degrees_pkey"}),
    "moments": (lambda s: s.records.moments_between(T0, T0 + timedelta(hours=2)), {"records_starts"}),
    "what was remembered since": (lambda s: s.records.query("resources", Query(Gte("created_at", LATE))), {"records_created"}),
    "what happened since": (lambda s: s.records.query("resources", Query(Gte("starts_at", LATE))), {"records_starts"}),
    "by uri": (lambda s: s.records.query("resources", Query().filter(Eq("uri", "u7"))), {"records_uri"}),
    "the last chunks": (lambda s: s.records.chunks("u7", ChunkRange(limit=3, last=True)), {"records_uri"}),
    "turns by message": (lambda s: s.records.messages("u7", ["m7"]), {"records_message"}),
    "remembered from a source": (lambda s: [s.records.originating("u7")], {"records_origin"}),
    "moments of a record": (lambda s: s.records.referring(["r1"]), {"parents_parent", "records_pkey"}),
    "by category": (lambda s: s.records.query("resources", Query().filter(Eq("category", "c7"))), {"records_type"}),
    "by an indexed field": (lambda s: s.records.query("entities", Query().filter(Eq("properties.team", "t7"))), {"user_"}),
    "SQL": (lambda s: selected(s, "SELECT name FROM moments WHERE id = 'm1'"), {"records_pkey"}),
    "SQL by name": (
        lambda s: selected(s, "SELECT id FROM resources WHERE name = 'r7'"),
        {"names_pkey", "records_pkey"},
    ),
    "SQL by uri": (lambda s: selected(s, "SELECT id FROM resources WHERE uri IN ('u7', 'u8')"), {"records_uri"}),
    "SQL by time": (
        lambda s: selected(s, "SELECT id FROM moments WHERE starts_at > '2025-01-16' ORDER BY starts_at LIMIT 3"),
        {"records_starts"},
    ),
    "SQL by an indexed field": (
        lambda s: selected(s, "SELECT id FROM entities WHERE properties->>'team' = 't7'"),
        {"user_"},
    ),
    "by name": (lambda s: s.records.query("resources", Query().filter(Eq("name", "r7"))), {"names_pkey", "records_pkey"}),
    "completion": (lambda s: s.records.complete("name-3", 5), {"names_pkey", "records_pkey"}),
    "provenance": (lambda s: s.records.children("r1"), {"parents_parent", "records_pkey"}),
    "queue": (lambda s: s.vectors.pending(5), {"pending_next", "records_pkey"}),
    "vectors": (lambda s: s.vectors.get("r1"), {"vectors_pkey"}),
    "token vectors": (lambda s: s.token_vectors.of(["r1"], model="tokens"), {"token_vectors_pkey"}),
    "queue of token vectors": (
        lambda s: s.token_vectors.pending("tokens", 3),
        {"records_doc", "token_vectors_pkey"},
    ),
    "entries": (lambda s: s.kv.list("usage"), {"journal_pkey"}),
}  # fmt: skip


@pytest.fixture(scope="module")
def few() -> Iterator[None]:
    """Few names wait for the index."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trigram_index, "TAIL", 50)
        yield


@pytest.fixture(scope="module")
def store(postgres: str, few: None) -> Iterator[PostgresStore]:
    """A tenant with a little of everything, a larger one beside it, and statistics that know both."""
    rng = np.random.default_rng(1)
    store, other = (PostgresStore(postgres, f"t{uuid4().hex}", tail=100) for _ in range(2))
    put(other, *(Entity(name=f"Name {i} {i * 7919 % 1000}") for i in range(6_000)))
    put(store, *(Entity(name=f"Name {i} {i * 7919 % 1000}", type="thing", summary=f"word{i}",
                        properties={"team": f"t{i}"}) for i in range(300)))  # fmt: skip
    put(
        store,
        *(
            Edge(src=f"Name {i} {i * 7919 % 1000}", rel_type="r", dst=f"n{i % 9}")
            for i in range(300)
        ),
    )
    put(store, *(Resource(id=f"r{i}", name=f"r{i}", content=f"text {i}", uri=f"u{i}", category=f"c{i % 50}",
                          metadata={"message_ids": [f"m{i}"]},
                          embedding=rng.normal(size=16)) for i in range(200)))  # fmt: skip
    put(store, *(Moment(id=f"m{i}", name=f"m{i}", starts_at=T0 + timedelta(hours=i), resource_refs=(f"r{i}",))
                 for i in range(50)))  # fmt: skip
    put(
        store,
        Moment(name="long", starts_at=T0 - timedelta(days=90), ends_at=T0 + timedelta(days=90)),
    )
    put(
        store,
        *(Resource(name=f"insight {i}", content="derived", parents=(f"r{i}",)) for i in range(200)),
    )
    put(store, Resource(name="late", content="not yet", starts_at=LATE, created_at=LATE))
    store.write(
        validation.build(
            [Resource(name="waits", content="to be embedded")], tenant="t", model="given"
        )
    )
    vectors = {f"r{i}": b"\1" * 16 for i in range(100)}
    store.token_vectors.put(TokenVectorBatch(vectors, model="tokens", dims=4))
    store.sql.create_index("entities", "properties.team")
    store.kv.put([Entry("usage", "2025", b"{}")])
    store.admin.optimize()
    with connect(postgres) as connection:
        connection.execute("VACUUM ANALYZE")
    yield store
    store.close()
    other.close()


@pytest.mark.parametrize("kind", ASKED)
def test_a_question_is_answered_from_its_indexes(
    store: PostgresStore, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "_FEW", 50)
    ask, indexes = ASKED[kind]
    with store._server.read() as cursor:
        before = _counts(cursor)
        assert ask(store)
        scanned = _scanned(before, _counts(cursor))
    assert {
        name for name in indexes if not any(index.startswith(name) for index in scanned)
    } == set()
    assert "a table from end to end" not in scanned


def test_a_write_goes_by_its_indexes(store: PostgresStore) -> None:
    records = [
        Entity(name="Name 3 757", summary="new"),
        Resource(id="r7", content="other"),
        Entity(name="fresh"),
    ]
    given = validation.build(
        [*records, Edge(src="fresh", rel_type="r", dst="n1")], tenant="t", model=""
    )

    def write(writing: Any) -> set[str]:
        before = _counts(writing.cursor)
        writing.apply(given)
        return _scanned(before, _counts(writing.cursor))

    assert "a table from end to end" not in transact(store._server, write)


def test_records_of_several_keys_are_looked_for_by_index(postgres: str) -> None:
    store = PostgresStore(postgres, f"t{uuid4().hex}")
    put(store, *(Entity(name=f"n{i}", aliases=(f"m{i}",)) for i in range(50)))
    put(
        store,
        *(Edge(src=f"m{i}", rel_type="r", dst=f"n{j}") for i in range(50) for j in (i + 1, i + 2)),
    )
    with store._server.read() as cursor:
        before = _counts(cursor)
        walk = store.graph.walk(
            WalkSpec(["n0"], direction="out", depth=3, breadth=1, order=ORDER, limit=9)
        )
        (record,) = store.records.lookup(["n1"])["n1"]
        scanned = _scanned(before, _counts(cursor))
    assert ([step.key for step in walk.steps], walk.unfollowed) == (["n6", "n4", "n2"], 3)
    assert [edge.dst for edge in record.graph_paths] == ["n3", "n2"]
    assert {"names_kin", "names_kin_id", "edges_out", "degrees_pkey"} <= scanned
    assert "a table from end to end" not in scanned
    store.close()


@pytest.mark.parametrize("statistics", [False, True], ids=["new", "known"])
def test_the_first_words_of_names_are_found_with_a_probe_each(
    postgres: str, statistics: bool
) -> None:
    store = PostgresStore(postgres, f"t{uuid4().hex}")
    put(store, *(Entity(name=f"{word} {i}") for word in ("ant", "doc", "zoo") for i in range(500)))
    if statistics:
        with connect(postgres) as connection:
            connection.execute("VACUUM ANALYZE")
    with store._server.read() as cursor:
        before = [_read(cursor, index) for index in ("names_pkey", "names_id")]
        assert store.records.first_words(["a", "an", "ant", "be", "doc", "docs", "dog", "you"]) == {
            "ant",
            "doc",
        }
        after = [_read(cursor, index) for index in ("names_pkey", "names_id")]
    assert sum(after) - sum(before) <= 8
    store.close()


def test_the_first_edges_of_a_hub_are_read_in_their_order(store: PostgresStore) -> None:
    ends = [(f"n{i % 9}", f"Name {i} {i * 7919 % 1000}") for i in range(300)]
    # equal, and few first
    put(store, *(Edge(src=src, rel_type="s", dst=dst, created_at=T0) for src, dst in ends))
    with store._server.read() as cursor:
        before = _read(cursor, "edges_out")
        assert [
            edge.dst for edge in store.graph.edges(EdgeSpec(["n1"], direction="out", limit=3))
        ] == sorted(
            dst for src, dst in ((src, labels.key(dst)) for src, dst in ends) if src == "n1"
        )[:3]
        assert (
            store.graph.walk(
                WalkSpec(["n1"], direction="out", depth=1, breadth=3, order=ORDER)
            ).reached
            == 3
        )
        assert _read(cursor, "edges_out") - before <= 10


def test_a_tenant_that_the_statistics_do_not_know_goes_by_the_same_indexes(
    store: PostgresStore, postgres: str
) -> None:
    new = PostgresStore(postgres, f"t{uuid4().hex}")
    for start in (0, 20):
        edges = [Edge(src=f"a{i}", rel_type="r", dst=f"b{i}") for i in range(start, start + 20)]
        given = validation.build(edges, tenant="t", model="")

        def write(writing: Any, given: Any = given) -> set[str]:
            before = _counts(writing.cursor)
            writing.apply(given)
            return _scanned(before, _counts(writing.cursor))

        scanned = transact(new._server, write)
        assert "names_pkey" in scanned
        assert "names_id" not in scanned  # which finds a key among all of the tenant
    new.close()


def test_a_database_that_was_never_analyzed_goes_by_the_same_indexes(fresh: str) -> None:
    store = PostgresStore(fresh, "new")
    put(store, *(Entity(name=f"name {i}") for i in range(400)))
    put(
        store,
        *(
            Resource(id=f"r{i}", name=f"r{i}", content="text", embedding=[1.0, i])
            for i in range(100)
        ),
    )
    put(store, *(Edge(src=f"name {i}", rel_type="r", dst=f"name {i + 1}") for i in range(300)))
    with store._server.read() as cursor:
        before = _counts(cursor)
        assert store.records.lookup(["name-7", "name-9"])["name-7"]
        assert store.search.vector([1.0, 3.0], SearchSpec(schema="resources", limit=5))
        assert (
            store.graph.walk(
                WalkSpec(["name-1"], direction="out", depth=3, breadth=9, order=ORDER)
            ).reached
            == 3
        )
        scanned = _scanned(before, _counts(cursor))
    assert {"names_pkey", "records_pkey", "edges_out", "degrees_pkey"} <= scanned
    # all of the tenant
    assert not {"names_id", "names_number", "records_seq", "records_type"} & scanned
    store.close()


def _counts(cursor: Any) -> dict[str, int]:
    """How often each index and table was scanned by this connection lately, this transaction
    included."""
    sql = (
        "SELECT CASE relkind WHEN 'r' THEN 'a table from end to end' ELSE relname END,"
        " sum(pg_stat_get_xact_numscans(oid)) FROM pg_class"
        " WHERE relnamespace = 'remloom'::regnamespace AND relkind IN ('i', 'r') GROUP BY 1"
    )
    return dict(cursor.execute(sql).fetchall())


def _read(cursor: Any, index: str) -> int:
    """How many entries of an index were read, counted as above."""
    sql = "SELECT pg_stat_get_xact_tuples_returned(oid) FROM pg_class WHERE relname = %s"
    return int(cursor.execute(sql, (index,)).fetchone()[0])


def _scanned(before: dict[str, int], after: dict[str, int]) -> set[str]:
    return {name for name, count in after.items() if count > before[name]}
