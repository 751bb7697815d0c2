"""A memory that follows a fake database, and what it holds, for tests of sync."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

from fake_database import FakeDatabase

from remloom import Edge, Entity, Memory, labels
from remloom.model import Row
from remloom.schema.plan.plan import Plan
from remloom.schema.plan.source import Source
from remloom.schema.sync.report import SyncReport
from remloom.schema.sync.run import sync
from remloom.schema.sync.writer import Target
from remloom.store.contract import Store

__all__ = ["Follower", "contents"]


class Follower:
    """A memory of its own, with the schemas of a plan."""

    def __init__(self, home: Path | Memory, database: FakeDatabase, plan: Plan) -> None:
        if isinstance(home, Path):
            home = Memory.open(home, tenant="sales", embedder="none")
        self.memory = home
        self.store: Store = self.memory._engine.store
        self._database = database
        self._source = Source(name=plan.source, plan=plan, salt="00")
        for definition in plan.schemas:
            self.memory.schemas.register(definition)

    def sync(self, **options: Any) -> SyncReport:
        target = Target(self.store, self.memory._engine.settings.tenant)
        return sync(target, self._source, self._database, **options)

    def rows(self, schema: str) -> list[Row]:
        return [row for row in self.store.records.all(schema) if isinstance(row, Row)]

    def row(self, schema: str, handle: str) -> Row:
        return next(row for row in self.rows(schema) if row.handle == handle)

    def found(self, label: str) -> list[str]:
        records = [hit.record for hit in self.memory.lookup(label).records]
        return sorted(record.handle for record in records if isinstance(record, Row))

    def edges(self, **wanted: str) -> list[Edge]:
        return [
            edge
            for edge in self.store.graph.all_edges()
            if all(getattr(edge, name) == value for name, value in wanted.items())
        ]

    def edge(self, src: str, rel_type: str, dst: str) -> Edge:
        (edge,) = self.edges(src=src, rel_type=rel_type, dst=dst)
        return edge

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.memory.close()


def contents(memory: Memory, *, whole: bool = False) -> dict[str, Any]:
    """Say what a memory holds, but for times and ids; with them when `whole`."""
    store: Store = memory._engine.store
    records = list(store.records.all())
    rows = [record for record in records if isinstance(record, Row)]
    thin = [record for record in records if isinstance(record, Entity)]
    edges = list(store.graph.all_edges())
    if whole:
        return {"rows": rows, "thin": thin, "edges": edges}
    return {
        "rows": sorted(map(_row, rows)),
        "thin": sorted((labels.key(entity.name), entity.type) for entity in thin),
        "edges": sorted((*edge.key, str(sorted(edge.properties.items()))) for edge in edges),
    }


def _row(row: Row) -> tuple[Any, ...]:
    fields = str(sorted(row.fields.items()))
    return row.schema, row.handle, row.id, row.name, row.type, row.aliases, fields, row.uri
