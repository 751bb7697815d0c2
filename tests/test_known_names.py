"""Reading finds what the memory knows, however it is written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from remloom import Edge, Entity, Memory, Message
from remloom.ingest.names.known import KnownNames
from remloom.ingest.names.rules import CapitalizedNames
from steps import steps

KNOWN = [
    Entity(type="organization", name="acme"),
    Entity(type="organization", name="Globex Corp", aliases=("GBX", "the old factory")),
    Entity(type="product", name="Product-A"),
    Entity(type="technology", name="TiDB"),
    Entity(type="company", name="Target"),
    Entity(type="person", name="May"),
    Entity(type="person", name="Noor Haddad", aliases=("Noor",)),
    Entity(type="concept", name="it"),
    Entity(type="concept", name="price per seat"),
]


@pytest.fixture(params=["sqlite", "postgres"], scope="module")
def memory(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Memory]:
    sqlite = request.param == "sqlite"
    home = str(tmp_path_factory.mktemp("known")) if sqlite else request.getfixturevalue("postgres")
    with Memory.open(home, tenant=f"known-{uuid4().hex[:8]}", embedder="none") as memory:
        memory.write(KNOWN)
        yield memory


def _mentioned(memory: Memory, text: str) -> set[str]:
    uri = f"note-{uuid4().hex[:8]}"
    memory.read_text(text, uri=uri)
    (hit,) = [
        hit
        for hit in memory.search_text(text, schema="resources", limit=50).records
        if hit.uri == uri
    ]
    return {edge.dst for edge in memory.get_edges(hit.name) if edge.rel_type == "mentions"}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("yesterday we had a call with acme.", {"acme"}),
        ("the bill was sent to ACME, and acme paid", {"acme"}),
        ("so globex corp paid at last", {"globex-corp"}),
        ("they met in the old factory again", {"globex-corp"}),
        ("tickets for gbx are open", {"globex-corp"}),
        ("the release of product-a is near", {"product-a"}),
        ("the release of product a is near", {"product-a"}),
        ("our tidb is slow today", {"tidb"}),
        ("we settled the price per\nseat for tidb", {"price-per-seat", "tidb"}),
        ("a mail from noor haddad came in", {"noor-haddad"}),
        ("she asked Noor about the rollout", {"noor-haddad"}),
        ("our target is near, you may go, it will do", set()),
        ("a noor of light is not a name", set()),
        ("acmes are acme-like, see www.acme.com and `acme`", set()),
        ("the price, per seat, is high", set()),
    ],
)
def test_what_is_known_is_found_however_it_is_written(
    memory: Memory, text: str, names: set[str]
) -> None:
    assert _mentioned(memory, text) == names


def test_what_is_known_stays_as_it_was_written(memory: Memory) -> None:
    before = memory.lookup("Globex Corp").records[0].record
    _mentioned(memory, "then globex corp called")
    assert memory.lookup("Globex Corp").records[0].record == before


def test_an_alias_in_capitals_is_no_second_entity(memory: Memory) -> None:
    assert _mentioned(memory, "Then she told Noor, and Noor Haddad agreed.") == {"noor-haddad"}
    assert [hit.name for hit in memory.lookup("Noor").records] == ["Noor Haddad"]


def test_a_turn_of_a_chat_mentions_what_is_known(memory: Memory) -> None:
    memory.read_chat(
        [Message(speaker="Ida", text="is acme late again?", id="k1")], uri="known-chat"
    )
    hit = next(
        hit
        for hit in memory.search_text("acme late again", limit=20).records
        if hit.message_ids == ("k1",)
    )
    assert "acme" in {edge.dst for edge in memory.get_edges(hit.name)}


def test_what_only_other_texts_know_must_be_written_as_there(memory: Memory) -> None:
    memory.read_text("The team of Kessler visited Kessler and liked Kessler.", uri="kessler")
    assert memory.lookup("Kessler").records
    assert _mentioned(memory, "the kessler is a drum of iron") == set()


def test_the_example_of_seed_2_reaches_the_market_segment(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="none") as memory:
        memory.write([
            Entity(type="product", name="Product-A"),
            Entity(type="competitor", name="Competitor-X"),
            Entity(type="segment", name="Market-Segment-Y"),
            Edge(src="Product-A", rel_type="related_to", dst="Market-Segment-Y"),
            Edge(src="Competitor-X", rel_type="competes_with", dst="Product-A"),
        ])  # fmt: skip
        memory.read_text(
            "We discussed pricing for Product-A against Competitor-X.", uri="pricing.md"
        )
        memory.read_text("Small clinics, Market-Segment-Y, buy in autumn only.", uri="segment.md")
        found = memory.recall("What did we discuss about pricing?", mode="iterated")
        assert [hit.uri for hit in found.hits][:2] == ["pricing.md", "segment.md"]
        assert ("product-a", "related_to", "market-segment-y") in found.hits[1].path


def test_finding_the_known_costs_the_text_and_not_the_memory(tmp_path: Path) -> None:
    text = " ".join(f"word{n % 700} goes" for n in range(2_000))
    costs = []
    with Memory.open(tmp_path, embedder="none") as memory:
        for _ in range(2):
            memory.write(
                [Entity(type="project", name=f"{uuid4().hex[:8]} plan {n}") for n in range(3_000)]
            )
            names = KnownNames(CapitalizedNames(), memory.admin.store)
            names.extract(text)
            with steps(memory) as counted:
                names.extract(text)
            costs.append(counted.reading)
    assert 0 < costs[1] < 1.2 * costs[0]
