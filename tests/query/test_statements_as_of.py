"""AS OF at every door: what a record says now is never passed off as what it said then."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from postgres_server import database
from remloom import Edge, Entity, Home, Memory, Moment, Resource
from remloom.model import Row, SchemaDefinition
from remloom.operations import TOOLS
from remloom.serve.cli.app import program

DAY = datetime(2024, 5, 1, tzinfo=UTC)
KINDS: dict[str, Any] = {
    "resource": lambda says: Resource(id="it", name="It", content=says),
    "moment": lambda says: Moment(id="it", name="It", starts_at=DAY, ends_at=DAY, summary=says),
    "entity": lambda says: Entity(id="it", name="It", type="lock", summary=says),
    "row": lambda says: Row(schema="locks", handle="it", name="It", fields={"says": says}),
}


@pytest.fixture(params=["sqlite", "keyed", "postgres"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    with ExitStack() as stack:
        home: Path | str = tmp_path
        if request.param == "postgres":
            home = stack.enter_context(database(request.getfixturevalue("postgres")))
            Home(home).migrate()
        key = "3f" * 32 if request.param == "keyed" else None
        memory = stack.enter_context(Memory.open(home, embedder="none", key=key))
        memory.schemas.register(
            SchemaDefinition(schema_name="locks", base_fields={"says": "string"})
        )
        yield memory


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("statement", ["LOOKUP it", "TRAVERSE WITH it", "TRAVERSE near WITH by"])
def test_a_record_says_what_it_said_then(memory: Memory, kind: str, statement: str) -> None:
    memory.write([Entity(name="By", type="lock"), Edge(src="By", rel_type="near", dst="it")])
    versions = []
    for says in ("It is open.", "It is shut.", "It is gone."):
        memory.write([KINDS[kind](says)])
        versions.append((says, datetime.now(UTC)))
    for says, at in versions:
        answer = memory.query(f"{statement} AS OF '{at.isoformat()}'").as_dict()
        shown = answer.get("nodes") or answer["records"]
        (found,) = [one for one in shown if one["name"] == "It"]
        assert says in str(found)
        assert "written_later" not in {**found, **answer["metadata"]}
    assert not memory.query(statement).metadata.get("written_later")


def test_whoever_asks_is_told_that_a_text_was_written_later(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="none") as memory:
        # it says of itself that it is older than the memory knows it
        memory.write([Resource(id="it", name="It", content="It is shut.", created_at=DAY)])
        at = datetime.now(UTC) - timedelta(days=1)
        query = next(one for one in TOOLS if one.name == "query")
        for statement in (
            f"LOOKUP it AS OF '{at.isoformat()}'",
            f"TRAVERSE WITH it AS OF '{at.isoformat()}'",
        ):
            given = query.does(memory, query.takes(statement=statement), None)
            assert "what they said then is not kept: [1]" in query.text(given)
        (described,) = memory.admin.describe("it", as_of=at).as_dict()["records"]
        assert described["written_later"] is True
        (described,) = memory.admin.describe("it").as_dict()["records"]
        assert "written_later" not in described
    for command in (
        ["lookup", "it", "--as-of", at.isoformat()],
        ["traverse", "it", "--as-of", at.isoformat()],
        ["show", "it", "--as-of", at.isoformat()],
    ):
        result = CliRunner().invoke(program, [*command, "--home", str(tmp_path)])
        assert result.exit_code == 0, result.output
        assert "written later" in result.output.replace("_", " ")
