"""The names and forms of the seed designs, as they stand there, on both stores."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from remloom import Edge, Entity, Memory, Resource
from remloom.errors import InvalidInputError, RemloomError, UnknownNameError
from remloom.predicates import Gt, Query

INLINE = {  # seed 5, "Example Edge"
    "dst": "tidb-migration-spec",
    "rel_type": "builds-on",
    "weight": 0.85,
    "properties": {
        "dst_name": "TiDB Migration Technical Specification",
        "dst_entity_type": "document/technical-spec",
        "confidence": 0.92,
    },
    "created_at": "2025-01-15T10:00:00Z",
}


@pytest.fixture(params=["sqlite", "postgres"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    home = str(tmp_path) if request.param == "sqlite" else request.getfixturevalue("postgres")
    with Memory.open(home, tenant=f"names-{uuid4().hex[:8]}", embedder="none") as memory:
        yield memory


def test_an_inline_edge_of_seed_5_is_written_as_an_edge(memory: Memory) -> None:
    memory.create_resource(
        Resource(name="Rollout", content="How we roll out.", graph_paths=[INLINE])
    )  # type: ignore[arg-type]
    (edge,) = memory.get_edges("Rollout")
    assert (edge.dst, edge.rel_type, edge.weight) == ("tidb-migration-spec", "builds-on", 0.85)
    assert edge.created_at == datetime(2025, 1, 15, 10, tzinfo=UTC)
    assert edge.properties["confidence"] == 0.92
    thin = memory.lookup("TiDB-Migration-Spec").records[0]
    assert (thin.name, thin.type) == (
        "TiDB Migration Technical Specification",
        "document/technical-spec",
    )


def test_a_path_of_seed_5_is_written_as_an_edge_and_shown_again(memory: Memory) -> None:
    path = "/resources/Rollout/references/Runbook"
    memory.create_resource(Resource(name="Rollout", content="How.", graph_paths=[path]))  # type: ignore[arg-type]
    assert memory.traverse("Rollout").edge_summary == [("rollout", "references", "runbook")]
    assert memory.admin.describe("Rollout").as_dict()["edges_out"][0]["paths"] == (path,)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"dst": "x"}, "rel_type"),
        ({"rel_type": "r"}, "dst"),
        ({"dst": "x", "rel_type": "r", "wieght": 1}, "weight"),
        ({"dst": "x", "rel_type": "r", "weight": 2}, "between 0 and 1"),
        ({"dst": "x", "rel_type": "r", "created_at": "yesterday"}, "created_at"),
        ({"dst": "x", "rel_type": "r", "created_at": "2025-01-15T10:00:00"}, "time zone"),
        ({"dst": "", "rel_type": "r"}, "empty"),
        ("no path", "slash"),
        (7, "not a int"),
    ],
)
def test_what_is_no_edge_says_why_and_writes_nothing(memory: Memory, given: Any, says: str) -> None:
    with pytest.raises(RemloomError, match=says):
        memory.create_resource(Resource(name="Rollout", content="How.", graph_paths=[given]))
    assert not memory.lookup("Rollout").records


def test_the_example_of_seed_2_runs_with_its_own_names(memory: Memory) -> None:
    entity_id = memory.create_entity(
        Entity(
            type="company", name="Acme Corp", properties={"industry": "Software", "founded": 2010}
        )
    )
    another_entity_id = memory.create_entity(Entity(type="company", name="Globex"))
    memory.create_edge(
        Edge(
            src=entity_id,
            dst=another_entity_id,
            edge_type="competes_with",
            properties={"market": "Enterprise SaaS"},
        )
    )
    related = memory.traverse(entity_id, edge_type="competes_with", max_depth=2)
    assert [node["name"] for node in related.nodes] == ["Acme Corp", "Globex"]
    assert memory.get_edges(entity_id)[0].rel_type == "competes_with"
    memory.create_index("company", "founded")
    assert [found.name for found in memory.query_entities(Query().filter(Gt("founded", 2000)))] == [
        "Acme Corp"
    ]


def test_two_names_for_one_type_must_agree(memory: Memory) -> None:
    with pytest.raises(InvalidInputError, match="one type"):
        memory.create_edge(Edge(src="a", dst="b", rel_type="x", edge_type="y"))
    with pytest.raises(InvalidInputError, match="both given"):
        memory.traverse("a", edge_type="x", edge_types=["y"])
    with pytest.raises(UnknownNameError, match="did you mean 'entities'"):
        memory.create_index("entites", "age")


def test_depth_first_reaches_what_breadth_first_does_by_the_same_paths(memory: Memory) -> None:
    links = ["ab", "ac", "bd", "be", "cf", "dg", "gc", "ga", "fa"]
    memory.write([Edge(src=f"n{src}", rel_type="r", dst=f"n{dst}") for src, dst in links])
    wide = memory.traverse("na", max_depth=5, limit=50)
    deep = memory.traverse("na", max_depth=5, limit=50, strategy="depth-first")
    paths = {node["name"]: node["_traverse_path"] for node in wide.nodes}
    assert {node["name"]: node["_traverse_path"] for node in deep.nodes} == paths
    names = [node["name"] for node in deep.nodes]
    # each follows its parent, or the whole of a branch beside it
    for place, node in enumerate(deep.nodes[1:], 1):
        parent = node["_traverse_path"][-2]
        between = deep.nodes[names.index(parent) + 1 : place]
        assert all(parent in other["_traverse_path"] for other in between)


def test_one_of_a_name_is_meant_until_there_is_another(memory: Memory) -> None:
    memory.create_entity(Entity(type="person/employee", name="Sarah Chen"))
    found = memory.lookup("Sarah")
    assert [hit.name for hit in found.records] == ["Sarah Chen"]
    assert found.metadata["resolved"][0]["label"] == "Sarah"
    assert found.records[0].score < 1
    memory.create_entity(Entity(type="person", name="Sarah Lund"))
    assert not memory.lookup("Sarah").records
    assert {hit.name for hit in memory.lookup("Sarah").suggestions} == {"Sarah Chen", "Sarah Lund"}
    memory.create_entity(Entity(type="person", name="Sarah"))
    assert [(hit.name, hit.score) for hit in memory.lookup("Sarah").records] == [("Sarah", 1.0)]


def test_a_name_is_found_among_many_by_its_index(memory: Memory) -> None:
    memory.write([Entity(type="person", name=f"Given{n} Family{n % 7}") for n in range(600)])
    assert [hit.name for hit in memory.lookup("Given77").records] == ["Given77 Family0"]
    assert not memory.lookup("Family3").records
