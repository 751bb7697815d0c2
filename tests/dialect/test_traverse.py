"""TRAVERSE against a plain reference, and at the sizes where it has to cut."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remloom import Edge, Entity, Memory, Resource
from remloom.errors import EmbedderError
from remloom.query.statements import Lookup, Statement, Traverse
from remloom.testing.embedder import WordEmbedder

NODES = [f"n{number}" for number in range(14)]
TYPES = ["manages", "mentors", "knows"]
START = datetime(2025, 1, 1, tzinfo=UTC)
GRAPHS = 4


def _graph(seed: int) -> list[Edge]:
    """Some fifty edges with times and weights that all differ, and no edge from a node to itself."""
    rng = random.Random(seed)
    ends = {(*rng.sample(NODES, 2), rng.choice(TYPES)) for _ in range(20 + 15 * seed)}
    days = rng.sample(range(365), len(ends))
    return [
        Edge(
            src=src,
            dst=dst,
            rel_type=rel,
            weight=(day + 1) * 37 % 366 / 366,
            created_at=START + timedelta(days=day),
            valid_to=START + timedelta(days=day + 100) if day % 3 == 0 else None,
        )
        for (src, dst, rel), day in zip(sorted(ends), days, strict=True)
    ]


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[tuple[Memory, list[Edge]]]]:
    opened = []
    for seed in range(GRAPHS):
        memory = Memory.open(tmp_path_factory.mktemp("graph"), embedder="none")
        memory.write([*(Entity(name=name, type="node") for name in NODES), *_graph(seed)])
        opened.append((memory, _graph(seed)))
    yield opened
    for memory, _ in opened:
        memory.close()


queries = st.builds(
    Traverse,
    st.lists(st.sampled_from(NODES), min_size=1, max_size=3, unique=True).map(
        lambda found: Lookup(tuple(found))
    ),
    edge_types=st.lists(st.sampled_from(TYPES), max_size=2, unique=True),
    max_depth=st.integers(0, 4),
    direction=st.sampled_from(["out", "in", "both"]),
    breadth=st.none() | st.integers(1, 3) | st.just("all"),
    order_by=st.sampled_from(
        [
            "edge.created_at DESC",
            "edge.created_at ASC",
            "edge.weight DESC",
            "edge.weight ASC",
            "node.name ASC",
        ]
    ),
    limit=st.integers(1, 12),
)


def _reference(edges: list[Edge], query: Traverse, at: datetime | None) -> dict[str, Any]:
    """What DESIGN section 4 says, in the plainest words."""
    if at is None:
        # all the others ended in 2026 at the latest
        edges = [edge for edge in edges if edge.valid_to is None]
    else:
        edges = [
            edge
            for edge in edges
            if edge.created_at <= at and (edge.valid_to is None or edge.valid_to > at)
        ]
    side, field, way = query.order
    by = field if side == "edge" else "created_at"
    down = way == "desc" if side == "edge" else True

    def around(node: str) -> list[tuple[Edge, str]]:
        found = [(edge, edge.dst) for edge in edges if edge.src == node and query.direction != "in"]
        found += [
            (edge, edge.src) for edge in edges if edge.dst == node and query.direction != "out"
        ]
        return sorted(found, key=lambda each: getattr(each[0], by), reverse=down)

    starts = list(query.initial_query.labels)
    paths = {start: (start,) for start in starts}
    reached: list[tuple[Edge, str]] = []
    unfollowed = 0
    frontier = starts
    for _ in range(query.max_depth):
        following = []
        for node in frontier:
            able = [
                each
                for each in around(node)
                if not query.edge_types or each[0].rel_type in query.edge_types
            ]
            followed = able[: query.fan_out]
            unfollowed += len(able) - len(followed)
            for edge, other in followed:
                if other not in paths:
                    paths[other] = (*paths[node], other)
                    reached.append((edge, other))
                    following.append(other)
        frontier = following
    if side == "edge":
        reached.sort(key=lambda each: getattr(each[0], by), reverse=down)
    else:
        reached.sort(key=lambda each: each[1])
    kept = [*starts, *(other for _, other in reached[: query.limit])]
    known = {(edge.src, edge.rel_type, edge.dst) for node in kept for edge, _ in around(node)}
    return {
        "paths": [list(paths[node]) for node in kept],
        "unfollowed": unfollowed,
        "omitted": len(reached) - len(reached[: query.limit]),
        "edges": len(known),
        "summary": {edge for edge in known if not query.edge_types or edge[1] in query.edge_types},
        "deepest": max((len(paths[other]) - 1 for _, other in reached), default=0),
    }


@given(
    st.integers(0, GRAPHS - 1),
    queries,
    st.none() | st.integers(0, 400).map(lambda day: START + timedelta(days=day)),
)
@settings(max_examples=250)
def test_traverse_does_what_the_design_says(
    graphs: list[tuple[Memory, list[Edge]]], graph: int, query: Traverse, at: datetime | None
) -> None:
    memory, edges = graphs[graph]
    query_types = {edge.rel_type for edge in edges}
    if not query_types.issuperset(query.edge_types):
        return
    answer = memory.query(Statement(query, as_of=at))
    expected = _reference(edges, query, at)
    assert [node["_traverse_path"] for node in answer.nodes] == expected["paths"]
    assert [node["_traverse_depth"] for node in answer.nodes] == [
        len(path) - 1 for path in expected["paths"]
    ]
    assert answer.metadata["edges_unfollowed"] == expected["unfollowed"]
    assert answer.metadata["nodes_omitted"] == expected["omitted"]
    assert answer.metadata["total_edges"] == expected["edges"] == answer.stages[-1].found["edges"]
    assert answer.metadata["max_depth_reached"] == expected["deepest"] == len(answer.stages) - 1
    assert sum(stage.found["nodes"] for stage in answer.stages) == len(answer.nodes)
    assert set(answer.edge_summary) == expected["summary"]
    assert len(answer.edge_summary) == len(expected["summary"])


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Memory]:
    """One node with three hundred edges, the last of them the newest."""
    with Memory.open(tmp_path, embedder="none") as memory:
        memory.write(
            [
                Entity(name="hub", type="node"),
                Entity(name="leaf 7"),
                Resource(name="leaf 7", content="A note."),
            ]
        )
        memory.write(
            Edge(
                src="hub",
                rel_type="has",
                dst=f"leaf {number}",
                created_at=START + timedelta(minutes=number),
            )
            for number in range(300)
        )
        yield memory


def test_a_hub_is_cut_and_says_so(hub: Memory) -> None:
    answer = hub.query("TRAVERSE has WITH hub")
    assert [node["name"] for node in answer.nodes] == [
        "hub",
        *(f"leaf {number}" for number in range(299, 290, -1)),
    ]
    assert [edge["dst"] for edge in answer.nodes[0]["graph_paths"]] == [
        f"leaf-{number}" for number in range(299, 290, -1)
    ]
    assert answer.metadata["graph_paths_truncated"] is True
    assert answer.metadata["edges_unfollowed"] == 291
    assert answer.metadata["truncated"] is True
    assert answer.metadata["total_edges"] == 300
    assert len(answer.edge_summary) == 200
    assert (
        answer.stages[1].executed
        == "LOOKUP leaf-299, leaf-298, leaf-297, leaf-296, leaf-295 … and 4 more (via has edges)"
    )


def test_plan_counts_every_edge_of_a_hub(hub: Memory) -> None:
    answer = hub.query("TRAVERSE PLAN WITH hub")
    assert answer.metadata["edge_counts"] == [{"rel_type": "has", "direction": "out", "count": 300}]
    assert len(answer.edge_summary) == 200
    assert answer.edge_summary[0] == ("hub", "has", "leaf-299")


def test_a_plan_shows_the_rare_types_of_a_hub_first(hub: Memory) -> None:
    hub.write(
        [Edge(src="hub", rel_type="run-by", dst="ann", created_at=datetime(2001, 1, 1, tzinfo=UTC))]
    )
    answer = hub.query("TRAVERSE PLAN WITH hub")
    assert answer.edge_summary[0] == ("hub", "run-by", "ann")
    assert len(answer.edge_summary) == 200


def test_breadth_all_reaches_everything(hub: Memory) -> None:
    answer = hub.query("TRAVERSE has WITH hub BREADTH ALL LIMIT 1000")
    # two records are called leaf 7
    assert answer.metadata["unique_nodes"] == len(answer.nodes) == 302
    assert answer.metadata["truncated"] is False


def test_a_limit_between_two_records_of_one_label_counts_the_one_left_out(hub: Memory) -> None:
    answer = hub.query("TRAVERSE has WITH hub BREADTH ALL ORDER BY edge.created_at ASC LIMIT 8")
    assert [node["name"] for node in answer.nodes] == [
        "hub",
        *(f"leaf {number}" for number in range(8)),
    ]
    assert answer.metadata["nodes_omitted"] == 292 + 1


def test_a_record_reached_by_two_of_its_labels_is_one_node(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="none") as memory:
        memory.write([
            Entity(name="Bob", aliases=("Robert", "Bobby")),
            Edge(src="sally", rel_type="knows", dst="Robert", created_at=START),
            Edge(src="sally", rel_type="knows", dst="Bob", created_at=START + timedelta(days=1)),
            Edge(src="Bobby", rel_type="knows", dst="dan", created_at=START),
            Edge(src="dan", rel_type="knows", dst="Robert", created_at=START),
        ])  # fmt: skip
        answer = memory.query("TRAVERSE knows WITH sally DEPTH 3 LIMIT 2")
        assert [node["name"] for node in answer.nodes] == ["sally", "Bob", "dan"]
        assert answer.metadata["nodes_omitted"] == 0
        assert answer.metadata["truncated"] is False
        assert answer.metadata["total_edges"] == 4
        started = memory.query("TRAVERSE knows WITH LOOKUP robert, bobby DEPTH 2")
        assert [node["name"] for node in started.nodes] == ["Bob", "dan"]
        assert started.source_nodes == ["bob"]


def test_a_select_gives_a_thousand_rows_and_says_that_there_are_more(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="none") as memory:
        memory.write(Entity(name=f"thing {number}", type="thing") for number in range(1_001))
        answer = memory.query("SELECT name FROM entities")
        assert len(answer.rows) == 1_000
        assert answer.metadata["truncated"] is True
        walked = memory.query("TRAVERSE WITH SELECT id FROM entities")
        assert len(walked.nodes) == 1_000
        assert walked.metadata["start_truncated"] is True


def test_search_without_an_embedder_names_the_setting(tmp_path: Path) -> None:
    with (
        Memory.open(tmp_path, embedder="none") as memory,
        pytest.raises(EmbedderError, match="REMLOOM_EMBEDDER"),
    ):
        memory.query("SEARCH something")


def test_explain_runs_nothing(tmp_path: Path) -> None:
    class Unwilling(WordEmbedder):
        def embed_query(self, text: str) -> Any:
            raise AssertionError(f"asked to embed {text!r}")

    with Memory.open(tmp_path, embedder=Unwilling()) as memory:
        answer = memory.query("EXPLAIN TRAVERSE WITH SEARCH something LIMIT 3 DEPTH 2")
        assert [step for step, _ in answer.rows][-3:] == ["walk", "keep", "load"]


def test_a_walk_that_none_leaves_says_how_many_lead_to_its_start(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="none") as memory:
        memory.write([Edge(src=f"order-{n}", rel_type="belongs_to", dst="acme") for n in range(3)])
        memory.write([Edge(src="acme", rel_type="is", dst="big")])
        answer = memory.query("TRAVERSE belongs_to WITH LOOKUP acme")
        assert answer.metadata["edges_incoming"] == 3
        for statement in ("TRAVERSE WITH LOOKUP acme", "TRAVERSE is WITH LOOKUP acme",
                          "TRAVERSE belongs_to WITH LOOKUP acme DIRECTION in",
                          "TRAVERSE is WITH LOOKUP order-1"):  # fmt: skip
            assert "edges_incoming" not in memory.query(statement).metadata
