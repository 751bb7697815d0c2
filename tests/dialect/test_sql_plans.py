"""What a SELECT finds by an index in the embedded store (PostgreSQL: tests/postgres/test_plans.py)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from remloom import Entity, Memory, Moment, Resource
from remloom.testing.conformance.opening import T0


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with Memory.open(Path(tmp_path_factory.mktemp("plans")), tenant="t", embedder="none") as memory:
        memory.write([
            Resource(name="doc 7", content="x", uri="u7", category="note", kind="synthesis", starts_at=T0),
            Resource(name="doc 8", content="y", uri="u8"),
            Entity(name="Ann", type="person", properties={"age": 7}),
            Moment(name="Meeting", starts_at=T0),
        ])  # fmt: skip
        memory.create_index("entities", "properties.age")
        memory.create_index("resources", "metadata.page")  # for nothing that has another
        yield memory


@pytest.mark.parametrize(
    ("sql", "index"),
    [
        ("SELECT id FROM resources WHERE name = 'doc 7'", "INTEGER PRIMARY KEY"),
        (
            "SELECT id FROM resources WHERE name IN ('doc 7', 'doc 8') ORDER BY name",
            "INTEGER PRIMARY KEY",
        ),
        ("SELECT id FROM resources WHERE uri = 'u7'", "records_uri"),
        ("SELECT id FROM resources WHERE category = 'note'", "records_type (schema=? AND type=?)"),
        (
            "SELECT id FROM entities WHERE type IN ('person', 'thing')",
            "records_type (schema=? AND type=?)",
        ),
        ("SELECT id FROM resources WHERE kind = 'synthesis'", "records_kind"),
        (
            "SELECT id FROM resources WHERE created_at > '2025-01-01' ORDER BY created_at LIMIT 3",
            "created>?",
        ),
        ("SELECT id FROM resources ORDER BY created_at DESC LIMIT 3", "records_created"),
        (
            "SELECT id FROM moments WHERE starts_at >= '2025-01-01' ORDER BY starts_at LIMIT 3",
            "starts>?",
        ),
        (
            "SELECT id FROM moments WHERE starts_at >= '2025-01-01' ORDER BY starts_at DESC LIMIT 3",
            "starts>?",
        ),
        ("SELECT id FROM entities WHERE properties->>'age' = 7", "user_"),
        ("SELECT id FROM entities WHERE properties->>'age' IN (7, 8)", "<expr>=?"),
        ("SELECT id FROM entities WHERE properties->>'age' > 5", "<expr>>?"),
        ("SELECT id FROM entities ORDER BY properties->>'age' DESC LIMIT 3", "user_"),
    ],
)
def test_a_select_is_answered_from_an_index(memory: Memory, sql: str, index: str) -> None:
    plan = [detail for step, detail in memory.query(f"EXPLAIN {sql}").rows if step == "plan"]
    assert any(index in line for line in plan), plan
    if "name" not in sql:
        assert not any("TEMP B-TREE" in line for line in plan), plan
    assert not any("(schema=?)" in line and "ORDER BY" not in sql for line in plan), plan
    assert memory.sql(sql).rows


def test_an_index_made_later_is_used_and_explained(memory: Memory) -> None:
    sql = "SELECT id FROM entities WHERE properties->>'team' = 'blue'"
    memory.sql(sql)
    before = memory.query(f"EXPLAIN {sql}").rows
    memory.create_index("entities", "properties.team")
    after = memory.query(f"EXPLAIN {sql}").rows
    assert not any("<expr>=?" in detail for _, detail in before)
    assert any("<expr>=?" in detail for _, detail in after), after
