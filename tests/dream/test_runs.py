"""Runs: what they write can be told beforehand, is written once, and can be taken back to the byte."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from remloom import Edge, Entity, Memory, Resource, errors
from remloom.errors import (
    ConflictError,
    GoneError,
    InvalidInputError,
    NotFoundError,
    RemloomError,
)
from remloom.kv import Entry, label_ref
from remloom.runs.lifecycle import run_to_end
from remloom.runs.rollback import created_ids, rollback
from remloom.runs.run import begin_run, find_run, list_runs, run_entry
from remloom.runs.supersede import SUPERSEDED
from remloom.runs.write_plan import WritePart
from remloom.runs.writer import Writer
from remloom.store.batch import Batch, Vector, VectorBatch
from remloom.store.contract import Store
from remloom.store.forgetting.watch import FORGOTTEN, WATCH, watch_entries
from remloom.store.results import Written
from remloom.store.rules.validation import build
from remloom.store.specs import EdgeSpec
from remloom.testing.embedder import WordEmbedder

EMBEDDER = WordEmbedder()
Writing = Callable[..., Writer]


def embed(texts: Sequence[str]) -> list[tuple[Vector, ...]]:
    return [
        (Vector(0, len(text), EMBEDDER.embed_query(text).tobytes(), b"0123456789abcdef"),)
        for text in texts
    ]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path, embedder=EMBEDDER) as memory:
        yield begun(memory)


def begun(memory: Memory) -> Memory:
    """A memory that holds a little."""
    memory.write(
        [
            Entity(name="Sarah Chen", type="person", properties={"team": "data"}),
            Resource(name="Note", content="Sarah leads the data team.", uri="note.md"),
            Edge(
                src="Sarah Chen",
                rel_type="knows",
                dst="Bob Smith",
                weight=0.4,
                properties={"since": 2019},
            ),
        ]
    )
    memory.embed_pending()
    return memory


@pytest.fixture
def store(memory: Memory) -> Store:
    return memory.admin.store


@pytest.fixture
def writing(store: Store) -> Writing:
    def start(kind: str = "dream", *, dry_run: bool = False, **settings: object) -> Writer:
        run = begin_run(store, kind, dict(settings), dry_run=dry_run)
        return Writer(store, "default", run, model=EMBEDDER.name, embed=embed, dry_run=dry_run)

    return start


def exported(memory: Memory) -> bytes:
    stream = io.BytesIO()
    memory.admin.export(stream)
    return stream.getvalue()


def insight(
    text: str, *, parents: tuple[str, ...] = (), id: str = "", generation: int = 1
) -> Resource:
    return Resource(
        id=id,
        name=text[:30],
        content=text,
        kind="synthesis",
        parents=parents,
        generation=generation,
    )


def note_id(memory: Memory) -> str:
    return memory.lookup("Note").records[0].id


def test_rolling_back_leaves_the_export_as_it_was(
    memory: Memory, store: Store, writing: Writing
) -> None:
    before = exported(memory)
    writer = writing()
    writer.write(
        (),
        [
            insight("Data teams grow.", parents=(note_id(memory),)),
            Entity(name="Sarah Chen", type="person", summary="Led."),
        ],
        [
            Edge(
                src="Data teams grow.",
                rel_type="about",
                dst="Data team",
                properties={"dst_name": "Data team"},
            ),
            Edge(
                src="Sarah Chen",
                rel_type="knows",
                dst="Bob Smith",
                weight=0.9,
                properties={"since": 2018},
            ),
            Edge(src="Bob Smith", rel_type="admires", dst="Sarah Chen"),
        ],
    )
    assert exported(memory) != before
    assert store.graph.edges(EdgeSpec(["sarah-chen"], direction="out"))[0].weight == 0.9
    run = writer.finish()
    assert run.receipt == {"records": 2, "edges": 3, "unchanged": 0, "merged": 1, "updated": 0}
    done = rollback(store, run.id)
    assert exported(memory) == before
    assert memory.admin.check() == []
    assert done.status == "rolled_back"
    assert [run.status for run in list_runs(store)] == ["rolled_back"]
    with pytest.raises(ConflictError, match="already"):
        rollback(store, run.id)


def test_a_dry_run_tells_the_same_and_writes_nothing(
    memory: Memory, store: Store, writing: Writing
) -> None:
    before = exported(memory)
    writer = writing(dry_run=True)
    writer.write(
        (),
        [insight("Data teams grow.", parents=(note_id(memory),))],
        [Edge(src="Sarah Chen", rel_type="knows", dst="Bob Smith", weight=0.9)],
    )
    (record,), ((old, new),) = writer.diff.records, writer.diff.edges
    assert (record.name, record.parents) == ("Data teams grow.", (note_id(memory),))
    assert (old.weight, new.weight) == (0.4, 0.9)
    writer.finish()
    assert exported(memory) == before
    assert list(list_runs(store)) == []


def test_what_is_there_already_is_not_written_again(
    memory: Memory, store: Store, writing: Writing
) -> None:
    def items() -> tuple[list[Resource], list[Edge]]:
        return (
            [
                insight(
                    "Data teams grow.",
                    id="11111111-1111-5111-8111-111111111111",
                    parents=(note_id(memory),),
                )
            ],
            [Edge(src="Sarah Chen", rel_type="knows", dst="Bob Smith", weight=0.3)],
        )

    first = writing()
    first.write((), *items())
    first.finish()
    before = exported(memory)
    second = writing()
    second.write((), *items())
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
        writer.write(
            (), [], [Edge(src="Sarah Chen", rel_type="knows", dst="Bob Smith", weight=weight)]
        )
    rollback(store, writer.finish().id)
    assert exported(memory) == before


def test_a_run_that_a_later_one_builds_on_is_refused_by_name(
    memory: Memory, store: Store, writing: Writing
) -> None:
    before = exported(memory)
    first, second = writing(), None
    (id,) = first.write((), [insight("Data teams grow.", parents=(note_id(memory),))])
    first.finish()
    second = writing()
    second.write((), [insight("Growth has a price.", parents=(id,), generation=2)])
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
        writer.write(
            (), [], [Edge(src="Sarah Chen", rel_type="knows", dst="Bob Smith", weight=weight)]
        )
        ids.append(writer.finish().id)
    with pytest.raises(ConflictError, match=ids[1]):
        rollback(store, ids[0])
    rollback(store, ids[1])
    rollback(store, ids[0])
    assert exported(memory) == before


def test_what_a_user_built_on_a_run_is_not_taken_away(
    memory: Memory, store: Store, writing: Writing
) -> None:
    writer = writing()
    (id,) = writer.write((), [insight("Data teams grow.", parents=(note_id(memory),))])
    run = writer.finish()
    memory.write([Resource(name="My thought", content="It does.", parents=(id,))])
    with pytest.raises(ConflictError, match="My thought"):
        rollback(store, run.id)


def test_an_edge_that_a_user_changed_since_stays(
    memory: Memory, store: Store, writing: Writing
) -> None:
    writer = writing()
    writer.write((), [], [Edge(src="Sarah Chen", rel_type="knows", dst="Bob Smith", weight=0.6)])
    run = writer.finish()
    memory.write([Edge(src="Sarah Chen", rel_type="knows", dst="Bob Smith", weight=1.0)])
    assert rollback(store, run.id).receipt["kept"] == 1
    assert memory.get_edges("Sarah Chen")[0].weight == 1.0


def test_a_superseded_record_is_out_of_every_search_and_comes_back(
    memory: Memory, store: Store, writing: Writing
) -> None:
    first = writing()
    (old,) = first.write(
        (), [insight("The data team is growing fast.", parents=(note_id(memory),))]
    )
    first.finish()
    before = exported(memory)
    second = writing("consolidate")
    (new,) = second.write(
        (), [insight("The data team grows quickly.", parents=(note_id(memory),))], superseded={}
    )
    second.write((), superseded={old: new})
    run = second.finish()
    assert run.receipt["superseded"] == 1
    assert old not in {
        hit.id for hit in memory.search("the data team is growing fast", limit=10).records
    }
    assert old not in {hit.id for hit in memory.search_text("growing fast").records}
    kept = memory.get_resource(old)
    assert kept.metadata[SUPERSEDED]["content"] == "The data team is growing fast."
    assert kept.metadata[SUPERSEDED]["by"] == new
    with pytest.raises(ConflictError, match=run.id):
        rollback(store, first.run.id)
    rollback(store, run.id)
    assert exported(memory) == before
    assert memory.search("the data team is growing fast").records[0].id == old
    assert memory.admin.check() == []


def test_what_takes_the_place_of_another_is_written_with_it_or_not_at_all(
    memory: Memory, store: Store, writing: Writing, monkeypatch: pytest.MonkeyPatch
) -> None:
    (other,) = memory.write([Resource(name="Other", content="Bob rows.", uri="other.md")])
    first = writing()
    (old,) = first.write((), [insight("The data team is growing fast.", parents=(other,))])
    first.finish()
    second = writing("consolidate")
    id = "22222222-2222-5222-8222-222222222222"
    new = insight("The data team grows quickly.", parents=(note_id(memory),), id=id)
    part = WritePart((), (new,), superseded={old: id}, counts={"summaries": 1})
    put = store.write
    left = 1

    def forgetting(batch: Batch) -> Written:
        nonlocal left
        left -= 1
        if left == -1:
            # between the first transaction and the next, if there is one
            memory.forget("other.md")
        return put(batch)

    monkeypatch.setattr(type(store), "write", lambda _, batch: forgetting(batch))
    written = second.write_each([part])
    run = second.finish()
    monkeypatch.undo()
    assert run.counts.get("summaries", 0) == len(written) == 1
    assert memory.get_resource(new.id).content
    assert run.receipt["superseded"] == 1
    rollback(store, run.id)
    assert memory.get_resource(old).content


def test_of_what_no_search_would_find_nothing_takes_the_place(
    memory: Memory, store: Store, writing: Writing
) -> None:
    first = writing()
    text = "The data team is growing fast."
    many = [f"{n:08}-1111-5111-8111-111111111111" for n in range(11)]
    ids = first.write((), [insight(text, parents=(note_id(memory),), id=id) for id in many])
    first.finish()
    second = writing("consolidate")
    id = "22222222-2222-5222-8222-222222222222"
    new = insight(text, parents=(note_id(memory),), generation=20, id=id)
    second.write((), [new], superseded={ids[0]: id})
    run = second.finish()
    assert (run.receipt.get("superseded"), run.receipt["not_found_again"]) == (None, 1)
    assert memory.get_resource(ids[0]).content == text


def test_a_run_goes_on_however_much_is_forgotten_beside_it(
    memory: Memory, store: Store, writing: Writing
) -> None:
    writer = writing()
    gone = [f"{n:032x}" for n in range(25_000)]
    for names in (gone[:1], gone[1:20], gone[20:]):
        store.kv.put(watch_entries(store.kv, names))
    writer.write((note_id(memory),), [insight("It goes on.", parents=(note_id(memory),))])
    for name in (gone[0], gone[19], gone[9_999], gone[10_020], gone[-1]):
        with pytest.raises(GoneError) as error:
            writer.write((name, note_id(memory)), entries=[Entry("kept", "a", b"{}")])
        assert error.value.fields["names"] == (name,)
    writer.finish()
    assert store.kv.list(WATCH) == store.kv.list(FORGOTTEN) == []


def test_who_was_taken_for_dead_neither_keeps_nor_ends_the_run_of_who_goes_on_with_it(
    store: Store, writing: Writing
) -> None:
    dead = writing("learn")
    # its machine sleeps
    store.kv.put([run_entry(dead.run, process="another")])
    alive = writing("learn")
    store.kv.put([run_entry(alive.run, reason="goes on")])
    dead.save()
    dead.finish("stopped", "it woke up")
    assert find_run(store, alive.id).reason == "goes on"
    with pytest.raises(ConflictError, match="no longer"):
        dead.write((), entries=[Entry("kept", "a", b"{}")])
    alive.write((), entries=[Entry("kept", "a", b"{}")])
    assert alive.finish().status == find_run(store, alive.id).status == "done"


def test_a_source_is_never_superseded(memory: Memory, writing: Writing) -> None:
    writer = writing()
    (new,) = writer.write((), [insight("Sarah leads the data team!", parents=(note_id(memory),))])
    with pytest.raises(InvalidInputError, match="was read, not derived"):
        writer.write((), superseded={note_id(memory): new})
    assert memory.search("sarah leads").records


def test_forgetting_takes_what_entries_say_of_it(
    memory: Memory, store: Store, writing: Writing
) -> None:
    writer = writing()
    writer.write(
        (),
        [insight("Data teams grow.", parents=(note_id(memory),))],
        [Edge(src="Sarah Chen", rel_type="knows", dst="Bob Smith", weight=0.9)],
    )
    run = writer.finish()
    assert store.kv.list("run.edge")
    memory.forget("Sarah Chen", "Note")
    assert store.kv.list("run.edge") == []
    rollback(store, run.id)
    assert memory.admin.check() == []
    assert not memory.lookup("Sarah Chen", "Note").records


def test_notes_of_a_run_go_with_it(store: Store, writing: Writing) -> None:
    writer = writing()
    writer.write((), entries=[Entry("learned", "a", msgspec.json.encode({"run": writer.run.id}))])
    assert store.kv.get("learned", "a")
    rollback(store, writer.finish().id)
    assert store.kv.get("learned", "a") is None


def test_an_interrupted_run_goes_on_with_its_numbers(store: Store, writing: Writing) -> None:
    writer = writing("learn", source="a")
    with pytest.raises(ConflictError, match="going on"):
        writing("learn", source="a")
    writer.count(documents=3)
    stopped = writer.finish("stopped", "out of budget")
    again = writing("learn", source="a")
    assert (again.run.id, again.run.counts) == (stopped.id, {"documents": 3})
    (id,) = again.write((), [insight("One more.")])
    again.finish()
    assert created_ids(store, stopped.id) == [id]
    assert writing("learn", source="a").run.id != stopped.id


def test_a_run_is_found_by_either_end_of_its_id(store: Store, writing: Writing) -> None:
    run = writing().finish()
    assert find_run(store, run.id[-6:]) == find_run(store, run.id) == run
    with pytest.raises(NotFoundError, match="no run has an id like 'zzz'"):
        find_run(store, "zzz")


def test_rolling_back_takes_the_links_of_texts_to_what_the_run_made(
    memory: Memory, store: Store, writing: Writing
) -> None:
    memory.read_text("a call about the zephyr engine", uri="call.txt", name="call")
    before = exported(memory)
    writer = writing()
    writer.write((), [Entity(name="zephyr engine", type="project")])
    writer.finish()
    memory.admin.optimize()
    assert [edge.dst for edge in memory.get_edges("call")].count("zephyr-engine") == 1
    rollback(store, writer.id)
    assert exported(memory) == before
    assert store.records.lookup(["zephyr-engine"]) == {"zephyr-engine": []}


def test_rolling_back_gives_texts_the_links_that_a_longer_name_took_from_them(
    memory: Memory, store: Store, writing: Writing
) -> None:
    def linked() -> list[str]:
        memory.admin.optimize()
        return [edge.dst for edge in memory.get_edges("call") if edge.rel_type == "mentions"]

    memory.write([Entity(name="zephyr", type="project")])
    memory.read_text("a call about the zephyr engine", uri="call.txt", name="call")
    assert linked() == ["zephyr"]
    writer = writing()
    writer.write((), [Entity(name="zephyr engine", type="project")])
    writer.finish()
    assert linked() == ["zephyr-engine"]
    rollback(store, writer.id)
    assert linked() == ["zephyr"]


def test_records_that_are_written_again_with_their_edges_keep_them(
    memory: Memory, store: Store, writing: Writing
) -> None:
    def records(rel_type: str, *texts: str) -> list[Resource]:
        edges = [(Edge(rel_type=rel_type, dst=f"to {n}"),) for n in range(len(texts))]
        return [
            replace(insight(text, id=f"i{n}"), name=f"insight {n}", graph_paths=edges[n])
            for n, text in enumerate(texts)
        ]

    before = exported(memory)
    writer = writing()
    writer.write((), records("about", "One.", "Two.", "Three."))
    writer.write((), records("about", "One.", "Second.", "Three."))
    writer.write((), records("of", "One.", "Second.", "Last."))
    writer.finish()
    for n in range(3):
        edges = memory.get_edges(f"insight {n}", direction="out")
        assert {(edge.rel_type, edge.dst) for edge in edges} >= {("of", f"to-{n}")}
    rollback(store, writer.id)
    assert exported(memory) == before


def test_an_edge_that_had_ended_is_as_it_was_after_a_rollback(
    memory: Memory, store: Store, writing: Writing
) -> None:
    memory.write(
        [
            Edge(
                src="Sarah Chen",
                rel_type="leads",
                dst="Data team",
                weight=0.3,
                valid_from=at(2019),
                valid_to=at(2021),
            ),
            Edge(
                src="Sarah Chen",
                rel_type="will-lead",
                dst="Data team",
                weight=0.2,
                valid_from=at(2999),
            ),
        ]
    )
    before = exported(memory)
    writer = writing()
    edges = [
        Edge(src="Sarah Chen", rel_type=name, dst="Data team", weight=0.9)
        for name in ("leads", "will-lead")
    ]
    writer.write((), [], edges)
    writer.write(
        (), [], [Edge(src="Sarah Chen", rel_type="leads", dst="Data team", valid_from=at(2024))]
    )
    run = writer.finish()
    assert run.receipt["merged"] == 3
    rollback(store, run.id)
    assert exported(memory) == before
    assert memory.admin.check() == []


def test_a_thin_entity_whose_label_a_run_took_is_back_with_its_edges(
    memory: Memory, store: Store, writing: Writing
) -> None:
    memory.write(
        [Edge(src="Sarah Chen", rel_type="asks", dst="Do teams grow?", properties={"on": "Monday"})]
    )
    before = exported(memory)
    writer = writing()
    writer.write(
        (),
        [insight("Do teams grow?", parents=(note_id(memory),))],
        [Edge(src="Do teams grow?", rel_type="about", dst="Bob Smith")],
    )
    run = writer.finish()
    assert memory.lookup("Do teams grow?").records[0].schema == "resources"
    rollback(store, run.id)
    assert exported(memory) == before
    assert memory.admin.check() == []


def test_what_you_connected_to_a_runs_record_stays_connected(
    memory: Memory, store: Store, writing: Writing
) -> None:
    writer = writing()
    writer.write(
        (),
        [insight("Data teams grow.", parents=(note_id(memory),))],
        [Edge(src="Data teams grow.", rel_type="about", dst="Bob Smith")],
    )
    run = writer.finish()
    memory.write(
        [
            Edge(
                src="Sarah Chen",
                rel_type="believes",
                dst="Data teams grow.",
                properties={"since": 2020},
            )
        ]
    )
    rollback(store, run.id)
    (kept,) = memory.get_edges("Sarah Chen", edge_types=["believes"])
    assert kept.properties == {"since": 2020}
    (thin,) = memory.lookup("Data teams grow.").records
    assert (thin.schema, thin.name) == ("entities", "Data teams grow.")
    assert memory.get_edges("Data teams grow.") == []
    assert memory.admin.check() == []


def test_a_runs_record_that_you_rewrote_stays(
    memory: Memory, store: Store, writing: Writing
) -> None:
    writer = writing()
    (id,) = writer.write((), [insight("Data teams grow.", parents=(note_id(memory),))])
    run = writer.finish()
    memory.write(
        [
            replace(
                memory.get_resource(id),
                content="Data teams grow, says Bob.",
                parents=(note_id(memory),),
            )
        ]
    )
    assert rollback(store, run.id).receipt["kept"] == 1
    assert memory.get_resource(id).content == "Data teams grow, says Bob."
    assert memory.admin.check() == []


def test_what_one_run_wrote_twice_and_superseded_itself_goes(
    memory: Memory, store: Store, writing: Writing
) -> None:
    before = exported(memory)
    writer = writing()
    (old,) = writer.write((), [insight("The data team grows fast.", parents=(note_id(memory),))])
    (new,) = writer.write((), [insight("The data team grows quickly.", parents=(note_id(memory),))])
    writer.write((), superseded={old: new})
    for weight in (0.2, 0.4):
        about = Edge(src="The data team grows fast.", rel_type="about", dst="Growth", weight=weight)
        writer.write((), [], [about, replace(about, weight=weight + 0.1)])
    rollback(store, writer.finish().id)
    assert exported(memory) == before
    assert memory.admin.check() == []


def test_a_note_of_two_runs_is_the_first_ones_again(store: Store, writing: Writing) -> None:
    def note(run: str, text: str) -> Entry:
        return Entry("period", "2021-03", msgspec.json.encode({"run": run, "text": text}))

    first = writing()
    first.write((), entries=[note(first.run.id, "one"), Entry("parked", "learn/a", b"{}")])
    first.finish()
    second = writing()
    second.write((), entries=[note(second.run.id, "two")], deleted=[("parked", "learn/a")])
    second.write((), entries=[note(second.run.id, "three")])
    rollback(store, second.finish().id)
    kept = store.kv.get("period", "2021-03")
    assert kept is not None
    assert msgspec.json.decode(kept.value)["text"] == "one"
    assert store.kv.get("parked", "learn/a") is not None
    rollback(store, first.run.id)
    assert store.kv.list("period") == store.kv.list("parked") == []


def test_a_rollback_after_the_embedder_was_changed_has_the_text_embedded_anew(
    memory: Memory, store: Store, writing: Writing
) -> None:
    first = writing()
    (old,) = first.write(
        (), [insight("The data team is growing fast.", parents=(note_id(memory),))]
    )
    first.finish()
    second = writing("consolidate")
    (new,) = second.write((), [insight("The data team grows fast.", parents=(note_id(memory),))])
    second.write((), superseded={old: new})
    run = second.finish()
    for item in store.vectors.unembedded("other", 100):
        store.vectors.put(
            VectorBatch(
                {item.id: (Vector(0, 3, other_vector()),)}, model="other", dims=3, current=False
            )
        )
    store.vectors.adopt("other")
    rollback(store, run.id)
    assert memory.get_resource(old).content == "The data team is growing fast."
    assert old in {item.id for item in store.vectors.pending(100)}
    assert memory.admin.check() == []


def test_somebody_elses_edge_of_the_same_moment_is_not_taken_for_the_runs(
    memory: Memory, store: Store, writing: Writing, monkeypatch: pytest.MonkeyPatch
) -> None:
    meanwhile(
        store, monkeypatch, Edge(src="Bob Smith", rel_type="trusts", dst="Sarah Chen", weight=0.2)
    )
    writer = writing()
    writer.write((), [], [Edge(src="Bob Smith", rel_type="trusts", dst="Sarah Chen", weight=0.9)])
    rollback(store, writer.finish().id)
    (kept,) = memory.get_edges("Bob Smith", edge_types=["trusts"])
    assert kept.weight == 0.2


def test_somebody_elses_change_of_the_same_moment_is_what_a_rollback_restores(
    memory: Memory, store: Store, writing: Writing, monkeypatch: pytest.MonkeyPatch
) -> None:
    meanwhile(
        store, monkeypatch, Entity(name="Sarah Chen", type="person", summary="Born in Leeds.")
    )
    writer = writing()
    writer.write((), [Entity(name="Sarah Chen", type="person", summary="Leads.")])
    rollback(store, writer.finish().id)
    (sarah,) = memory.lookup("Sarah Chen").records
    assert memory.get_entity(sarah.id).summary == "Born in Leeds."


def test_reading_in_during_a_rollback_is_neither_lost_nor_undone(
    memory: Memory, store: Store, writing: Writing, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = writing()
    writer.write((), [Entity(name="Sarah Chen", type="person", summary="Leads.")])
    run = writer.finish()
    meanwhile(
        store, monkeypatch, Entity(name="Sarah Chen", type="person", properties={"town": "Leeds"})
    )
    assert rollback(store, run.id).receipt["kept"] == 1
    (sarah,) = memory.lookup("Sarah Chen").records
    assert memory.get_entity(sarah.id).properties == {"team": "data", "town": "Leeds"}


def test_nothing_is_written_that_rests_on_what_was_forgotten_meanwhile(
    memory: Memory, store: Store, writing: Writing
) -> None:
    writer = writing()
    id = note_id(memory)
    memory.forget("Note")
    before = exported(memory)
    with pytest.raises(GoneError) as refused:
        writer.write((), [insight("Data teams grow.", parents=(id,))])
    assert refused.value.fields["ids"] == (id,)
    with pytest.raises(GoneError):
        writer.write((), entries=[Entry("learned", id, b"{}", refs=(id,))])
    assert exported(memory) == before
    run = writer.finish()
    assert (run.receipt, created_ids(store, run.id)) == ({}, [])


def test_forgetting_what_a_changed_record_rested_on_takes_its_image(
    memory: Memory, store: Store, writing: Writing
) -> None:
    (other,) = memory.write([Resource(name="Other", content="Teams are paid in salt.")])
    first = writing()
    id = "11111111-1111-5111-8111-111111111111"
    first.write((), [insight("Salt is paid.", id=id, parents=(note_id(memory), other))])
    first.finish()
    second = writing()
    second.write((), [insight("Data teams grow.", id=id, parents=(note_id(memory),))])
    run = second.finish()
    memory.forget("Other")
    assert b"Salt" not in b"".join(entry.value for entry in store.kv.list("run.record"))
    rollback(store, run.id)
    assert "Salt" not in memory.get_resource(id).content


def test_of_two_that_begin_at_once_one_is_refused(
    store: Store, writing: Writing, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = type(store).write

    def late(self: Store, batch: Batch) -> Written:
        monkeypatch.undo()
        begin_run(store, "dream", {})  # another process, just before
        return write(self, batch)

    monkeypatch.setattr(type(store), "write", late)
    with pytest.raises(ConflictError, match="going on"):
        writing("dream")
    assert len(list(list_runs(store))) == 1


def test_nothing_is_rolled_back_while_a_run_goes_on(store: Store, writing: Writing) -> None:
    done = writing("dream").finish()
    going = writing("learn")
    with pytest.raises(ConflictError, match=f"learn run {going.run.id} is going on"):
        rollback(store, done.id)
    going.finish()
    assert rollback(store, done.id).status == "rolled_back"


def test_a_run_of_a_process_of_the_same_number_before_is_gone_on_with(
    store: Store, writing: Writing
) -> None:
    writer = writing("learn")
    store.kv.put(
        [run_entry(writer.run, process="another")]
    )  # as after a container was started again
    assert find_run(store, writer.run.id).state == "interrupted"
    assert writing("learn").run.id == writer.run.id


def test_a_run_with_other_settings_leaves_nothing_of_the_interrupted_one(
    store: Store, writing: Writing
) -> None:
    first = writing("learn", period="month")
    store.kv.put([Entry("reply", f"{first.run.id}/a", b"{}")])
    first.finish("stopped", "budget")
    assert store.kv.list("reply")
    second = writing("learn", period="year")
    assert second.run.id != first.run.id
    assert store.kv.list("reply") == []


def test_an_interrupted_run_that_is_rolled_back_is_told_no_more_of_what_is_forgotten(
    memory: Memory, store: Store, writing: Writing
) -> None:
    writer = writing("learn")
    # as after its process was killed
    store.kv.put([run_entry(writer.run, process="another")])
    assert store.kv.list(WATCH)
    rollback(store, writer.run.id)
    memory.forget("note.md")
    assert store.kv.list(WATCH) == []


ERRORS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, RemloomError)
]


@pytest.mark.parametrize("kind", ERRORS)
def test_the_reason_of_a_stopped_run_says_nothing_of_what_was_read(
    store: Store, writing: Writing, kind: type[RemloomError]
) -> None:
    error = kind.__new__(kind)
    RemloomError.__init__(error, "it cannot speak of Quandrimal", remedy="ask Quandrimal")
    writer = writing("learn")
    with suppress(RemloomError), run_to_end(writer):
        raise error
    run = find_run(store, writer.id)
    assert run.status == "stopped"
    assert run.reason
    # the numbers of a budget are our own words
    assert "Quandrimal" not in run.reason or kind is errors.BudgetError


def test_a_stopped_run_keeps_replies_that_speak_of_a_label(
    memory: Memory, store: Store, writing: Writing
) -> None:
    writer = writing("affinity")
    refs = (note_id(memory), label_ref("sarah-chen"))
    store.kv.put([Entry("reply", f"{writer.run.id}/a", b"{}", refs=refs)])
    with pytest.raises(ValueError, match="stopped"), run_to_end(writer):
        raise ValueError("stopped")
    # it was paid for, and the run goes on with it
    assert [entry.key for entry in store.kv.list("reply")] == [f"{writer.run.id}/a"]
    memory.forget("Sarah Chen")
    assert store.kv.list("reply") == []


def at(year: int) -> datetime:
    return datetime(year, 1, 1, tzinfo=UTC)


def other_vector() -> bytes:
    import numpy as np

    return np.array([0, 0, 1], np.float32).tobytes()


def meanwhile(store: Store, monkeypatch: pytest.MonkeyPatch, item: Edge | Entity) -> None:
    """Somebody else writes this right before the next transaction, after everything was looked at
    for it."""
    write = type(store).write

    def late(self: Store, batch: Batch) -> Written:
        if batch.records or batch.edges or batch.deleted:
            monkeypatch.undo()
            write(self, build([item], tenant="default", model=EMBEDDER.name))
        return write(self, batch)

    monkeypatch.setattr(type(store), "write", late)
