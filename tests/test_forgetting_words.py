"""A word that several things go by: forgetting it takes nothing until it is told which, and then
that thing alone, with nothing of it left in any table."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec
import psycopg
import pytest
from click.testing import CliRunner

from remloom import Edge, Entity, Memory, Message, Resource, Row
from remloom.errors import AmbiguousLabelError, InvalidInputError, NotFoundError
from remloom.llm import LLM
from remloom.model import SchemaDefinition
from remloom.operations import TOOLS
from remloom.serve.cli.app import program
from remloom.testing.models import ScriptedModel

WORLDS = 30
REMEMBER = next(tool for tool in TOOLS if tool.name == "remember")


@pytest.fixture(params=["sqlite", "sqlite-with-key", "postgres"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    home = tmp_path if request.param != "postgres" else request.getfixturevalue("postgres")
    key = "a key of some length" if request.param == "sqlite-with-key" else None
    with Memory.open(home, tenant=uuid4().hex, key=key, embedder="none") as opened:
        opened.schemas.register(SchemaDefinition(schema_name="berths", entity_types=("berth",)))
        yield opened


@pytest.fixture
def stored(memory: Memory, request: pytest.FixtureRequest) -> Callable[[], str]:
    """Reads all that is in the tables, without the help of what forgets."""
    if "postgres" not in request.node.callspec.params.values():
        return lambda: sqlite_tables(memory)
    url = request.getfixturevalue("postgres")
    return lambda: postgres_tables(url)


def sqlite_tables(memory: Memory) -> str:
    store: Any = memory._engine.store
    with closing(store._database.connections.open(8, query_only=True)) as connection:
        tables = [
            name
            for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
        ]
        return "\n".join(
            str(value)
            for table in tables
            for row in connection.execute(f'SELECT * FROM "{table}"')
            for value in row
        ).lower()


def postgres_tables(url: str) -> str:
    with psycopg.connect(url) as connection:
        tables = connection.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'remloom'::regnamespace AND relkind = 'r'"
        ).fetchall()
        return "\n".join(
            text
            for (table,) in tables
            for (text,) in connection.execute(f"SELECT t::text FROM remloom.{table} t")  # type: ignore[arg-type]
        ).lower()


# -- what a word may be ----------------------------------------------------------------------------


def as_id(memory: Memory, word: str, said: str) -> None:
    memory.write([Resource(id=word, name=f"a note {said}", content=f"Here is {said}.")])


def as_uri(memory: Memory, word: str, said: str) -> None:
    memory.read_text(f"Here is {said}.", uri=word, name=f"a page {said}")


def as_chat(memory: Memory, word: str, said: str) -> None:
    turns = [Message(speaker=f"Ann {said}", text=text) for text in (f"It is {said}.", "Yes.")]
    memory.read_chat(turns, uri=word, name=f"a chat {said}")


def as_source(memory: Memory, word: str, said: str) -> None:
    for text in (f"First {said}.", f"Then {said}."):
        REMEMBER.does(memory, REMEMBER.takes(text=text, source=word), None)


def as_file(memory: Memory, word: str, said: str) -> None:
    memory.read_text(f"Here is {said}.", uri=f"/folder/{word}.md", name=f"a file {said}")


def as_entity(memory: Memory, word: str, said: str) -> None:
    memory.write([Entity(name=word, type="person", summary=f"Known for {said}.")])


def as_alias(memory: Memory, word: str, said: str) -> None:
    memory.write([Entity(name=f"The {said}", type="place", aliases=(word,))])


def as_label(memory: Memory, word: str, said: str) -> None:
    memory.write([Row(schema="berths", type="berth", handle=f"b-{said}", name=word)])


def as_handle(memory: Memory, word: str, said: str) -> None:
    memory.write([Row(schema="berths", type="berth", handle=word, name=f"berth {said}")])


# what was read and remembered from one source is one thing
EXACT = {"id": as_id, "uri": as_uri, "chat": as_chat, "source": as_source}
LABELS = {
    "file": as_file, "entity": as_entity, "alias": as_alias, "label": as_label, "handle": as_handle,
}  # fmt: skip
ROLES = {**EXACT, **LABELS}
OF_A_SOURCE = {"uri", "chat", "source"}


def thing_of(role: str) -> str:
    return "source" if role in OF_A_SOURCE else role


def role_of(meaning: dict[str, Any], word: str) -> str:
    """Which of these an error speaks of."""
    if meaning["which"] == word:
        return {"id": "id", "source": "source"}[meaning["by"]]
    if meaning["by"] == "source":
        return "file"
    if meaning["schema"] == "entities":
        return {"person": "entity", "place": "alias"}[meaning["type"]]
    return "handle" if meaning["name"].startswith("berth") else "label"


def cased(word: str, draw: random.Random) -> str:
    return draw.choice([word, word.upper(), word.lower(), word.title()])


def furnish(memory: Memory, word: str, draw: random.Random) -> dict[str, list[str]]:
    """Let the word be one to four things; returns what each says that nothing else does."""
    roles = draw.sample(sorted(ROLES), draw.randint(1, 4))
    if {"uri", "chat"} <= set(roles):
        roles.remove("chat")  # a chat that is read takes the place of what was read there
    said: dict[str, list[str]] = {}
    for role in roles:
        mark = f"{role}{uuid4().hex[:10]}"
        ROLES[role](memory, word if role in EXACT else cased(word, draw), mark)
        said.setdefault(thing_of(role), []).append(mark)
    return said


@pytest.mark.parametrize("seed", range(2))
def test_a_word_is_one_thing_and_goes_whole_or_is_several_and_says_which(
    memory: Memory, stored: Callable[[], str], seed: int
) -> None:
    draw = random.Random(seed)
    for number in range(WORLDS // 2):
        word = f"Atlas {number}{draw.choice('aBC')}"
        said = furnish(memory, word, draw)
        every = {mark: thing for thing, marks in said.items() for mark in marks}
        while len(said) > 1:
            for dry_run in (True, False):
                with pytest.raises(AmbiguousLabelError) as raised:
                    memory.forget(word, dry_run=dry_run)
            meanings = {role_of(one, word): one for one in raised.value.fields["meanings"]}
            assert meanings.keys() == said.keys()
            kept = stored()
            assert all(mark in kept for marks in said.values() for mark in marks)
            gone = draw.choice(sorted(said))
            which, by = meanings[gone]["which"], meanings[gone]["by"]
            assert memory.forget(which, by=by).verified
            del said[gone]
            kept = stored()
            assert {mark for mark in every if mark in kept} == {
                m for some in said.values() for m in some
            }
        assert memory.forget(word).verified
        kept = stored()
        assert not [mark for mark in every if mark in kept]
        with pytest.raises(NotFoundError):
            memory.forget(word)
    assert memory.admin.check() == []


def test_all_that_came_from_one_source_goes_at_once(
    memory: Memory, stored: Callable[[], str]
) -> None:
    marks = [uuid4().hex for _ in range(3)]
    as_chat(memory, "mail", marks[0])
    as_source(memory, "mail", marks[1])
    as_source(memory, "mail/inner", marks[2])
    assert memory.forget("mail").verified
    assert [mark in stored() for mark in marks] == [False, False, True]


def test_what_is_to_be_forgotten_is_said_by_what_it_is(memory: Memory) -> None:
    as_id(memory, "Atlas", "one")
    as_entity(memory, "atlas", "two")
    assert memory.forget("Atlas", by="label", dry_run=True).records == 1
    with pytest.raises(NotFoundError, match="has the source 'Atlas'"):
        memory.forget("Atlas", by="source")
    with pytest.raises(InvalidInputError, match='by="id", "source" or "label"'):
        memory.forget("Atlas", by="name")  # type: ignore[arg-type]
    assert memory.forget("Atlas", by="id").records
    assert [hit.type for hit in memory.lookup("Atlas").records] == ["person"]


def test_the_command_line_and_the_tool_are_told_which(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REMLOOM_HOME", str(tmp_path))
    monkeypatch.setenv("REMLOOM_EMBEDDER", "none")
    with Memory.open(tmp_path, embedder="none") as memory:
        for word in ("Atlas", "Borneo"):
            as_uri(memory, word, "one")
            as_entity(memory, word, "two")
    refused = CliRunner().invoke(program, ["forget", "Atlas", "--yes"])
    assert refused.exit_code == AmbiguousLabelError.exit_code
    assert "forget('Atlas', by='source')" in refused.stderr
    done = CliRunner().invoke(program, ["forget", "Atlas", "--by", "source", "--yes"])
    assert done.exit_code == 0, done.output
    forget = next(tool for tool in TOOLS if tool.name == "forget")
    with Memory.open(tmp_path, embedder="none") as memory:
        assert [hit.type for hit in memory.lookup("Atlas").records] == ["person"]
        values = forget.takes(what=["Borneo"], by="source", dry_run=False)
        assert forget.does(memory, values, None).verified
        assert [hit.type for hit in memory.lookup("Borneo").records] == ["person"]


# -- what stays, and is said to --------------------------------------------------------------------


def test_the_edges_that_stay_at_a_name_which_another_has_are_in_the_receipt(memory: Memory) -> None:
    (person,) = memory.write([Entity(name="Atlas", type="person", aliases=("The Old Man",))])
    memory.write([Edge(src=person, rel_type="works_at", dst="Harbour")])
    memory.write([Edge(src="Ann", rel_type="knows", dst="The Old Man")])
    (place,) = memory.write([Entity(name="Atlas", type="place")])
    stays = (("atlas", "works_at", "harbour"),)
    assert memory.forget(person, dry_run=True).shared_edges == stays
    receipt = memory.forget(person)
    assert receipt.shared_edges == stays
    assert receipt.edges == 1
    assert receipt.sharing.endswith("something else has too: atlas works_at harbour")
    assert [edge.rel_type for edge in memory.get_edges(place)] == ["works_at"]
    receipt = memory.forget(place)
    assert (receipt.edges, receipt.shared_edges, receipt.sharing) == (1, (), "")


def test_what_a_stopped_run_keeps_of_a_record_goes_when_that_is_made_again_without_the_forgotten(
    memory: Memory,
) -> None:
    turns = [Message(speaker="Ann", text=f"Turn {n} is about subject{n}.") for n in range(9)]
    memory.read_chat(turns, uri="chat")
    store = memory.admin.store
    ids = [turn.id for turn in store.records.chunks("chat")]
    ids += memory.write([Resource(name="note", content="A note apart.")])
    model = ScriptedModel([f"reply {n}" for n in range(10)])

    def ask_of_each() -> None:
        with LLM(model, kv=store.kv).run("killed", keep=True) as llm:
            for number, id in enumerate(ids):
                llm.ask("question", {"passages": [f"turn {number}"]}, subjects=[id])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask_of_each()
    assert len(store.kv.list("reply")) == 10
    before = {id: memory.get_resource(id).context for id in ids}
    memory.forget(ids[3])
    made_again = {
        id for id in ids if id != ids[3] and memory.get_resource(id).context != before[id]
    }
    assert ids[4] in made_again
    replies = [msgspec.json.decode(entry.value)["text"] for entry in store.kv.list("reply")]
    left = {ids[int(reply.removeprefix("reply "))] for reply in replies}
    assert not left & {*made_again, ids[3]}
    assert ids[9] in left
