"""Memories that several tests of recall ask."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from told import CHAT, MAY

from remloom import Edge, Entity, Memory, Message, Resource
from remloom.testing.embedder import WordEmbedder


@pytest.fixture
def chat(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "chat", embedder=WordEmbedder()) as memory:
        messages = [
            Message(
                speaker=who,
                text=text,
                id=f"m{number}",
                at=MAY + timedelta(days=days, minutes=number),
            )
            for number, (who, text, days) in enumerate(CHAT)
        ]
        memory.read_chat(messages, uri="chat.json", name="Jon and Gina")
        yield memory


@pytest.fixture
def notes(tmp_path: Path) -> Iterator[Memory]:
    """Seed 2's example: pricing leads to products, competitors, and a market that no note on
    pricing names."""
    with Memory.open(tmp_path / "notes", embedder=WordEmbedder()) as memory:
        memory.write([
            Resource(
                name="Pricing talk",
                content="We discussed pricing of the berth plan.",
                related_entities=("Product-A", "Competitor-X"),
            ),
            Resource(name="Survey", content="Marinas in the north grow.", related_entities=("Market-Segment-Y",)),
            Resource(name="Lunch", content="The canteen has a new cook.", trust="told"),
            Entity(name="Product-A", type="product"),
            Edge(src="Pricing talk", rel_type="mentions", dst="Product-A"),
            Edge(src="Pricing talk", rel_type="mentions", dst="Competitor-X"),
            Edge(src="Product-A", rel_type="related_to", dst="Market-Segment-Y"),
            Edge(src="Survey", rel_type="mentions", dst="Market-Segment-Y"),
        ])  # fmt: skip
        memory.embed_pending()
        yield memory
