"""A label that means several things: each door says which, and none takes one for another."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio
import msgspec
import pytest
from click.testing import CliRunner
from mcp.client import Client as McpClient

from remloom import Client, Edge, Entity, Memory, Row
from remloom.errors import AmbiguousLabelError
from remloom.model import SchemaDefinition
from remloom.operations import TOOLS
from remloom.serve.caller import Caller
from remloom.serve.cli.app import program
from remloom.serve.mcp.server import make_server
from remloom.serve.service import Service
from remloom.settings import Settings
from remloom.store.specs import MOST_NAMESAKES
from remloom.tenancy.api_keys import SCOPES
from remloom.testing.models import ScriptedModel
from serving import served

TENANT = "acme"


def furnish(memory: Memory) -> dict[str, str]:
    """Write berths, the name of one being the handle of another, and an entity called so as well;
    returns their ids."""
    memory.schemas.register(SchemaDefinition(schema_name="berths", entity_types=("berth",)))
    ids = memory.write(
        [
            Row(schema="berths", type="berth", handle="berth-7", name="Berth 8"),
            Row(schema="berths", type="berth", handle="berth-8", name="North quay"),
            Entity(name="Berth 8", type="song"),
            Edge(src="berth-7", rel_type="next_to", dst="crane"),
            Edge(src="berth-8", rel_type="next_to", dst="lock"),
            Edge(src="boat", rel_type="lies_at", dst="berth-8"),
        ]
    )
    return dict(zip(("seven", "eight", "song"), ids, strict=False))


@pytest.fixture(params=["sqlite", "sqlite-with-key", "postgres"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    home = tmp_path if request.param != "postgres" else request.getfixturevalue("postgres")
    key = "a key of some length" if request.param == "sqlite-with-key" else None
    with Memory.open(home, tenant=uuid4().hex, key=key, embedder="none") as opened:
        yield opened


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home whose tenant has the berths; the environment names both."""
    monkeypatch.setenv("REMLOOM_HOME", str(tmp_path))
    monkeypatch.setenv("REMLOOM_TENANT", TENANT)
    monkeypatch.setenv("REMLOOM_EMBEDDER", "none")
    with Memory.open(tmp_path, tenant=TENANT, embedder="none") as opened:
        furnish(opened)
    return tmp_path


def ids_of(home: Path, label: str) -> list[str]:
    with Memory.open(home, tenant=TENANT, embedder="none") as memory:
        return [hit.id for hit in memory.lookup(label).records]


def reached(answer: Any) -> set[str]:
    return {node.record.name for node in answer.nodes if node.depth}


# -- by id -----------------------------------------------------------------------------------------


def test_the_edges_of_an_id_are_those_of_its_record_alone(memory: Memory) -> None:
    ids = furnish(memory)
    ends = {
        one: {(edge.src, edge.dst) for edge in memory.get_edges(ids[one], direction="both")}
        for one in ids
    }
    assert ends == {
        "seven": {("berth-7", "crane")},
        "eight": {("berth-8", "lock"), ("boat", "berth-8")},
        "song": set(),
    }


def test_a_walk_from_an_id_starts_from_its_record_alone(memory: Memory) -> None:
    ids = furnish(memory)
    walks = {one: memory.traverse(ids[one], direction="both") for one in ids}
    assert {one: reached(walk) for one, walk in walks.items()} == {
        "seven": {"crane"},
        "eight": {"lock", "boat"},
        "song": set(),
    }
    assert [node.id for node in walks["song"].nodes] == [ids["song"]]


def test_an_edge_is_given_by_id_to_no_other_record(memory: Memory) -> None:
    ids = furnish(memory)
    with pytest.raises(AmbiguousLabelError, match="alias") as raised:
        memory.write([Edge(src=ids["song"], rel_type="sung_by", dst="Ada")])
    assert ids["song"] in str(raised.value)
    assert {one["id"] for one in raised.value.fields["meanings"]} == set(ids.values())
    with pytest.raises(AmbiguousLabelError):
        memory.admin.delete_edge(ids["song"], "next_to", "lock")
    assert "sung_by" not in {edge.rel_type for edge in memory.get_edges("berth-8")}
    memory.write([Entity(id=ids["song"], name="Berth 8", type="song", aliases=("The Berth Song",))])
    memory.write([Edge(src=ids["song"], rel_type="sung_by", dst="Ada")])
    assert [edge.dst for edge in memory.get_edges(ids["song"])] == ["ada"]
    assert memory.admin.check() == []


def test_a_handle_that_more_are_called_than_a_name_means_still_leads_to_its_row(
    memory: Memory,
) -> None:
    furnish(memory)
    named = [
        Row(schema="berths", type="berth", handle=f"berth-{number}", name="Berth 9")
        for number in range(100, 101 + MOST_NAMESAKES)
    ]
    memory.write(named)
    memory.write([Row(schema="berths", type="berth", handle="berth-9", name="South quay")])
    memory.write([Edge(src="raft", rel_type="lies_at", dst="berth-9")])
    records = memory._engine.store.records
    (own,) = records.lookup(["berth-9"], own=True, limit=2, edges=0)["berth-9"]
    assert own.name == "South quay"
    assert reached(memory.traverse("raft")) == {"South quay"}
    answer = memory.lookup("berth-9")
    assert len(answer.records) == len(named) + 1
    assert len(answer.meanings["berth-9"]) == 20
    with pytest.raises(AmbiguousLabelError, match=f"means {len(named) + 1} things"):
        memory.forget("berth-9")


# -- through each door -----------------------------------------------------------------------------


def test_a_walk_from_a_label_of_several_meanings_says_so(memory: Memory) -> None:
    ids = furnish(memory)
    answer = memory.query("TRAVERSE WITH LOOKUP berth-8, boat")
    assert {one.id for one in answer.meanings["berth-8"]} == set(ids.values())
    assert [one["id"] for one in answer.metadata["meanings"]["berth-8"]] == [
        one.id for one in answer.meanings["berth-8"]
    ]
    assert "meanings" not in memory.query("TRAVERSE WITH LOOKUP boat").metadata
    assert "meanings" in memory.query("TRAVERSE WITH LOOKUP berth-8, nowhere").metadata


@pytest.mark.parametrize("statement", ["LOOKUP berth-8", "TRAVERSE WITH LOOKUP berth-8"])
def test_the_command_line_says_what_a_label_means(home: Path, statement: str) -> None:
    for words in (["query", statement], ["lookup", "berth-8"]):
        shown = " ".join(CliRunner().invoke(program, words).stdout.split())
        assert "berth-8 means 3 things" in shown
        for id in ids_of(home, "berth-8"):
            assert id in shown


def test_the_command_line_forgets_none_of_several_and_says_how_to_forget_one(home: Path) -> None:
    ids = ids_of(home, "berth-8")
    for options in ([], ["--yes"], ["--dry-run"]):
        refused = CliRunner().invoke(program, ["forget", "Berth 8", *options])
        assert refused.exit_code not in (0, 1, 2)
        assert refused.stdout == ""
        assert "means 3 things, and none was forgotten" in refused.stderr
        assert "forget one of them by" in refused.stderr
        assert all(id in refused.stderr for id in ids)
    assert ids_of(home, "berth-8") == ids
    done = CliRunner().invoke(program, ["forget", ids[0], "--yes"])
    assert done.exit_code == 0, done.output
    assert ids_of(home, "berth-8") == ids[1:]


def test_tools_tell_a_model_what_a_label_means(home: Path) -> None:
    tools = {tool.name: tool for tool in TOOLS}
    calls: list[tuple[str, dict[str, Any]]] = [
        ("lookup", {"labels": ["berth-8"]}),
        ("query", {"statement": "LOOKUP berth-8"}),
        ("query", {"statement": "TRAVERSE WITH LOOKUP berth-8"}),
    ]
    with Memory.open(home, tenant=TENANT, embedder="none") as memory:
        for name, arguments in calls:
            tool = tools[name]
            value = tool.does(memory, msgspec.convert(arguments, tool.takes), None)
            assert tool.text
            _, _, told = tool.text(value).partition("Several things are called so")
            for id in ids_of(home, "berth-8"):
                assert id in told, name


def test_mcp_refuses_to_forget_one_of_several_and_names_them(home: Path) -> None:
    service = Service(Settings.load(home=str(home), tenant=TENANT, embedder="none"))
    caller = Caller(key_id="test", tenant=TENANT, scopes=frozenset(SCOPES))

    async def run() -> Any:
        async with McpClient(make_server(service, lambda context: caller, "default")) as client:
            return await client.call_tool("forget", {"what": ["berth-8"], "dry_run": False})

    try:
        refused = anyio.run(run)
    finally:
        service.close()
    assert refused.is_error
    ids = ids_of(home, "berth-8")
    assert len(ids) == 3
    assert all(id in refused.content[0].text for id in ids)


def test_rest_answers_with_the_meanings(home: Path) -> None:
    with served(home, tenants=()) as client:
        found = client.post("/v1/lookup", json={"labels": ["berth-8"]}).json()
        meant = found["report"]["meanings"]["berth-8"]
        walked = client.post("/v1/query", json={"statement": "TRAVERSE WITH LOOKUP berth-8"}).json()
        assert walked["report"]["meanings"]["berth-8"] == meant
        refused = client.post("/v1/forget", json={"targets": ["berth-8"]})
    assert refused.status_code == 409
    assert refused.headers["content-type"] == "application/problem+json"
    shown = refused.json()
    assert shown["error"] == "AmbiguousLabelError"
    assert shown["remedy"]
    assert shown["fields"]["label"] == "berth-8"
    told = [one["id"] for one in shown["fields"]["meanings"]]
    assert told == [one["id"] for one in meant]
    assert sorted(told) == sorted(ids_of(home, "berth-8"))


def test_a_client_has_the_meanings_and_raises_what_memory_raises(home: Path) -> None:
    with (
        served(home, tenants=()) as http,
        Client("http://testserver", key="any", http=http) as client,
    ):
        ids = {one.id for one in client.lookup("berth-8").meanings["berth-8"]}
        walked = client.query("TRAVERSE WITH LOOKUP berth-8")
        assert {one.id for one in walked.meanings["berth-8"]} == ids
        with pytest.raises(AmbiguousLabelError) as raised:
            client.forget("berth-8")
        assert {one["id"] for one in raised.value.fields["meanings"]} == ids
        assert raised.value.remedy


def test_a_model_that_asks_is_told_what_a_label_means(home: Path) -> None:
    turn = {"reasoning": "", "staged_plan": [], "memo": "", "statement": "", "confidence": 0.9}
    statements = ("LOOKUP berth-8", "TRAVERSE WITH LOOKUP berth-8")
    model = ScriptedModel(
        [
            *(turn | {"statement": statement, "answer": ""} for statement in statements),
            turn | {"answer": "There are three [1]."},
        ]
    )
    with Memory.open(home, tenant=TENANT, embedder="none", llm=model) as memory:
        memory.ask("What is berth 8?")
    for request in model.requests[1:]:
        seen = json.dumps(msgspec.to_builtins(request), ensure_ascii=False)
        assert "several things are called so" in seen
        assert all(id in seen for id in ids_of(home, "berth-8"))
