"""Runs: what they write can be told beforehand, is written once, and can be taken back to the byte."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
import pytest

from remloom import Edge, Entity, Memory, Resource
from remloom.dream.rollback import made, rollback
from remloom.dream.runs import begin, find, runs
from remloom.dream.writer import SUPERSEDED, Writer
from remloom.errors import ConflictError, InvalidInputError, NotFoundError
from remloom.store.contract import JournalEntry, Store, Vector
from remloom.testing.embedder import WordEmbedder

EMBEDDER = WordEmbedder()
Writing = Callable[..., Writer]


def embed(texts: Sequence[str]) -> list[tuple[Vector, ...]]:
    return [(Vector(0, len(text), EMBEDDER.embed_query(text).tobytes(), b"0123456789abcdef"),) for text in texts]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path, embedder=EMBEDDER) as memory:
        memory.write(
            [
                Entity(name="Sarah Chen", type="person", properties={"team": "data"}),
                Resource(name="Note", content="Sarah leads the data team.", uri="note.md"),
                Edge(src="Sarah Chen", rel_type="knows", dst="Bob Smith", weight=0.4, properties={"since": 2019}),
            ]
        )
        memory.embed_pending()
        yield memory


@pytest.fixture
def store(memory: Memory) -> Store:
    return memory._store


@pytest.fixture
def writing(store: Store) -> Writing:
    def start(kind: str = "dream", *, dry_run: bool = False, **settings: object) -> Writer:
        run = begin(store, kind, dict(settings), dry_run=dry_run)
        return Writer(store, "default", run, model=EMBEDDER.name, embed=embed, dry_run=dry_run)

    return start


def exported(memory: Memory) -> bytes:
    stream = io.BytesIO()
    memory.export(stream)
    return stream.getvalue()


def insight(text: str, *, parents: tuple[str, ...] = (), id: str = "", generation: int = 1) -> Resource:
    return Resource(id=id, name=text[:30], content=text, kind="synthesis", parents=parents, generation=generation)


def note_id(memory: Memory) -> str:
    return memory.lookup("Note").records[0].id


def test_rolling_back_leaves_the_export_as_it_was(memory: Memory, store: Store, writing: Writing) -> None:
    before = exported(memory)
    writer = writing()
    writer.write(
        [
            insight("Data teams grow.", parents=(note_id(memory),)),
            Entity(name="Sarah Chen", type="person", summary="Led."),
        ],
        [
            Edge(src="Data teams grow.", rel_type="about", dst="Data team", properties={"dst_name": "Data team"}),
            Edge(src="Sarah Chen", rel_type="knows", dst="Bob Smith", weight=0.9, properties={"since": 2018}),
            Edge(src="Bob Smith", rel_type="admires", dst="Sarah Chen"),
        ],
    )
    assert exported(memory) != before
    assert store.edges(["sarah-chen"], direction="out", rel_types=None, limit=None)[0].weight == 0.9
    run = writer.finish()
    assert run.receipt == {"records": 2, "edges": 3, "unchanged": 0, "merged": 1, "updated": 0}
    done = rollback(store, run.id)
    assert exported(memory) == before
    assert memory.check() == []
    assert done.status == "rolled_back"
    assert [run.status for run in runs(store)] == ["rolled_back"]
    with pytest.raises(ConflictError, match="already"):
        rollback(store, run.id)


def test_a_dry_run_tells_the_same_and_writes_nothing(memory: Memory, store: Store, writing: Writing) -> None:
    before = exported(memory)
    writer = writing(dry_run=True)
    writer.write(
        [insight("Data teams grow.", parents=(note_id(memory),))],
        [Edge(src="Sarah Chen", rel_type="knows", dst="Bob Smith", weight=0.9)],
    )
    (record,), ((old, new),) = writer.diff.records, writer.diff.edges
    assert (record.name, record.parents) == ("Data teams grow.", (note_id(memory),))
    assert (old.weight, new.weight) == (0.4, 0.9)
    writer.finish()
    assert exported(memory) == before
    assert list(runs(store)) == []


def test_what_is_there_already_is_not_written_again(memory: Memory, store: Store, writing: Writing) -> None:
    def items() -> tuple[list[Resource], list[Edge]]:
        return (
            [insight("Data teams grow.", id="11111111-1111-5111-8111-111111111111", parents=(note_id(memory),))],
            [Edge(src="Sarah Chen", rel_type="knows", dst="Bob Smith", weight=0.3)],
        )

    first = writing()
    first.write(*items())
    first.finish()
    before = exported(memory)
    second = writing()
    second.write(*items())
    run = second.finish()
    assert exported(memory) == before
    assert run.receipt["unchanged"] == 1
    assert run.receipt["edges"] == 0
    rollback(store, run.id)
    assert exported(memory) == before


def test_an_edge_merged_twice_by_a_run_goes_back_to_what_was_before_it(
    memory: Memory, store: Store, writing: Writing
) -> None:
    before = exported(memory)
    writer = writing()
    for weight in (0.6, 0.8):
        writer.write([], [Edge(src="Sarah Chen", rel_type="knows", dst="Bob Smith", weight=weight)])
    rollback(store, writer.finish().id)
    assert exported(memory) == before


def test_a_run_that_a_later_one_builds_on_is_refused_by_name(memory: Memory, store: Store, writing: Writing) -> None:
    before = exported(memory)
    first, second = writing(), None
    (id,) = first.write([insight("Data teams grow.", parents=(note_id(memory),))])
    first.finish()
    second = writing()
    second.write([insight("Growth has a price.", parents=(id,), generation=2)])
    second.finish()
    with pytest.raises(ConflictError, match=second.run.id) as refused:
        rollback(store, first.run.id)
    assert refused.value.fields["later"] == [second.run.id]
    rollback(store, second.run.id)
    rollback(store, first.run.id)
    assert exported(memory) == before


def test_later_runs_that_merged_into_the_same_edge_are_named_too(
    memory: Memory, store: Store, writing: Writing
) -> None:
    before = exported(memory)
    ids = []
    for weight in (0.6, 0.8):
        writer = writing()
        writer.write([], [Edge(src="Sarah Chen", rel_type="knows", dst="Bob Smith", weight=weight)])
        ids.append(writer.finish().id)
    with pytest.raises(ConflictError, match=ids[1]):
        rollback(store, ids[0])
    rollback(store, ids[1])
    rollback(store, ids[0])
    assert exported(memory) == before


def test_what_a_user_built_on_a_run_is_not_taken_away(memory: Memory, store: Store, writing: Writing) -> None:
    writer = writing()
    (id,) = writer.write([insight("Data teams grow.", parents=(note_id(memory),))])
    run = writer.finish()
    memory.write([Resource(name="My thought", content="It does.", parents=(id,))])
    with pytest.raises(ConflictError, match="My thought"):
        rollback(store, run.id)


def test_an_edge_that_a_user_changed_since_stays(memory: Memory, store: Store, writing: Writing) -> None:
    writer = writing()
    writer.write([], [Edge(src="Sarah Chen", rel_type="knows", dst="Bob Smith", weight=0.6)])
    run = writer.finish()
    memory.write([Edge(src="Sarah Chen", rel_type="knows", dst="Bob Smith", weight=1.0)])
    assert rollback(store, run.id).receipt["kept"] == 1
    assert memory.get_edges("Sarah Chen")[0].weight == 1.0


def test_a_superseded_record_is_out_of_every_search_and_comes_back(
    memory: Memory, store: Store, writing: Writing
) -> None:
    first = writing()
    (old,) = first.write([insight("The data team is growing fast.", parents=(note_id(memory),))])
    first.finish()
    before = exported(memory)
    second = writing("consolidate")
    (new,) = second.write([insight("The data team grows quickly.", parents=(note_id(memory),))], superseded={})
    second.write(superseded={old: new})
    run = second.finish()
    assert run.receipt["superseded"] == 1
    assert old not in {hit.id for hit in memory.search("the data team is growing fast", limit=10).records}
    assert old not in {hit.id for hit in memory.search_text("growing fast").records}
    kept = memory.get_resource(old)
    assert kept.metadata[SUPERSEDED]["content"] == "The data team is growing fast."
    assert kept.metadata[SUPERSEDED]["by"] == new
    with pytest.raises(ConflictError, match=run.id):
        rollback(store, first.run.id)
    rollback(store, run.id)
    assert exported(memory) == before
    assert memory.search("the data team is growing fast").records[0].id == old
    assert memory.check() == []


def test_a_source_is_never_superseded(memory: Memory, writing: Writing) -> None:
    writer = writing()
    (new,) = writer.write([insight("Sarah leads the data team!", parents=(note_id(memory),))])
    with pytest.raises(InvalidInputError, match="was read, not derived"):
        writer.write(superseded={note_id(memory): new})
    assert memory.search("sarah leads").records


def test_forgetting_takes_what_the_journal_says_of_it(memory: Memory, store: Store, writing: Writing) -> None:
    writer = writing()
    writer.write(
        [insight("Data teams grow.", parents=(note_id(memory),))],
        [Edge(src="Sarah Chen", rel_type="knows", dst="Bob Smith", weight=0.9)],
    )
    run = writer.finish()
    assert store.journal("run.edge")
    memory.forget("Sarah Chen", "Note")
    assert store.journal("run.edge") == []
    rollback(store, run.id)
    assert memory.check() == []
    assert not memory.lookup("Sarah Chen", "Note").records


def test_notes_of_a_run_go_with_it(store: Store, writing: Writing) -> None:
    writer = writing()
    writer.write(journal=[JournalEntry("learned", "a", msgspec.json.encode({"run": writer.run.id}))])
    assert store.journal_entry("learned", "a")
    rollback(store, writer.finish().id)
    assert store.journal_entry("learned", "a") is None


def test_an_interrupted_run_goes_on_with_its_numbers(store: Store, writing: Writing) -> None:
    writer = writing("learn", source="a")
    with pytest.raises(ConflictError, match="going on"):
        writing("learn", source="a")
    writer.count(documents=3)
    stopped = writer.finish("stopped", "out of budget")
    again = writing("learn", source="a")
    assert (again.run.id, again.run.counts) == (stopped.id, {"documents": 3})
    (id,) = again.write([insight("One more.")])
    again.finish()
    assert made(store, stopped.id) == [id]
    assert writing("learn", source="a").run.id != stopped.id


def test_a_run_is_found_by_either_end_of_its_id(store: Store, writing: Writing) -> None:
    run = writing().finish()
    assert find(store, run.id[-6:]) == find(store, run.id) == run
    with pytest.raises(NotFoundError, match="no run has an id like 'zzz'"):
        find(store, "zzz")
