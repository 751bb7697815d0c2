"""What is stale is marked wherever it is served, behind what is not, with what changed beside it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from remloom import Edge, Entity, Home, Memory, Moment, Resource
from remloom.errors import AmbiguousLabelError, NotFoundError, UnknownNameError
from remloom.federation import Federation
from remloom.model.premises import Stale, premises_of
from remloom.model.records import short_id
from remloom.operations import OPERATIONS, TOOLS
from remloom.serve.cli.app import program

LEAD = Resource(id="lead", name="Lead of Orion", content="Bob leads team Orion.", uri="notes.md")
CHANGED = replace(LEAD, content="Ann leads team Orion since May.")
REVIEW = Resource(id="review", name="Who reviews", content="Reviews of Orion go to Bob.", parents=("lead",))  # fmt: skip
ABOVE = Resource(id="above", name="Orion in short", content="Orion: Bob reviews.", parents=("review",))  # fmt: skip
FRESH = Resource(
    id="fresh", name="Room", content="Team Orion reviews sit in room 4.", uri="room.md"
)
WALK = Moment(id="walk", name="Orion review", summary="Bob reviewed Orion.", resource_refs=("lead",), premises=premises_of([LEAD]))  # fmt: skip
QUESTION = "Who reviews team Orion?"
AT = datetime(2025, 1, 15, 10, tzinfo=UTC)
WORDS = st.text("abc xyz", max_size=8)
# nothing of what a text says
TOUCHES = st.fixed_dictionaries(
    {},
    optional={
        "category": WORDS,
        "ordinal": st.integers(0, 99),
        "language": st.sampled_from(["", "en", "de"]),
        "related_entities": st.lists(st.sampled_from(["Bob", "Ann", "Orion"]), max_size=3).map(
            tuple
        ),
        "metadata": st.dictionaries(
            st.sampled_from(["seen", "lines_of", "tag"]), WORDS, max_size=3
        ),
        "graph_paths": st.sampled_from([(), (Edge(rel_type="about", dst="Orion"),)]),
    },
)
MARK = "Lead of Orion changed on "


def fill(memory: Memory) -> None:
    memory.write([LEAD, FRESH])
    memory.write([REVIEW, WALK])
    memory.write([ABOVE, Edge(src="Orion", rel_type="has", dst="Who reviews")])
    memory.write([CHANGED])


def marks(hits: Any) -> dict[str, str]:
    return {hit.id: hit.stale.reason for hit in hits if hit.stale is not None}


def test_each_way_to_ask_marks_it(memory: Memory) -> None:
    fill(memory)
    memory.write([replace(FRESH, id="other", parents=("fresh",), content="Orion, room four.")])
    everything = {"review": "changed", "above": "below", "walk": "changed"}
    assert marks(memory.recall(QUESTION, abstain=False).hits) == everything
    assert marks(memory.lookup("Who reviews", "Orion in short", "Room").records) == {
        "review": "changed",
        "above": "below",
    }
    assert marks(memory.fuzzy("Who reviews", threshold=0.9).records) == {"review": "changed"}
    assert marks(memory.search_text("Orion").records) == everything
    walked = memory.query("TRAVERSE WITH LOOKUP Orion DEPTH 1")
    assert marks(walked.nodes) == {"review": "changed"}
    shown = [node for node in walked.as_dict()["nodes"] if "stale" in node]
    assert [node["stale"]["path"] for node in shown] == [["lead"]]
    assert memory.lookup("Who reviewz").suggestions[0].stale is not None
    memory.write([LEAD])
    assert marks(memory.recall(QUESTION, abstain=False).hits) == {}
    assert marks(memory.search_text("Orion").records) == {}


def test_as_json_it_says_the_reason_the_path_the_time_and_all_of_it_in_words(
    memory: Memory,
) -> None:
    fill(memory)
    [hit] = memory.lookup("Orion in short").as_dict()["records"]
    changed = memory.get_resource("lead").updated_at
    assert changed is not None
    assert hit["stale"] == {
        "reason": "below",
        "path": ["review", "lead"],
        "at": changed.isoformat(),
        "message": f"Lead of Orion, further below, is no longer what it was on {changed:%Y-%m-%d}",
    }
    json.dumps(hit["stale"])


def test_recall_gives_it_behind_the_others_with_what_changed(memory: Memory) -> None:
    fill(memory)
    found = memory.recall(QUESTION, abstain=False)
    stale = [hit.stale is not None for hit in found.hits]
    assert stale == sorted(stale)
    assert {hit.id for hit in found.hits if not hit.stale} == {"lead", "fresh"}
    by_id = {hit.id: hit for hit in found.hits}
    assert by_id["review"].changed == memory.get_resource("lead")
    assert by_id["above"].changed == memory.get_resource("lead")
    assert by_id["review"].as_dict()["changed"]["content"] == CHANGED.content


def test_recall_leaves_it_out_or_gives_nothing_else_and_fills_the_limit(memory: Memory) -> None:
    fill(memory)
    memory.write(
        [replace(FRESH, id=f"r{n}", name=f"r{n}", content=f"Orion reviews {n}.") for n in range(9)]
    )
    for limit in (1, 3, 10):
        fresh = memory.recall(QUESTION, stale="omit", limit=limit).hits
        assert len(fresh) == limit
        assert marks(fresh) == {}
    only = memory.recall(QUESTION, stale="only", abstain=False).hits
    assert {hit.id for hit in only} == set(marks(only)) == {"review", "above", "walk"}
    with pytest.raises(UnknownNameError, match="omit"):
        memory.recall(QUESTION, stale="never")  # type: ignore[arg-type]


def test_a_time_that_is_asked_for_has_it_marked_too(memory: Memory) -> None:
    at = AT
    note = replace(LEAD, starts_at=at)
    walk = replace(WALK, starts_at=at, ends_at=at, premises=premises_of([note]))
    memory.write([note, walk])
    memory.write([replace(CHANGED, starts_at=at)])
    asked = {"mode": "temporal", "now": at}
    assert marks(memory.recall("What was in January 2025?", **asked).hits) == {"walk": "changed"}
    assert memory.recall("What was in January 2025?", stale="omit", **asked).hits[0].id == "lead"
    only = memory.recall("What was in January 2025?", stale="only", **asked)
    assert [hit.id for hit in only.hits] == ["walk"]


def test_a_context_has_it_below_a_heading_of_its_own_within_the_budget(memory: Memory) -> None:
    fill(memory)
    text = memory.context(QUESTION, abstain=False)
    fresh, heading, stale = text.partition("Made before something that it rests on changed")
    assert heading
    assert "room 4" in fresh
    assert "Bob" not in fresh
    assert MARK in stale
    assert "> Reviews of Orion go to Bob." in stale
    # what changed is there once
    assert text.count("Ann leads team Orion") == 1
    alone = memory.context(QUESTION, abstain=False, where="name = 'Who reviews'")
    assert "now " in alone
    assert "> Ann leads team Orion since May." in alone
    for budget in range(40, 200, 5):
        recalled = memory.recall(QUESTION, abstain=False, budget_tokens=budget)
        assert recalled.tokens <= budget
    memory.write([LEAD])
    assert "Made before" not in memory.context(QUESTION, abstain=False)


def test_a_select_has_a_column_for_it(memory: Memory) -> None:
    fill(memory)

    def rows(sql: str) -> list[Any]:
        return [tuple(row) for row in memory.query(sql).rows]

    assert rows("SELECT id, stale FROM resources ORDER BY id") == [
        ("above", True),
        ("fresh", False),
        ("lead", False),
        ("review", True),
    ]
    assert rows("SELECT id FROM resources WHERE stale AND name = 'Who reviews'") == [("review",)]
    assert rows("SELECT id FROM resources WHERE NOT stale ORDER BY id") == [("fresh",), ("lead",)]
    assert rows("SELECT count(*) FROM resources WHERE stale = true") == [(2,)]
    assert rows("SELECT stale, count(*) FROM resources GROUP BY stale ORDER BY 2, 1") == [
        (False, 2),
        (True, 2),
    ]
    assert rows("SELECT id FROM moments WHERE stale") == [("walk",)]
    assert "stale" not in memory.query("SELECT * FROM resources").columns
    explained = memory.query("EXPLAIN SELECT id FROM resources WHERE stale")
    assert any(step == "stale" and "2 are stale" in detail for step, detail in explained.rows)
    memory.write([LEAD])
    assert rows("SELECT id FROM resources WHERE stale") == []
    assert rows("SELECT id FROM moments WHERE stale") == []


# -- ids -------------------------------------------------------------------------------------------


def test_the_text_of_recall_names_ids_that_tools_take(memory: Memory) -> None:
    from remloom import Message

    said = [Message(speaker="Ann", text=f"Orion is at stand {n}.") for n in range(3)]
    memory.read_chat(said, uri="chat.json")
    hits = memory.recall("Where is Orion?").hits
    text = memory.context("Where is Orion?")
    for hit in hits:
        short = short_id(hit.id)
        assert len(short) == 8
        assert short in text
        assert memory.get_resource(short) == memory.get_resource(hit.id)
        assert memory.history(short).entries[0].id == hit.id
    with pytest.raises(NotFoundError):
        memory.get_resource(short_id(hits[0].id)[:7])
    memory.forget(short_id(hits[0].id), by="id")
    assert len(memory.recall("Where is Orion?").hits) == 2


def test_an_id_that_may_be_of_several_is_refused_with_all_of_them(memory: Memory) -> None:
    same = "0123abcd-0000-5000-8000-00000000000"
    memory.write([replace(FRESH, id=f"{same}{n}", name=f"n{n}") for n in range(2)])
    memory.write([Entity(id=f"{same}7", name="Seven")])
    for ask in (memory.get_resource, memory.forget, memory.history):
        with pytest.raises(AmbiguousLabelError, match="more of the id"):
            ask("0123abcd")
    assert memory.get_entity(f"{same}7").name == "Seven"
    assert memory.get_resource(f"{same}1").name == "n1"


# -- doors -----------------------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    with Memory.open(tmp_path, tenant="legal", embedder="none") as memory:
        fill(memory)
    Home(str(tmp_path)).create("sales")
    return tmp_path


def test_the_command_line_marks_it(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REMLOOM_EMBEDDER", "none")

    def run(*line: str) -> str:
        result = CliRunner().invoke(program, [*line, "--home", str(home), "--tenant", "legal"])
        assert result.exit_code == 0, result.output
        return result.output

    assert MARK in run("recall", QUESTION, "--anyway")
    assert MARK in run("recall", QUESTION, "--anyway", "--explain")
    assert MARK in run("recall", QUESTION, "--anyway", "--context")
    assert MARK not in run("recall", QUESTION, "--stale", "omit")
    assert MARK in run("lookup", "Who reviews")
    assert MARK in run("traverse", "Orion")


# by name of an operation that gives what is told of records: how it comes to what is stale
ASKED: dict[str, dict[str, Any]] = {
    "recall": {"question": QUESTION},
    "context": {"question": QUESTION},
    "lookup": {"labels": ["Who reviews", "Orion in short", "Orion review"]},
    "fuzzy": {"text": "Who reviews"},
    "search_text": {"text": "Orion"},
    "traverse": {"label": "Orion"},
    "query": {"statement": "TRAVERSE WITH LOOKUP Orion"},
    "rem_query": {"query_type": "lookup", "parameters": {"labels": ["Who reviews"]}},
    "describe": {"id_or_label": "Who reviews"},
    "history": {"id": "review"},
    "show": {"what": "Who reviews"},
    "timeline": {},
    "fetch": {"id": "review"},
    "search_entities": {"query": "Orion"},
}


@pytest.mark.parametrize("name", ASKED)
def test_each_operation_that_tells_of_it_says_so(home: Path, name: str) -> None:
    called = [one for one in (*OPERATIONS, *TOOLS) if one.name == name]
    assert called
    with Memory.open(home, tenant="legal", embedder="none") as memory:
        memory.write([replace(WALK, starts_at=AT, ends_at=AT)])
        for operation in called:
            values = msgspec.convert(ASKED[name], operation.takes)
            given = operation.does(memory, values, None)
            texts = [msgspec.json.encode(given, enc_hook=str).decode()]
            texts += [operation.text(given)] if operation.text else []
            for text in texts:
                for said in (REVIEW.content, ABOVE.content, WALK.summary):
                    assert said not in text or "Lead of Orion" in text
            assert any("stale" in text or "Made before" in text for text in texts) or (
                name == "search_entities"
            )


def test_no_touch_of_what_it_rests_on_marks_anything(
    memory: Memory, pytestconfig: pytest.Config
) -> None:
    # 10,000 touches in the long form, in each kind of store
    examples, size = (400, 25) if pytestconfig.getoption("--long") else (15, 5)
    memory.write([LEAD, REVIEW, WALK])

    @settings(max_examples=examples, deadline=None)
    @given(touches=st.lists(TOUCHES, min_size=size, max_size=size))
    def check(touches: list[Any]) -> None:
        for touch in touches:
            written = memory.write([replace(LEAD, **{**touch, "id": "lead"})])
            assert written.stale == 0
        assert marks(memory.search_text("Orion").records) == {}
        assert memory.query("SELECT id FROM resources WHERE stale").rows == []

    check()


def test_other_tenants_see_why_only_where_they_may_see_what_changed(home: Path) -> None:
    Home(str(home)).grant("legal", to="sales", where="name = 'Who reviews'", schemas=["resources"])
    with Federation.open(home, as_tenant="sales", embedder="none") as others:
        for hits in (
            others.recall(QUESTION, abstain=False).hits,
            others.lookup("Who reviews").hits,
            others.search_text("reviews").hits,
        ):
            [hit] = hits
            message = "something that it rests on changed"
            assert hit.stale == Stale(reason="changed", message=message)
            assert hit.changed is None
        text = others.context(QUESTION, abstain=False)
        assert message in text
        assert "Lead" not in text
        assert "Ann" not in text
        assert others.recall(QUESTION, abstain=False, stale="omit").hits == []
    Home(str(home)).grant("legal", to="sales", schemas=["resources"])
    with Federation.open(home, as_tenant="sales", embedder="none") as others:
        found = {hit.id: hit for hit in others.recall(QUESTION, abstain=False).hits}
        assert found["review"].stale is not None
        assert found["review"].stale.path == ("lead",)
        assert found["review"].changed is not None


def test_what_rests_on_nothing_costs_nothing(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="none") as memory:
        memory.write([LEAD, FRESH, Entity(name="Orion")])
        calls: list[Any] = []
        records = type(memory.admin.store.records)
        original = records.premises
        records.premises = lambda self, ids: calls.append(ids) or original(self, ids)  # type: ignore[assignment, func-returns-value, method-assign]
        try:
            memory.recall(QUESTION, abstain=False)
            memory.lookup("Room", "Orion")
            assert calls == []
            memory.write([REVIEW])
            memory.recall(QUESTION, abstain=False)
            assert len(calls) == 1
        finally:
            records.premises = original  # type: ignore[method-assign]
