"""What repeats a text that was replaced follows it: turns beside it, its name, its moment and source,
and what says it anew."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from remloom import Edge, Memory, Message, Moment, Resource
from remloom.model.supersession import superseded_of
from remloom.operations.tools.remember import REMEMBER
from remloom.operations.tools.timeline import TIMELINE
from remloom.runs.rollback import rollback
from remloom.runs.run import begin_run
from remloom.runs.writer import Writer
from remloom.store.premises import find_stale

SAID = ("Hello there.", "I live in Oslo.", "That is far.", "It is cold.", "See you.")
HOME = "Ann lives in Oslo."


def turns(*texts: str, start: int = 0) -> list[Message]:
    at = datetime(2026, 3, 1, 9, tzinfo=UTC)
    return [
        Message(speaker="Ann", text=text, id=f"m{n}", at=at.replace(minute=n))
        for n, text in enumerate(texts, start)
    ]


def contexts(memory: Memory) -> list[str]:
    texts = sorted(memory.admin.records("resources"), key=lambda text: text.ordinal)
    return [text.context for text in texts if text.uri == "chat:1"]


def words(memory: Memory, text: str) -> list[str]:
    """The ids of what a search for words finds."""
    return [hit.id for hit in memory.search_text(text).records]


def tool(memory: Memory, **arguments: Any) -> Any:
    return REMEMBER.does(memory, REMEMBER.takes(**arguments), None)


# -- turns beside it -----------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["as it was", "gone on with", "read again", "another beside it"])
def test_the_turns_beside_a_replaced_turn_do_not_say_it(memory: Memory, how: str) -> None:
    ids = memory.read_chat(turns(*SAID), uri="chat:1").ids
    before = contexts(memory)
    assert len(words(memory, "Oslo")) > 1
    memory.write([Resource(id="new", content="I live in Rome.", replaces=ids[1])])
    if how == "gone on with":
        memory.read_chat(turns("Bye.", start=5), uri="chat:1", append=True)
    elif how == "read again":
        memory.read_chat([*turns(*SAID), *turns("Bye, then.", start=5)], uri="chat:1")
    elif how == "another beside it":
        memory.write([Resource(id="warm", content="It is warm.", replaces=ids[2])])
        memory.unreplace(ids[2])
    assert words(memory, "Oslo") == []
    assert not any("Oslo" in context for context in contexts(memory))
    assert "cold" in contexts(memory)[2]
    memory.unreplace(ids[1])
    assert contexts(memory)[: len(before) - 1] == before[:-1]
    assert ids[1] in words(memory, "Oslo")
    assert memory.admin.check() == []


def test_forgetting_reaches_what_a_replaced_turn_is_understood_by(memory: Memory) -> None:
    ids = memory.read_chat(turns(*SAID), uri="chat:1").ids
    memory.write([Resource(id="new", content="That is near.", replaces=ids[2])])
    assert memory.forget(ids[1]).verified
    assert "Oslo" not in str(list(memory.admin.records()))
    assert "Oslo" not in memory.unreplace(ids[2]).context
    memory.write([Resource(id="new2", content="That is near.", replaces=ids[2])])
    assert memory.forget(ids[2], "new2").verified
    assert "far" not in str(list(memory.admin.records()))


def test_the_session_names_what_is_named_in_what_holds(memory: Memory) -> None:
    ids = memory.read_chat(turns(*SAID), uri="chat:1").ids
    (session,) = memory.admin.records("moments")
    assert "Oslo" in session.topic_tags
    memory.write([Resource(id="new", content="I live in Rome.", replaces=ids[1])])
    (now,) = memory.admin.records("moments")
    assert "Oslo" not in (*now.topic_tags, *now.entity_refs)
    assert (now.resource_refs, now.speakers) == (session.resource_refs, session.speakers)
    memory.unreplace(ids[1])
    assert memory.get_moment(session.id).topic_tags == session.topic_tags


# -- its name ------------------------------------------------------------------------------------


def found_by_name(memory: Memory, label: str) -> set[str]:
    """What each kind of question about a name finds, by name."""
    fuzzy = [hit.record.name for hit in memory.fuzzy(label, threshold=0.9).records]
    started = [node.record.name for node in memory.traverse(label, max_depth=0).nodes]
    looked_up = [hit.record.name for hit in memory.lookup(label).records]
    reached = [
        node.record.name for node in memory.traverse("Ann", direction="in", max_depth=1).nodes[1:]
    ]
    selected = [
        name
        for table in ("resources", "entities", "moments")
        for ((name),) in memory.sql(f"SELECT name FROM {table} WHERE name = '{label}'").rows
    ]
    return {*fuzzy, *started, *looked_up, *reached, *selected}


def test_a_name_stands_for_what_holds(memory: Memory) -> None:
    [old] = tool(memory, text=HOME, about=["Ann"]).ids
    before = datetime.now(UTC)
    assert found_by_name(memory, HOME) == {HOME}
    [new] = tool(memory, text="Ann lives in Rome.", about=["Ann"], replaces=old).ids
    assert found_by_name(memory, HOME) == {"Ann lives in Rome."}
    answer = memory.lookup(HOME)
    assert [hit.id for hit in answer.records] == [new]
    assert [one.how for one in answer.report.resolved] == ["it replaced the text of this name"]
    # of before it is what it was
    was = memory.lookup(HOME, as_of=before).records
    assert {hit.schema for hit in was} == {"resources", "entities", "moments"}
    assert memory.query(f"LOOKUP '{HOME}' AS OF '{datetime.now(UTC).isoformat()}'").records == []
    by_id = memory.get_resource(old)
    assert superseded_of(by_id)
    memory.unreplace(old)
    assert found_by_name(memory, HOME) == {HOME, "Ann lives in Rome."}
    assert memory.forget(HOME).verified
    assert memory.admin.check() == []


def test_a_select_gives_what_was_replaced_if_it_asks_by_what(memory: Memory) -> None:
    memory.write([Resource(id="old", name="home", content=HOME)])
    memory.write([Resource(id="new", content="Ann lives in Rome.", replaces="old")])
    assert memory.sql("SELECT id FROM resources").rows == [("new",)]
    assert memory.sql("SELECT count(*) FROM resources").rows == [(1,)]
    assert sorted(memory.sql("SELECT id, replaced_by FROM resources").rows) == [
        ("new", None),
        ("old", "new"),
    ]
    rows = memory.sql("SELECT id FROM resources WHERE replaced_by = 'new'").rows
    assert rows == [("old",)]
    assert "replaced_by" not in memory.sql("SELECT * FROM resources").columns
    memory.unreplace("old")
    assert len(memory.sql("SELECT id FROM resources").rows) == 2


def test_replaced_texts_take_no_place_among_those_that_are_reached(memory: Memory) -> None:
    names = [f"note {n}" for n in range(12)]
    memory.write([Resource(id=name, name=name, content=f"It is {name}.") for name in names])
    memory.write([Edge(src="Ann", rel_type="wrote", dst=name) for name in names])
    for number in range(4, 12):
        memory.write(
            [Resource(id=f"new {number}", content=f"Now {number}.", replaces=f"note {number}")]
        )
    for way in ("breadth-first", "depth-first"):
        answer = memory.traverse("Ann", limit=3, breadth=20, strategy=way)
        assert len(answer.nodes) == 4
        assert {node.record.name for node in answer.nodes} < {"Ann", *names[:4]}
        assert answer.report.omitted_nodes == 1


def test_a_timeline_has_no_empty_place_for_it(memory: Memory) -> None:
    [old] = tool(memory, text=HOME).ids
    tool(memory, text="Ann lives in Rome.", replaces=old)
    ids = memory.read_chat(turns(*SAID), uri="chat:1").ids
    memory.write([Resource(id="hi", content="Good day.", replaces=ids[0])])
    told = TIMELINE.does(memory, TIMELINE.takes(), None)
    assert all("was" not in passage.facts for passage in told.moments)
    assert [passage.before for passage in told.moments if passage.type == "conversation"] == [
        "Ann: I live in Oslo."
    ]
    assert HOME not in [passage.name for passage in told.moments]


# -- what says it anew ---------------------------------------------------------------------------


def test_what_was_replaced_stays_so_when_its_file_says_it_again(
    memory: Memory, tmp_path: Path
) -> None:
    file = tmp_path / "home.md"
    file.write_text(HOME)
    (old,) = memory.read(file).ids
    memory.write([Resource(id="new", content="Ann lives in Rome.", replaces=old)])
    file.write_text("TODO")
    memory.read(file)
    file.write_text(HOME)
    assert memory.read(file).ids == (old,)
    assert words(memory, "Oslo") == []
    assert memory.fuzzy("home", threshold=0.9).records == []
    with (tmp_path / "all.jsonl").open("wb") as stream:
        memory.admin.export(stream)
    mark = superseded_of(memory.get_resource(old))
    assert mark is not None
    assert (mark.by, mark.content) == ("new", HOME)
    assert memory.unreplace(old).content == HOME
    file.write_text("TODO")
    memory.read(file)
    file.write_text(HOME)
    memory.read(file)
    assert old in words(memory, "Oslo")
    with (
        (tmp_path / "all.jsonl").open("rb") as stream,
        Memory.open(tmp_path / "other", tenant="other", embedder="none") as other,
    ):
        other.admin.import_(stream)
        assert words(other, "Oslo") == []
        assert other.sql("SELECT id FROM resources").rows == [("new",)]


def test_what_was_forgotten_is_read_as_new(memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "home.md"
    for between in (None, "TODO"):
        file.write_text(HOME)
        (old,) = memory.read(file).ids
        memory.write([Resource(content="Ann lives in Rome.", replaces=old)])
        if between:
            file.write_text(between)
            memory.read(file)
        assert memory.forget(str(file)).verified
        assert memory.admin.store.kv.list("replaced") == []
        file.write_text(HOME)
        memory.read(file)
        assert old in words(memory, "Oslo")
        memory.forget(str(file))


# -- what is taken back, and since when ----------------------------------------------------------


def test_a_rollback_keeps_what_somebody_replaced(memory: Memory) -> None:
    memory.write([Resource(id="note", content=HOME)])
    writer = Writer(memory.admin.store, "tenant", begin_run(memory.admin.store, "learn", {}))
    made = Resource(id="made", content="Ann needs a bank.", kind="synthesis", parents=("note",))
    writer.write(["note"], [made, Resource(id="other", content="o", parents=("note",))])
    writer.finish()
    memory.write([Resource(id="new", content="Ann has a bank.", replaces="made")])
    receipt = rollback(memory.admin.store, writer.id).receipt
    assert (receipt["removed"], receipt["kept"]) == (1, 1)
    assert [link.id for link in memory.history("new").chain] == ["made", "new"]
    assert memory.unreplace("made").content == made.content


def test_a_text_holds_no_longer_than_since_the_one_before_was_there(memory: Memory) -> None:
    earlier = datetime.now(UTC) - timedelta(days=9)
    long_ago = earlier - timedelta(days=9)
    memory.write([Resource(id="old", name="home", content=HOME, created_at=earlier)])
    memory.write([Resource(id="new", name="now", content="Rome.", replaces="old", since=long_ago)])
    mark = superseded_of(memory.get_resource("old"))
    assert mark is not None
    assert mark.since == long_ago
    between, after = earlier - timedelta(days=1), earlier + timedelta(days=1)
    assert memory.lookup("now", as_of=between).records == []
    assert [hit.content for hit in memory.lookup("now", as_of=after).records] == ["Rome."]
    assert memory.lookup("home", as_of=after).records == []


@pytest.mark.parametrize("kind", ["text", "moment"])
def test_what_rests_on_what_expired_can_be_confirmed(memory: Memory, kind: str) -> None:
    memory.write([Resource(id="note", content=HOME), Resource(id="lasting", content="It snows.")])
    made: Any = {
        "text": Resource(id="made", content="Ann needs a bank.", parents=("note",)),
        "moment": Moment(id="made", name="Moving", resource_refs=("note",)),
    }[kind]
    memory.write([made])
    memory.admin.set_expiry(["note"], datetime.now(UTC) - timedelta(seconds=1))
    records = memory.admin.store.records
    assert find_stale(records, ["made"])["made"].reason == "expired"
    run = memory.confirm("made")
    assert find_stale(records, ["made"]) == {}
    memory.runs.rollback(run.id)
    assert find_stale(records, ["made"])["made"].reason == "expired"
    memory.confirm("made")
    memory.admin.sweep()
    assert memory.history("made").entries[0].confirmed
