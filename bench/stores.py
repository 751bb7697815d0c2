"""The tenants that are measured, built through the public API, batch by batch and timed.

Three kinds, because one store of everything would hide which part costs what: *chunks* (resources
with text and a vector), *names* (short records of every schema) and *graph* (entities and power-law
edges).
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np

from remloom import Edge, Entity, Memory, Moment, Resource

from . import data, reference
from .measure import Timing, timing

KEY = "5e" * 32
BATCH = 1_000
CATEGORIES = 100  # a filter on one keeps 1 %
_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
T = TypeVar("T")


def open_memory(home: Path, tenant: str, *, encrypted: bool) -> Memory:
    return Memory.open(home, tenant=tenant, key=KEY if encrypted else None, embedder="none")


def batches(items: Iterable[T], size: int = BATCH) -> Iterator[list[T]]:
    source = iter(items)
    while batch := list(itertools.islice(source, size)):
        yield batch


def chunks(count: int) -> Iterator[Resource]:
    """Resources of some 900 characters with a vector, in documents of twenty."""
    vectors = data.vectors(count, total=count)
    for number, text in enumerate(data.texts(count)):
        yield Resource(
            name=f"document {number // 20} #{number % 20 + 1}",
            content=text,
            category=f"c{number % CATEGORIES}",
            uri=f"docs/{number // 20}.md",
            ordinal=number % 20,
            metadata={"lines": [number % 20 * 9 + 1, number % 20 * 9 + 9]},
            embedding=vectors[number],
        )


def matrix(records: Sequence[Resource]) -> data.Floats:
    """Their vectors, a row each."""
    return np.asarray([record.embedding for record in records], np.float32)


def named(count: int) -> Iterator[Entity | Resource | Moment]:
    """Records of every schema with distinct names: seven entities, two resources and a moment in
    ten."""
    for number, name in enumerate(data.names(count)):
        match number % 10:
            case 7 | 8:
                yield Resource(name=name, content=f"{name} note", category="note")
            case 9:
                yield Moment(
                    name=name, type="meeting", starts_at=_EPOCH + timedelta(minutes=number)
                )
            case _:
                yield Entity(
                    type=("person", "project", "place")[number % 3],
                    name=name,
                    summary=f"{name} is number {number}.",
                    properties={"number": number, "team": f"t{number % 50}"},
                )


def node_name(number: int) -> str:
    return f"node {number}"


def edges(sources: Sequence[int], destinations: Sequence[int], *, start: int = 0) -> Iterator[Edge]:
    kinds = ("knows", "manages", "mentions", "part_of")
    for number, (src, dst) in enumerate(zip(sources, destinations, strict=True), start):
        yield Edge(
            src=node_name(src), rel_type=kinds[number % 4], dst=node_name(dst), weight=0.5,
            created_at=_EPOCH + timedelta(seconds=number),
        )  # fmt: skip


def write_all(
    memory: Memory, records: Iterable[Resource | Entity | Moment | Edge]
) -> tuple[list[str], Timing]:
    """Write in durable batches of a thousand; only the writing is timed."""
    ids: list[str] = []
    spent = []
    for batch in batches(records):
        before = time.perf_counter()
        ids += memory.write(batch)
        spent.append(time.perf_counter() - before)
    return ids, timing(spent, BATCH)


def write_beside(
    memory: Memory, records: Iterable[Resource | Entity | Moment | Edge], raw: reference.Inserts
) -> tuple[list[str], Timing, Timing]:
    """The same, with equal rows inserted into the bare engine in turns."""
    ids: list[str] = []
    ours: list[float] = []
    theirs: list[float] = []
    for batch in batches(records):
        before = time.perf_counter()
        ids += memory.write(batch)
        ours.append(time.perf_counter() - before)
        rows = [_row(record) for record in batch]
        before = time.perf_counter()
        raw.insert(rows)
        theirs.append(time.perf_counter() - before)
    return ids, timing(ours, BATCH), timing(theirs, BATCH)


def _row(record: Resource | Entity | Moment | Edge) -> tuple[str, str, bytes]:
    if isinstance(record, Edge):
        return record.src, record.dst, msgspec.json.encode(record)
    vector = b"" if record.embedding is None else bytes(memoryview(record.embedding))  # type: ignore[arg-type]
    plain = msgspec.structs.replace(record, embedding=None)
    return record.name, plain.schema, msgspec.json.encode(plain) + vector
