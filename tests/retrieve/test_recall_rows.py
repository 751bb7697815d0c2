"""Recall, and asking, over rows of registered schemas."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from remloom import Edge, Memory, Resource, Row
from remloom.model import EdgeDefinition, Field
from remloom.testing.models import ScriptedModel


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path, embedder="none") as memory:
        memory.schemas.register(
            schema_name="customers",
            fields={"customer_id": "integer", "country": "string"},
            entity_types=["customer"],
            handle=["customer_id"],
        )
        memory.schemas.register(
            schema_name="tickets",
            description="Complaints and questions of customers",
            fields={
                "number": "integer",
                "customer_id": "integer",
                "subject": Field(searchable=True, description="in the customer's words"),
                "status": "enum(open, closed)",
            },
            entity_types=["ticket"],
            handle=["number"],
            edges=[EdgeDefinition(name="belongs_to", fields=("customer_id",), target="customers")],
        )
        memory.write([
            Row(schema="customers", name="Acme Corporation",
                fields={"customer_id": 12345, "country": "DE"}),
            Row(schema="tickets", fields={
                "number": 7, "subject": "The invoice shows the wrong currency", "status": "open"}),
            Row(schema="tickets", fields={
                "number": 8, "subject": "Parcel arrived damaged", "status": "closed"}),
            Edge(src="ticket-7", rel_type="belongs_to", dst="customer-12345"),
            Resource(name="note", content="We met at the harbour to talk about the parcel."),
        ])  # fmt: skip
        yield memory


def test_rows_are_recalled_by_the_words_of_their_searchable_fields(memory: Memory) -> None:
    hits = memory.recall("Which invoice had the wrong currency?").hits
    assert hits[0].record.name == "ticket-7"
    assert {reason.part for reason in hits[0].reasons} == {"text"}


def test_rows_and_texts_are_found_together(memory: Memory) -> None:
    names = [hit.name for hit in memory.recall("What happened to the parcel?").hits]
    assert set(names) >= {"note", "ticket-8"}


def test_what_a_question_names_is_recalled_with_what_is_related_to_it(memory: Memory) -> None:
    hits = {hit.name: hit for hit in memory.recall("What do we know of Acme Corporation?").hits}
    assert set(hits) == {"Acme Corporation", "ticket-7"}
    assert hits["ticket-7"].path == (("ticket-7", "belongs_to", "customer-12345"),)


def test_a_context_shows_the_fields_as_quoted_data(memory: Memory) -> None:
    context = memory.context("What do we know of Acme Corporation?")
    assert "> Acme Corporation (customer)\n> customer_id: 12345\n> country: DE" in context
    assert "trust: read" in context


def test_a_model_that_asks_is_told_of_the_tables(tmp_path: Path, memory: Memory) -> None:
    reply = {"reasoning": "r", "staged_plan": [], "memo": "", "confidence": 0.9, "answer": ""}
    replies = [
        json.dumps({**reply, "statement": "SELECT name, subject FROM tickets LIMIT 1"}),
        json.dumps({**reply, "statement": "LOOKUP ticket-7"}),
        json.dumps({**reply, "statement": "", "answer": "Of ticket-7 [2]."}),
    ]
    model = ScriptedModel(replies)
    memory.close()
    with Memory.open(tmp_path, embedder="none", llm=model) as asked:
        result = asked.ask("Which tickets are there?")
    told = model.requests[0].prompt
    assert "table tickets of ticket: Complaints and questions of customers; fields: " in told
    assert "subject string (in the customer's words)" in told
    assert "status enum(open, closed)" in told
    assert "edges: belongs_to -> customers" in told
    assert "trust: read" in model.requests[2].prompt
    assert "> subject: The invoice shows the wrong currency" in model.requests[2].prompt
    assert [citation.name for citation in result.citations] == ["ticket-7"]


def test_a_filter_is_over_resources(memory: Memory) -> None:
    hits = memory.recall("parcel", where="name = 'note'").hits
    assert [hit.name for hit in hits] == ["note"]
