"""Affinity: edges between what is about the same, merged into what is there, the same at every run."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from remloom import Edge, Memory, Message, Resource
from remloom.errors import InvalidInputError, LabelError, ModelNotConfiguredError, ModelRefusedError
from remloom.testing.embedder import WordEmbedder
from remloom.testing.models import ScriptedModel

PAST = datetime(2024, 5, 1, 9, tzinfo=UTC)
NOTES = {
    "Project Alpha Kickoff": ("the tidb migration begins with a cluster of three nodes", ("Sarah Chen", "Alpha")),
    "TiDB Technical Spec": ("the tidb migration begins with a cluster of five nodes", ("Sarah Chen", "TiDB")),
    "Garden": ("roses and tulips bloom in the garden every spring evening", ("Kew",)),
    "Rose Show": ("roses and tulips bloom in the garden every summer evening", ()),
    "Budget": ("invoices quarterly revenue forecast spreadsheet payroll", ("Sarah Chen",)),
}  # fmt: skip


def notes(**changes: Any) -> list[Resource]:
    return [
        Resource(name=name, content=content, related_entities=named, **changes)
        for name, (content, named) in NOTES.items()
    ]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path, embedder=WordEmbedder()) as memory:
        memory.write(notes())
        memory.embed_pending()
        yield memory


def edges(memory: Memory) -> dict[tuple[str, str, str], Edge]:
    found = memory.admin.store.graph.all_edges()
    return {(e.src, e.rel_type, e.dst): e for e in found if e.rel_type in ("related", "entity")}


def exported(memory: Memory) -> bytes:
    stream = io.BytesIO()
    memory.admin.export(stream)
    return stream.getvalue()


# -- what is connected -----------------------------------------------------------------------------


def test_what_is_alike_is_related_in_both_directions(memory: Memory) -> None:
    memory.dreams.affinity(min_score=0.6)
    found = edges(memory)
    assert {pair for pair in found if pair[1] == "related"} == {
        ("project-alpha-kickoff", "related", "tidb-technical-spec"),
        ("tidb-technical-spec", "related", "project-alpha-kickoff"),
        ("garden", "related", "rose-show"),
        ("rose-show", "related", "garden"),
    }
    edge = found["garden", "related", "rose-show"]
    assert edge.weight == edge.properties["semantic_similarity"] > 0.6
    assert (edge.properties["dst_name"], edge.properties["match_type"]) == ("Rose Show", "semantic")


def test_what_names_the_same_is_connected_through_the_name(memory: Memory) -> None:
    memory.dreams.affinity(min_score=0.6)
    edge = edges(memory)["project-alpha-kickoff", "entity", "tidb-technical-spec"]
    assert edge.properties["entity/sarah-chen"] == "Sarah Chen"
    assert edge.paths() == (
        "/resources/project-alpha-kickoff/entity/Sarah Chen/TiDB Technical Spec",
    )
    shown = [
        path
        for found in memory.admin.describe("Project Alpha Kickoff").as_dict()["edges_out"]
        for path in found["paths"]
    ]
    assert "/resources/Project Alpha Kickoff/entity/Sarah Chen/TiDB Technical Spec" in shown
    assert ("garden", "entity", "rose-show") not in edges(memory)


def test_affinities_can_be_traversed_by_label(memory: Memory) -> None:
    memory.dreams.affinity(min_score=0.6)
    answer = memory.query('TRAVERSE related,entity WITH LOOKUP "Project Alpha Kickoff" DEPTH 1')
    assert {"TiDB Technical Spec", "Budget"} <= {node["name"] for node in answer.nodes}


def test_chunks_of_one_document_are_no_news_to_each_other(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder=WordEmbedder()) as memory:
        text = "roses and tulips bloom in the garden every summer evening and Kew opens. "
        memory.read_text(
            "# One\n\n" + text * 40 + "\n\n# Two\n\n" + text * 40, uri="one.md", name="One"
        )
        assert len(list(memory.admin.store.records.all("resources"))) > 1
        memory.dreams.affinity(min_score=0.5)
        assert edges(memory) == {}


def test_turns_of_a_chat_are_related_across_its_sessions_only(tmp_path: Path) -> None:
    said = "the pottery workshop made bowls with glaze and a kiln today"
    times = [PAST, PAST + timedelta(minutes=1), PAST + timedelta(days=9)]
    with Memory.open(tmp_path, embedder=WordEmbedder()) as memory:
        turns = [
            Message(
                id=str(n),
                speaker="Ann",
                text=f"{said} number{n} zinc{n} iron{n} lead{n} gold{n}",
                at=at,
            )
            for n, at in enumerate(times)
        ]
        memory.read_chat(turns, uri="chat:ann", name="Chat")
        memory.dreams.affinity(min_score=0.3)
        pairs = {(src, dst) for src, rel_type, dst in edges(memory) if rel_type == "related"}
        assert ("chat-#1", "chat-#3") in pairs
        assert ("chat-#1", "chat-#2") not in pairs


def test_a_short_text_without_words_of_its_own_is_like_nothing(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder=WordEmbedder()) as memory:
        memory.write(
            [
                Resource(name=f"Thanks {n}", content="Thanks, that means a lot to me!")
                for n in range(4)
            ]
        )
        memory.dreams.affinity(min_score=0.1)
        assert edges(memory) == {}


def test_a_name_that_everybody_names_connects_nobody(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="none") as memory:
        memory.write(
            [
                Resource(name=f"N{n}", content=f"note {n}", related_entities=("United States",))
                for n in range(90)
            ]
            + [
                Resource(name=f"R{n}", content=f"rare {n}", related_entities=("Kew",))
                for n in range(2)
            ]
        )
        memory.dreams.affinity()
        assert set(edges(memory)) == {("r0", "entity", "r1"), ("r1", "entity", "r0")}


def test_a_label_that_several_resources_bear_gets_no_edges_and_is_counted(memory: Memory) -> None:
    memory.write(
        [
            Resource(
                name="Garden", content="roses and tulips bloom in a garden of ours", uri="other.md"
            )
        ]
    )
    done = memory.dreams.affinity(min_score=0.6)
    assert done.run.counts["ambiguous"] == 2
    assert not [pair for pair in edges(memory) if "garden" in pair]


def test_at_most_so_many_neighbours_each(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder=WordEmbedder()) as memory:
        words = "roses tulips bloom garden spring evening"
        memory.write([Resource(name=f"N{n}", content=f"{words} extra{n}") for n in range(8)])
        memory.dreams.affinity(min_score=0.3, neighbours=2)
        assert (
            len([pair for pair in edges(memory) if pair[1] == "related" and pair[0] == "n0"]) == 2
        )


def test_only_from_what_is_recent_to_whatever_it_is_like(memory: Memory) -> None:
    old = Resource(name="Old Roses", content=NOTES["Garden"][0], starts_at=PAST, created_at=PAST)
    memory.write([old])
    memory.dreams.affinity(hours=24, min_score=0.6)
    found = edges(memory)
    assert ("garden", "related", "old-roses") in found
    assert ("old-roses", "related", "garden") not in found


def test_without_vectors_names_still_connect(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="none") as memory:
        memory.write(notes())
        memory.dreams.affinity()
        assert {rel_type for _, rel_type, _ in edges(memory)} == {"entity"}


def test_an_empty_memory_has_none(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="none") as memory:
        assert memory.dreams.affinity().run.receipt.get("edges", 0) == 0


# -- merging: seed 5's "TODO critical test" --------------------------------------------------------


def test_what_anybody_wrote_on_an_edge_survives_affinity(memory: Memory) -> None:
    own = {"context": "the spec says so", "confidence": 0.92, "entity/reviewer": "Reviewer"}
    since = datetime(2020, 1, 1, tzinfo=UTC)
    memory.write(
        [
            Edge(src="Garden", rel_type="related", dst="Rose Show", weight=1.0, properties=own, created_at=since),
            Edge(src="Garden", rel_type="related", dst="Elsewhere", weight=0.2),
            Edge(
                src="Project Alpha Kickoff", rel_type="entity", dst="TiDB Technical Spec", weight=0.1, properties=own,
                created_at=since,
            ),
        ]
    )  # fmt: skip
    memory.dreams.affinity(min_score=0.6)
    found = edges(memory)
    kept, raised = (
        found["garden", "related", "rose-show"],
        found["project-alpha-kickoff", "entity", "tidb-technical-spec"],
    )
    assert (kept.weight, kept.properties["context"], kept.created_at) == (
        1.0,
        "the spec says so",
        since,
    )
    assert raised.weight > 0.1
    assert raised.properties["entity/reviewer"] == "Reviewer"
    assert raised.properties["entity/sarah-chen"] == "Sarah Chen"
    assert raised.created_at == since
    assert found["garden", "related", "elsewhere"].weight == 0.2


def test_names_shared_later_are_added_to_those_shared_before(memory: Memory) -> None:
    memory.dreams.affinity(min_score=0.6)
    for name in ("Project Alpha Kickoff", "TiDB Technical Spec"):
        (record,) = memory.admin.store.records.lookup([name.lower().replace(" ", "-")])[
            name.lower().replace(" ", "-")
        ]
        assert isinstance(record, Resource)
        memory.write(
            [
                Resource(
                    id=record.id, name=name, content=record.content, related_entities=("Lisbon",)
                )
            ]
        )
    memory.dreams.affinity(min_score=0.6)
    edge = edges(memory)["project-alpha-kickoff", "entity", "tidb-technical-spec"]
    assert {"entity/sarah-chen", "entity/lisbon"} <= edge.properties.keys()


def test_a_second_run_writes_nothing(memory: Memory) -> None:
    memory.dreams.affinity(min_score=0.6)
    before = exported(memory)
    again = memory.dreams.affinity(min_score=0.6)
    assert exported(memory) == before
    assert again.run.receipt["edges"] == 0


def test_rolling_back_leaves_what_was_there(memory: Memory) -> None:
    memory.write(
        [
            Edge(
                src="Garden",
                rel_type="related",
                dst="Rose Show",
                weight=0.1,
                properties={"own": True},
            )
        ]
    )
    before = exported(memory)
    run = memory.dreams.affinity(min_score=0.6).run
    assert exported(memory) != before
    memory.runs.rollback(run.id)
    assert exported(memory) == before


def test_a_dry_run_tells_the_edges_and_writes_none(memory: Memory) -> None:
    before = exported(memory)
    done = memory.dreams.affinity(min_score=0.6, dry_run=True)
    assert done.diff is not None
    assert len(done.diff.edges) == done.run.receipt["edges"] > 0
    assert exported(memory) == before


def test_a_server_gives_the_same_edges_and_takes_them_back(memory: Memory, postgres: str) -> None:
    with Memory.open(postgres, tenant="affinity", embedder=WordEmbedder()) as other:
        other.write(notes())
        other.embed_pending()
        run = other.dreams.affinity(min_score=0.6).run
        memory.dreams.affinity(min_score=0.6)
        assert edges(other).keys() == edges(memory).keys()
        assert other.dreams.affinity(min_score=0.6).run.receipt["edges"] == 0
        other.runs.rollback(run.id)
        assert edges(other) == {}


# -- a model's judgement ---------------------------------------------------------------------------


def verdict(request: Any) -> dict[str, Any]:
    related = "tidb" in request.prompt
    return {
        "related": related,
        "relation": "specifies",
        "strength": 0.9,
        "reason": "Both are about the cluster.",
    }


def test_a_model_keeps_only_what_belongs_together_and_says_why(tmp_path: Path) -> None:
    model = ScriptedModel(verdict)
    with Memory.open(tmp_path, embedder=WordEmbedder(), llm=model) as memory:
        memory.write(notes())
        memory.dreams.affinity(min_score=0.6, judge=True)
        found = {pair: edge for pair, edge in edges(memory).items() if pair[1] == "related"}
        assert len(found) == 2
        edge = found["project-alpha-kickoff", "related", "tidb-technical-spec"]
        assert edge.properties["relation"] == "specifies"
        assert edge.properties["context"] == "Both are about the cluster."
        assert edge.properties["confidence"] == 0.9


def test_a_pair_is_judged_once_whatever_the_verdict(tmp_path: Path) -> None:
    model = ScriptedModel(verdict)
    with Memory.open(tmp_path, embedder=WordEmbedder(), llm=model) as memory:
        memory.write(notes())
        memory.dreams.affinity(min_score=0.6, judge=True)
        memory.dreams.affinity(min_score=0.6, judge=True)
        assert len(model.requests) == 2


def test_a_pair_whose_call_failed_is_parked_and_judged_by_the_next_run(tmp_path: Path) -> None:
    busy = [ModelRefusedError("not today")] * 2
    model = ScriptedModel(lambda request: busy.pop() if busy else verdict(request))
    with Memory.open(tmp_path, embedder=WordEmbedder(), llm=model) as memory:
        memory.write(notes())
        first = memory.dreams.affinity(min_score=0.6, judge=True)
        assert [item.reason for item in first.failed] == ["not today", "not today"]
        assert memory.dreams.affinity(min_score=0.6, judge=True).failed == []


def test_judging_needs_a_model(memory: Memory) -> None:
    with pytest.raises(ModelNotConfiguredError):
        memory.dreams.affinity(judge=True)


@pytest.mark.parametrize("wrong", [{"min_score": 2.0}, {"neighbours": 0}, {"hours": -1}])
def test_wrong_arguments_are_refused(memory: Memory, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        memory.dreams.affinity(**wrong)


# -- path strings ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "/resources/Project Alpha Kickoff/related/TiDB Spec",
        "/resources/Project Alpha Kickoff/entity/Sarah Chen/TiDB Technical Spec",
        "/resources/notes%2F2025%2Fmarch.md/related/50%25 off",
        "/resources/a%252Fb/mentions/東京 タワー",
    ],
)
def test_a_path_is_an_edge_and_the_edge_is_the_path(path: str) -> None:
    assert Edge.from_path(path).paths() == (path,)


def test_an_edge_with_several_shared_entities_has_a_path_for_each() -> None:
    edge = Edge(src="A", rel_type="entity", dst="B", properties={"entity/x": "X", "entity/y": "Y"})
    assert edge.paths() == ("/resources/A/entity/X/B", "/resources/A/entity/Y/B")


@pytest.mark.parametrize(
    "path", ["", "resources/A/related/B", "/resources/A", "/resources/A/related/", "/a/b/c/d/e/f"]
)
def test_what_is_no_path_of_an_edge_is_refused(path: str) -> None:
    with pytest.raises(LabelError):
        Edge.from_path(path)


def test_paths_are_shown_and_can_be_imported(tmp_path: Path) -> None:
    path = "/resources/Project Alpha Kickoff/entity/Sarah Chen/TiDB Technical Spec"
    lines = [
        {"line": "remloom", "format": 1},
        {"line": "path", "path": path},
        {"line": "end", "records": 0, "edges": 1},
    ]
    with Memory.open(tmp_path, embedder="none") as memory:
        memory.admin.import_(io.BytesIO("\n".join(map(json.dumps, lines)).encode()))
        (edge,) = memory.admin.describe("Project Alpha Kickoff").as_dict()["edges_out"]
        assert edge["paths"] == (
            "/entities/Project Alpha Kickoff/entity/Sarah Chen/TiDB Technical Spec",
        )
        assert memory.admin.describe("TiDB Technical Spec").as_dict()["records"][0]["thin"]


@pytest.mark.parametrize("seed", range(3))
def test_those_are_related_that_are_three_deviations_more_alike_than_two_usually_are(
    tmp_path: Path, seed: int
) -> None:
    count = 80
    vectors = np.random.default_rng(seed).normal(size=(count, 48))
    vectors /= np.linalg.norm(vectors, axis=1)[:, None]
    with Memory.open(tmp_path, embedder="none") as memory:
        memory.write(
            [
                Resource(
                    name=f"N{n}",
                    content=" ".join(f"word{n}x{k}" for k in range(8)),
                    embedding=tuple(map(float, vector)),
                )
                for n, vector in enumerate(vectors)
            ]
        )
        memory.dreams.affinity(neighbours=count)
        related = {(edge.src, edge.dst) for edge in edges(memory).values()}
    cosines = vectors @ vectors.T
    pairs = cosines[np.triu_indices(count, 1)]

    def above(deviations: float) -> set[tuple[str, str]]:
        far = np.argwhere(cosines > pairs.mean() + deviations * pairs.std())
        return {(f"n{a}", f"n{b}") for a, b in far if a != b}

    assert related == above(3)
    assert above(4) < related < above(2)
