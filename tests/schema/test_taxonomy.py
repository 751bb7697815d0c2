"""Types of entities that are kinds of others, and types of edges that mean the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from remloom import Edge, Entity, Memory
from remloom.errors import DefinitionError, InvalidInputError, UnknownNameError
from remloom.model import Taxonomy


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path, embedder="none") as memory:
        memory.write(
            [
                Entity(name="Acme Corporation", type="customer"),
                Entity(name="Acme Resale", type="reseller"),
                Entity(name="Acme Street", type="place"),
                Edge(src="order-1", rel_type="owned_by", dst="Acme Corporation"),
                Edge(src="order-1", rel_type="belongs-to", dst="Acme Resale"),
                Edge(src="order-1", rel_type="near", dst="Acme Street"),
            ]
        )
        yield memory


TAXONOMY = Taxonomy(
    parents={"customer": "party", "reseller": "Customer"}, synonyms={"owned_by": "belongs_to"}
)


def found(memory: Memory, type: str, limit: int = 5) -> list[str]:
    return [hit.name for hit in memory.fuzzy("acme", type=type, threshold=0.2, limit=limit).records]


def reached(memory: Memory, edge_type: str) -> set[str]:
    return {node["name"] for node in memory.traverse("order-1", edge_type=edge_type).nodes}


def test_a_type_finds_what_is_a_kind_of_it_at_any_depth(memory: Memory) -> None:
    assert found(memory, "party") == []
    memory.schemas.set_taxonomy(TAXONOMY)
    assert sorted(found(memory, "party")) == ["Acme Corporation", "Acme Resale"]
    assert sorted(found(memory, "customer")) == ["Acme Corporation", "Acme Resale"]
    assert found(memory, "reseller") == ["Acme Resale"]
    assert len(found(memory, "party", limit=1)) == 1


def test_edges_are_followed_by_what_they_mean(memory: Memory) -> None:
    assert reached(memory, "belongs_to") == {"order-1", "Acme Resale"}
    memory.schemas.set_taxonomy(TAXONOMY)
    everything = {"order-1", "Acme Resale", "Acme Corporation"}
    assert reached(memory, "belongs_to") == reached(memory, "Owned By") == everything
    assert reached(memory, "near") == {"order-1", "Acme Street"}
    with pytest.raises(UnknownNameError):
        reached(memory, "nowhere")


def test_circles_and_empty_names_are_refused_each_named(memory: Memory) -> None:
    circular = Taxonomy(
        parents={"a": "b", "b": "A", "": "c"}, synonyms={"x": "x", "y": "z", "Y": "w"}
    )
    with pytest.raises(DefinitionError) as caught:
        memory.schemas.set_taxonomy(circular)
    paths = {fault["path"] for fault in caught.value.fields["faults"]}
    assert paths == {"parents.a", "parents.b", "parents.", "synonyms.x", "synonyms.Y"}
    assert memory.schemas.taxonomy() == Taxonomy()
    with pytest.raises(InvalidInputError):
        memory.schemas.set_taxonomy(Taxonomy(parents={"a": 3}))  # type: ignore[dict-item]


def test_one_tenants_taxonomy_is_set_in_another(memory: Memory, tmp_path: Path) -> None:
    memory.schemas.set_taxonomy(TAXONOMY)
    with Memory.open(tmp_path, tenant="other", embedder="none") as other:
        other.schemas.set_taxonomy(memory.schemas.taxonomy())
        assert other.schemas.taxonomy() == TAXONOMY


def test_a_taxonomy_goes_with_an_export(memory: Memory, tmp_path: Path) -> None:
    memory.schemas.set_taxonomy(TAXONOMY)
    memory.admin.export(tmp_path / "export.jsonl")
    with Memory.open(tmp_path, tenant="imported", embedder="none") as other:
        other.admin.import_(tmp_path / "export.jsonl")
        assert other.schemas.taxonomy() == TAXONOMY
        assert found(other, "reseller") == ["Acme Resale"]
