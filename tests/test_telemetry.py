"""Spans of what is done with a memory: names of the conventions, and nothing of its content."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from remloom import AsyncMemory, Entity, Memory
from remloom.dream.service import Dreams
from remloom.errors import NotFoundError
from remloom.memory.admin import Admin
from remloom.operations import TOOLS
from remloom.profile.service import Profiles
from remloom.telemetry import SPANS, instrument, uninstrument

SECRET = "zanzibar"


@pytest.fixture
def exporter(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    instrument()
    yield exporter
    uninstrument()


def shown(spans: tuple[ReadableSpan, ...]) -> list[tuple[str, dict[str, object]]]:
    return [(span.name, dict(span.attributes or {})) for span in spans]


def test_each_call_is_one_span_with_what_came_of_it(
    tmp_path: Path, exporter: InMemorySpanExporter
) -> None:
    with Memory.open(tmp_path, tenant="acme", embedder="none") as memory:
        (id,) = memory.write([Entity(name=SECRET)])
        memory.create_entity(Entity(name="another"))
        memory.lookup(SECRET)
        memory.forget(SECRET)
    common = {"gen_ai.memory.store.id": "acme"}
    written, created, found, forgotten = shown(exporter.get_finished_spans())
    assert written == (
        "upsert_memory",
        {
            **common,
            "gen_ai.operation.name": "upsert_memory",
            "gen_ai.memory.record.id": id,
            "gen_ai.memory.record.count": 1,
        },
    )
    assert created[0] == "upsert_memory"
    assert found[0] == "search_memory"
    assert found[1]["gen_ai.memory.record.count"] == 1
    assert forgotten[0] == "delete_memory"
    assert SECRET not in str(shown(exporter.get_finished_spans()))


def test_an_error_is_told_by_its_type_alone(tmp_path: Path, exporter: InMemorySpanExporter) -> None:
    with Memory.open(tmp_path, embedder="none") as memory, pytest.raises(NotFoundError):
        memory.forget(SECRET)
    (span,) = exporter.get_finished_spans()
    assert (span.attributes or {})["error.type"] == "NotFoundError"
    assert not span.events
    assert SECRET not in span.to_json()


def test_asyncio_tells_too_and_nothing_is_told_afterwards(
    tmp_path: Path, exporter: InMemorySpanExporter
) -> None:
    async def look() -> None:
        async with AsyncMemory.open(tmp_path, embedder="none") as memory:
            await memory.lookup("a")

    asyncio.run(look())
    assert [span.name for span in exporter.get_finished_spans()] == ["search_memory"]
    uninstrument()
    asyncio.run(look())
    assert len(exporter.get_finished_spans()) == 1


def test_names_are_those_of_methods_and_tools() -> None:
    kinds = {"": Memory, "admin": Admin, "dreams": Dreams, "profile": Profiles}
    tools = {tool.name for tool in TOOLS}
    for method in SPANS:
        noun, _, name = method.rpartition(".")
        assert hasattr(kinds[noun], name) or method in tools, method
